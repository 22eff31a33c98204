package sqs

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// policy is a queue's resource policy for other services that send: the service
// (Principal.Service), the action, and on whose behalf (aws:SourceArn, aws:SourceAccount).
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

// allows reports whether the service (such as events.amazonaws.com) may do the action on the queue
// for the source ARN. A deny wins.
func (p *policy) allows(service, action, queueARN, sourceARN string) bool {
	if p == nil {
		return false
	}
	allowed := false
	for _, s := range p.Statement {
		if !s.names(service) || !matchesAny(s.Action, action, strings.ToLower) || !matchesAny(s.Resource, queueARN, nil) ||
			!s.conditionsHold(sourceARN) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = allowed || s.Effect == "Allow"
	}
	return allowed
}

func (s statement) names(service string) bool {
	var everyone string
	if json.Unmarshal(s.Principal, &everyone) == nil {
		return everyone == "*"
	}
	var principal map[string]oneOrMany
	if json.Unmarshal(s.Principal, &principal) != nil {
		return false
	}
	return slices.Contains(principal["Service"], service) || slices.Contains(principal["AWS"], "*")
}

// conditionsHold is false for a condition it does not know: an allow must not come out of a
// misreading.
func (s statement) conditionsHold(sourceARN string) bool {
	for operator, keys := range s.Condition {
		for key, wanted := range keys {
			var actual string
			switch strings.ToLower(key) {
			case "aws:sourcearn":
				actual = sourceARN
			case "aws:sourceaccount":
				if parts := strings.Split(sourceARN, ":"); len(parts) > 4 {
					actual = parts[4]
				}
			case "aws:securetransport":
				actual = "true"
			default:
				return false
			}
			switch strings.TrimSuffix(operator, "IfExists") {
			case "ArnEquals", "ArnLike", "StringLike":
				if !matchesAny(wanted, actual, nil) {
					return false
				}
			case "StringEquals", "Bool":
				if !slices.Contains(wanted, actual) {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
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
