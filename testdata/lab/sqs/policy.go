package sqs

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// policy is a queue's resource policy: for other services that send, the service (Principal.Service),
// the action, and on whose behalf (aws:SourceArn, aws:SourceAccount). For callers of the account it
// may only refuse what their own policies allow.
type policy struct {
	Statement []statement
}

type statement struct {
	Sid       string
	Effect    string
	Principal json.RawMessage
	Action    oneOrMany
	Resource  oneOrMany
	Condition map[string]map[string]oneOrMany
}

type oneOrMany []string

func (o *oneOrMany) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("%s is neither a string nor a list of strings", data)
	}
	*o = many
	return nil
}

func parsePolicy(text string) (*policy, error) {
	if text == "" {
		return nil, nil
	}
	var document struct{ Statement json.RawMessage }
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return nil, fmt.Errorf("the policy is not a JSON object: %w", err)
	}
	var parsed policy
	if err := json.Unmarshal(document.Statement, &parsed.Statement); err != nil {
		var one statement
		if json.Unmarshal(document.Statement, &one) != nil {
			return nil, fmt.Errorf("the policy's Statement: %w", err)
		}
		parsed.Statement = []statement{one}
	}
	return &parsed, nil
}

// sender is who wants to send: a service of AWS for a source, or the principal that signed a call.
type sender struct {
	service, sourceARN string
	principalARN       string
}

// allows reports whether the service (such as events.amazonaws.com) may do the action on the queue
// for the source ARN. A deny wins.
func (p *policy) allows(service, action, queueARN, sourceARN string) bool {
	by := sender{service: service, sourceARN: sourceARN}
	return !p.denies(by, action, queueARN) && p.states("Allow", by, action, queueARN, false)
}

// denies reports whether the policy refuses the action to the sender, whatever other policies allow.
func (p *policy) denies(by sender, action, queueARN string) bool {
	return p.states("Deny", by, action, queueARN, true)
}

// states reports whether a statement with the effect is about the action. unsure is the answer for a
// condition that is not known: neither may an allow come out of a misreading, nor a deny be lost by it.
func (p *policy) states(effect string, by sender, action, queueARN string, unsure bool) bool {
	return p != nil && slices.ContainsFunc(p.Statement, func(s statement) bool {
		return s.Effect == effect && s.names(by) && matchesAny(s.Action, action, strings.ToLower) &&
			matchesAny(s.Resource, queueARN, nil) && s.conditionsHold(by, unsure)
	})
}

func (s statement) names(by sender) bool {
	var everyone string
	if json.Unmarshal(s.Principal, &everyone) == nil {
		return everyone == "*"
	}
	var principal map[string]oneOrMany
	if json.Unmarshal(s.Principal, &principal) != nil {
		return false
	}
	return by.service != "" && slices.Contains(principal["Service"], by.service) ||
		by.principalARN != "" && slices.Contains(principal["AWS"], by.principalARN) ||
		slices.Contains(principal["AWS"], "*")
}

// value returns a condition key of the sender's request, and whether the request has it. It reports
// false for a key that it does not know.
func (by sender) value(key string) (value string, has, known bool) {
	switch strings.ToLower(key) {
	case "aws:sourcearn":
		return by.sourceARN, by.sourceARN != "", true
	case "aws:sourceaccount":
		if parts := strings.Split(by.sourceARN, ":"); len(parts) > 4 {
			return parts[4], true, true
		}
		return "", false, true
	case "aws:principalarn":
		return by.principalARN, by.principalARN != "", true
	case "aws:principalisawsservice":
		return strconv.FormatBool(by.service != ""), true, true
	case "aws:securetransport":
		return "true", true, true
	}
	return "", false, false
}

func (s statement) conditionsHold(by sender, unsure bool) bool {
	for operator, keys := range s.Condition {
		for key, wanted := range keys {
			value, has, known := by.value(key)
			if !known {
				if !unsure {
					return false
				}
				continue
			}
			if !compare(operator, wanted, value, has, unsure) {
				return false
			}
		}
	}
	return true
}

// compare applies a condition's operator. A negated operator holds for a key that is missing, and any
// other one only where it ends in IfExists.
func compare(operator string, wanted []string, value string, has, unsure bool) bool {
	name, optional := strings.CutSuffix(operator, "IfExists")
	switch name {
	case "ArnEquals", "ArnLike", "StringLike":
		return !has && optional || has && matchesAny(wanted, value, nil)
	case "StringEquals", "Bool":
		return !has && optional || has && slices.Contains(wanted, value)
	case "ArnNotEquals", "ArnNotLike", "StringNotLike":
		return !has || !matchesAny(wanted, value, nil)
	case "StringNotEquals":
		return !has || !slices.Contains(wanted, value)
	}
	return unsure
}

func matchesAny(patterns []string, value string, fold func(string) string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if fold != nil {
			pattern, value = fold(pattern), fold(value)
		}
		// path.Match stops its * at slashes; an ARN's do not mean folders.
		hide := strings.NewReplacer("/", "\x00", "[", `\[`, `\`, `\\`)
		matched, err := path.Match(hide.Replace(pattern), strings.ReplaceAll(value, "/", "\x00"))
		return err == nil && matched
	})
}
