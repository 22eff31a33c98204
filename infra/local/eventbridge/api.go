package eventbridge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Limits of PutEvents, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
const (
	maximumEntries = 10
	maximumBytes   = 1 << 20
)

// Register makes the server answer EventBridge's JSON protocol.
func (s *Service) Register(server *wire.Server) {
	server.Register("events", wire.Actions{
		"PutEvents":         s.putEvents,
		"PutRule":           s.servePutRule,
		"DescribeRule":      s.describeRule,
		"ListRules":         s.listRules,
		"DeleteRule":        s.deleteRule,
		"EnableRule":        s.enableRule,
		"DisableRule":       s.enableRule,
		"PutTargets":        s.servePutTargets,
		"RemoveTargets":     s.serveRemoveTargets,
		"ListTargetsByRule": s.listTargets,
		"TestEventPattern":  s.testPattern,
	})
}

func asAnswer(err error) error {
	switch {
	case errors.Is(err, errNotFound):
		return wire.Errorf("ResourceNotFoundException", http.StatusBadRequest, "%v", err)
	case errors.Is(err, errPattern):
		return wire.Errorf("InvalidEventPatternException", http.StatusBadRequest, "%v", err)
	default:
		return wire.Errorf("ValidationException", http.StatusBadRequest, "%v", err)
	}
}

type putEntry struct {
	Time         *wire.Time
	Source       string
	Resources    []string
	DetailType   string
	Detail       string
	EventBusName string
}

type putResult struct {
	EventID      string `json:"EventId,omitempty"`
	ErrorCode    string `json:",omitempty"`
	ErrorMessage string `json:",omitempty"`
}

func (s *Service) putEvents(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Entries []putEntry }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if len(in.Entries) == 0 || len(in.Entries) > maximumEntries {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest, "Entries has %d members; it takes 1 to %d",
			len(in.Entries), maximumEntries)
	}
	size := 0
	for _, entry := range in.Entries {
		size += len(entry.Source) + len(entry.DetailType) + len(entry.Detail)
		for _, resource := range entry.Resources {
			size += len(resource)
		}
	}
	if size > maximumBytes {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest,
			"Total size of the entries in the request is over the limit: %d bytes, at most %d", size, maximumBytes)
	}
	failed := 0
	results := make([]putResult, len(in.Entries))
	for i, entry := range in.Entries {
		if results[i] = s.putEntry(ctx, entry); results[i].ErrorCode != "" {
			failed++
		}
	}
	return wire.JSON(map[string]any{"FailedEntryCount": failed, "Entries": results})
}

func (s *Service) putEntry(ctx context.Context, entry putEntry) putResult {
	var detail map[string]json.RawMessage
	switch {
	case s.checkBus(entry.EventBusName) != nil:
		// As on AWS, an event for an unknown bus is accepted and dropped.
		return putResult{EventID: wire.NewID()}
	case entry.Source == "":
		return putResult{
			ErrorCode: "InvalidArgument", ErrorMessage: "Parameter Source is not valid. Reason: Source is a required argument.",
		}
	case strings.HasPrefix(entry.Source, "aws."):
		return putResult{ErrorCode: "NotAuthorizedForSourceException", ErrorMessage: "Not authorized for the source."}
	case entry.DetailType == "":
		return putResult{
			ErrorCode:    "InvalidArgument",
			ErrorMessage: "Parameter DetailType is not valid. Reason: DetailType is a required argument.",
		}
	case entry.Detail == "":
		return putResult{
			ErrorCode: "InvalidArgument", ErrorMessage: "Parameter Detail is not valid. Reason: Detail is a required argument.",
		}
	case json.Unmarshal([]byte(entry.Detail), &detail) != nil:
		return putResult{ErrorCode: "MalformedDetail", ErrorMessage: "Detail is malformed."}
	}
	e := Event{
		ID: wire.NewID(), DetailType: entry.DetailType, Source: entry.Source, Resources: entry.Resources,
		Detail: json.RawMessage(entry.Detail),
	}
	if entry.Time != nil {
		e.Time = entry.Time.Time
	}
	s.Put(ctx, e)
	return putResult{EventID: e.ID}
}

func (s *Service) servePutRule(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in ruleDefinition
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if err := s.putRule(in, nil); err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(map[string]string{"RuleArn": s.arn(in.Name)})
}

func (s *Service) describe(r *rule) map[string]any {
	out := map[string]any{"Name": r.name, "Arn": s.arn(r.name), "State": "DISABLED", "EventBusName": "default"}
	if r.enabled {
		out["State"] = "ENABLED"
	}
	for name, value := range map[string]string{
		"EventPattern": r.patternText, "ScheduleExpression": r.scheduleText, "Description": r.description,
	} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// onRule reads the name that most calls give and does something with the service unlocked.
func (s *Service) onRule(c *wire.Call, in any, name *string, do func() (any, error)) (*wire.Response, error) {
	if err := c.DecodeJSON(in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	_, err := s.find(*name)
	s.mu.Unlock()
	if err != nil {
		return nil, asAnswer(err)
	}
	out, err := do()
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(out)
}

func (s *Service) describeRule(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Name string }
	return s.onRule(c, &in, &in.Name, func() (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r, err := s.find(in.Name)
		if err != nil {
			return nil, err
		}
		return s.describe(r), nil
	})
}

func (s *Service) listRules(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ NamePrefix, EventBusName string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if err := s.checkBus(in.EventBusName); err != nil {
		return nil, asAnswer(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := []map[string]any{}
	for name, r := range s.rules {
		if strings.HasPrefix(name, in.NamePrefix) {
			rules = append(rules, s.describe(r))
		}
	}
	slices.SortFunc(rules, func(a, b map[string]any) int {
		return strings.Compare(a["Name"].(string), b["Name"].(string))
	})
	return wire.JSON(map[string]any{"Rules": rules})
}

func (s *Service) deleteRule(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Name string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	r := s.rules[in.Name]
	used := r != nil && len(r.targets) > 0
	s.mu.Unlock()
	if used {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest,
			"Rule can't be deleted since it has targets: %s", in.Name)
	}
	s.removeRule(in.Name)
	return wire.JSON(struct{}{})
}

func (s *Service) enableRule(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Name string }
	return s.onRule(c, &in, &in.Name, func() (any, error) {
		return struct{}{}, s.setEnabled(in.Name, c.Action == "EnableRule")
	})
}

func (s *Service) servePutTargets(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		Rule    string
		Targets []Target
	}
	return s.onRule(c, &in, &in.Rule, func() (any, error) {
		return map[string]any{"FailedEntryCount": 0, "FailedEntries": []any{}}, s.putTargets(in.Rule, in.Targets)
	})
}

func (s *Service) serveRemoveTargets(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		Rule string
		IDs  []string `json:"Ids"`
	}
	return s.onRule(c, &in, &in.Rule, func() (any, error) {
		return map[string]any{"FailedEntryCount": 0, "FailedEntries": []any{}}, s.removeTargets(in.Rule, in.IDs)
	})
}

func (s *Service) listTargets(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Rule string }
	return s.onRule(c, &in, &in.Rule, func() (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		r, err := s.find(in.Rule)
		if err != nil {
			return nil, err
		}
		return map[string]any{"Targets": append([]Target{}, r.targets...)}, nil
	})
}

// envelope are the fields that TestEventPattern wants an event to have.
var envelope = []string{"id", "account", "source", "time", "region", "resources", "detail-type"}

func (s *Service) testPattern(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ EventPattern, Event string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	pattern, err := parsePattern([]byte(in.EventPattern))
	if err != nil {
		return nil, wire.Errorf("InvalidEventPatternException", http.StatusBadRequest,
			"Event pattern is not valid. Reason: %v", err)
	}
	var event map[string]json.RawMessage
	if err := json.Unmarshal([]byte(in.Event), &event); err != nil {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest, "Parameter Event is not valid. Reason: %v", err)
	}
	for _, name := range envelope {
		if _, ok := event[name]; !ok {
			return nil, wire.Errorf("ValidationException", http.StatusBadRequest,
				"Parameter Event is not valid. Reason: it has no %s", name)
		}
	}
	matched, err := pattern.Match([]byte(in.Event))
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(map[string]bool{"Result": matched})
}
