package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxDocument is above the limits of all kinds of policies (inline 10,240 characters, managed
// 6,144).
const maxDocument = 20480

// document is a parsed policy.
type document struct {
	text       string // as given
	Version    string
	ID         string `json:"Id"`
	Statements []statement
}

// statement is one element of a policy's Statement.
type statement struct {
	Sid          string
	Effect       string
	Action       texts
	NotAction    texts
	Resource     texts
	NotResource  texts
	Principal    any
	NotPrincipal any
	Condition    map[string]map[string]texts
}

// texts is a list of strings that JSON may give as a single one; numbers and booleans count as
// their text.
type texts []string

// UnmarshalJSON takes a scalar or a list of scalars.
func (t *texts) UnmarshalJSON(raw []byte) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, item := range list {
		switch v := item.(type) {
		case string:
			*t = append(*t, v)
		case bool, float64:
			*t = append(*t, fmt.Sprint(v))
		default:
			return fmt.Errorf("takes a string or a list of strings, not %.80s", raw)
		}
	}
	return nil
}

// parseDocument reads a policy. A trust policy has principals and no resources, an identity policy
// the other way round.
func parseDocument(text string, trust bool) (*document, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("the policy has %d characters; the limit is %d", len(text), maxDocument)
	}
	var raw struct {
		Version   string
		ID        string `json:"Id"`
		Statement json.RawMessage
	}
	if err := strictJSON([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("the policy cannot be read: %w", err)
	}
	d := &document{text: text, Version: raw.Version, ID: raw.ID}
	if len(raw.Statement) == 0 {
		return nil, errors.New("the policy has no Statement")
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw.Statement), []byte("{")) {
		raw.Statement = slices.Concat([]byte("["), raw.Statement, []byte("]"))
	}
	if err := strictJSON(raw.Statement, &d.Statements); err != nil {
		return nil, fmt.Errorf("the policy's Statement cannot be read: %w", err)
	}
	for i, s := range d.Statements {
		if err := s.check(trust); err != nil {
			name := s.Sid
			if name == "" {
				name = fmt.Sprint(i)
			}
			return nil, fmt.Errorf("statement %s of the policy: %w", name, err)
		}
	}
	return d, nil
}

func strictJSON(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(v)
}

func (s statement) check(trust bool) error {
	if s.Effect != "Allow" && s.Effect != "Deny" {
		return fmt.Errorf("the Effect is Allow or Deny, not %q", s.Effect)
	}
	if (len(s.Action) == 0) == (len(s.NotAction) == 0) {
		return errors.New("it needs either Action or NotAction")
	}
	for _, action := range slices.Concat(s.Action, s.NotAction) {
		if action != "*" && !strings.Contains(action, ":") {
			return fmt.Errorf("action %q is not of the form service:Action", action)
		}
	}
	if err := s.checkScope(trust); err != nil {
		return err
	}
	for operator := range s.Condition {
		if _, err := parseOperator(operator); err != nil {
			return err
		}
	}
	return nil
}

// checkScope checks principals and resources.
func (s statement) checkScope(trust bool) error {
	if trust {
		if (s.Principal == nil) == (s.NotPrincipal == nil) {
			return errors.New("a trust policy needs a Principal")
		}
		return nil
	}
	if s.Principal != nil || s.NotPrincipal != nil {
		return errors.New("an identity policy has no Principal")
	}
	if (len(s.Resource) == 0) == (len(s.NotResource) == 0) {
		return errors.New("it needs either Resource or NotResource")
	}
	for _, resource := range slices.Concat(s.Resource, s.NotResource) {
		if resource != "*" && !strings.HasPrefix(resource, "arn:") && !strings.HasPrefix(resource, "*") {
			return fmt.Errorf("resource %q must be in ARN format or \"*\"", resource)
		}
	}
	return nil
}
