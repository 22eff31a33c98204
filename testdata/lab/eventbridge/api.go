package eventbridge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Limits of PutEvents, https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html
const (
	maximumEntries = 10
	maximumBytes   = 1 << 20
)

// Register makes the server answer EventBridge's JSON protocol.
func (s *Service) Register(server *wire.Server) {
	server.Register("events", wire.Actions{
		"PutEvents":     s.putEvents,
		"PutRule":       s.servePutRule,
		"DeleteRule":    s.deleteRule,
		"PutTargets":    s.servePutTargets,
		"RemoveTargets": s.serveRemoveTargets,
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

func (s *Service) servePutTargets(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		Rule    string
		Targets []map[string]any
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	targets, err := readTargets(in.Rule, in.Targets)
	if err == nil {
		err = s.putTargets(in.Rule, targets)
	}
	return noneFailed(err)
}

func (s *Service) serveRemoveTargets(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		Rule string
		IDs  []string `json:"Ids"`
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	return noneFailed(s.removeTargets(in.Rule, in.IDs))
}

// noneFailed answers a change of targets.
func noneFailed(err error) (*wire.Response, error) {
	if err != nil {
		return nil, asAnswer(err)
	}
	return wire.JSON(map[string]any{"FailedEntryCount": 0, "FailedEntries": []any{}})
}
