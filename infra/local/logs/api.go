package logs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Register makes the server answer CloudWatch Logs' JSON protocol.
func (s *Service) Register(server *wire.Server) {
	server.Register("logs", wire.Actions{
		"CreateLogGroup":     s.createLogGroup,
		"DeleteLogGroup":     s.deleteLogGroup,
		"PutRetentionPolicy": s.putRetentionPolicy,
		"CreateLogStream":    s.createLogStream,
		"PutLogEvents":       s.putLogEvents,
		"DescribeLogGroups":  s.describeLogGroups,
		"DescribeLogStreams": s.describeLogStreams,
		"GetLogEvents":       s.getLogEvents,
		"FilterLogEvents":    s.filterLogEvents,
	})
}

func asAnswer(err error) error {
	switch {
	case errors.Is(err, errNotFound):
		return wire.Errorf("ResourceNotFoundException", http.StatusBadRequest,
			"The specified log resource does not exist: %v", err)
	case errors.Is(err, errExists):
		return wire.Errorf("ResourceAlreadyExistsException", http.StatusBadRequest,
			"The specified log resource already exists: %v", err)
	default:
		return wire.Errorf("InvalidParameterException", http.StatusBadRequest, "%v", err)
	}
}

// input has the parameters of all calls of this service.
type input struct {
	LogGroupName        string            `json:"logGroupName"`
	LogGroupIdentifier  string            `json:"logGroupIdentifier"`
	LogStreamName       string            `json:"logStreamName"`
	LogStreamNames      []string          `json:"logStreamNames"`
	LogGroupNamePrefix  string            `json:"logGroupNamePrefix"`
	LogGroupNamePattern string            `json:"logGroupNamePattern"`
	LogStreamNamePrefix string            `json:"logStreamNamePrefix"`
	FilterPattern       string            `json:"filterPattern"`
	OrderBy             string            `json:"orderBy"`
	NextToken           string            `json:"nextToken"`
	StartTime           *int64            `json:"startTime"`
	EndTime             *int64            `json:"endTime"`
	Limit               int               `json:"limit"`
	RetentionInDays     int               `json:"retentionInDays"`
	Descending          bool              `json:"descending"`
	StartFromHead       bool              `json:"startFromHead"`
	Tags                map[string]string `json:"tags"`
	LogEvents           []struct {
		Timestamp int64  `json:"timestamp"`
		Message   string `json:"message"`
	} `json:"logEvents"`
}

// groupName is the name behind logGroupName or logGroupIdentifier, which may be an ARN.
func (in input) groupName() string {
	name := in.LogGroupIdentifier
	if name == "" {
		return in.LogGroupName
	}
	if i := strings.Index(name, ":log-group:"); i >= 0 {
		name = name[i+len(":log-group:"):]
	}
	return strings.TrimSuffix(name, ":*")
}

// locked decodes the call and does something with the service locked.
func (s *Service) locked(c *wire.Call, do func(in input) (any, error)) (*wire.Response, error) {
	var in input
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := do(in)
	if err != nil {
		return nil, asAnswer(err)
	}
	if out == nil {
		return &wire.Response{Status: http.StatusOK}, nil
	}
	return wire.JSON(out)
}

func (s *Service) createLogGroup(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		if in.LogGroupName == "" {
			return nil, errors.New("logGroupName is missing")
		}
		if s.groups[in.LogGroupName] != nil {
			return nil, fmt.Errorf("log group %q %w", in.LogGroupName, errExists)
		}
		s.addGroup(in.LogGroupName, 0, in.Tags)
		return nil, nil
	})
}

func (s *Service) deleteLogGroup(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		if _, err := s.group(in.LogGroupName); err != nil {
			return nil, err
		}
		delete(s.groups, in.LogGroupName)
		return nil, nil
	})
}

func (s *Service) putRetentionPolicy(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		g, err := s.group(in.LogGroupName)
		if err == nil {
			err = checkRetention(in.RetentionInDays)
		}
		if err != nil {
			return nil, err
		}
		g.retention = in.RetentionInDays
		return nil, nil
	})
}

func (s *Service) createLogStream(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		g, err := s.group(in.groupName())
		if err != nil {
			return nil, err
		}
		if in.LogStreamName == "" {
			return nil, errors.New("logStreamName is missing")
		}
		if g.streams[in.LogStreamName] != nil {
			return nil, fmt.Errorf("log stream %q %w", in.LogStreamName, errExists)
		}
		g.addStream(in.LogStreamName)
		return nil, nil
	})
}

// maximumPut is the number of events that one PutLogEvents takes.
const maximumPut = 10_000

func (s *Service) putLogEvents(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		g, err := s.group(in.groupName())
		if err != nil {
			return nil, err
		}
		st := g.streams[in.LogStreamName]
		if st == nil {
			return nil, fmt.Errorf("log stream %q %w", in.LogStreamName, errNotFound)
		}
		if len(in.LogEvents) == 0 || len(in.LogEvents) > maximumPut {
			return nil, fmt.Errorf("logEvents has %d members; it takes 1 to %d", len(in.LogEvents), maximumPut)
		}
		for _, e := range in.LogEvents {
			s.append(g, st, time.UnixMilli(e.Timestamp), e.Message)
		}
		return map[string]string{"nextSequenceToken": strconv.FormatUint(s.lastID, 10)}, nil
	})
}

func (s *Service) describeLogGroups(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		found := []map[string]any{}
		for name, g := range s.groups {
			if !strings.HasPrefix(name, in.LogGroupNamePrefix) ||
				!strings.Contains(strings.ToLower(name), strings.ToLower(in.LogGroupNamePattern)) {
				continue
			}
			stored := 0
			for _, st := range g.streams {
				stored += st.bytes()
			}
			described := map[string]any{
				"logGroupName": name, "creationTime": g.created.UnixMilli(), "metricFilterCount": 0, "storedBytes": stored,
				"arn": s.arn(name) + ":*", "logGroupArn": s.arn(name), "logGroupClass": "STANDARD",
			}
			if g.retention > 0 {
				described["retentionInDays"] = g.retention
			}
			found = append(found, described)
		}
		slices.SortFunc(found, func(a, b map[string]any) int {
			return strings.Compare(a["logGroupName"].(string), b["logGroupName"].(string))
		})
		page, next, err := page(found, in.NextToken, in.Limit, 50)
		return withToken(map[string]any{"logGroups": page}, next), err
	})
}

func (st *stream) bytes() int {
	total := 0
	for _, e := range st.events {
		total += len(e.Message)
	}
	return total
}

func (s *Service) describeLogStreams(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		g, err := s.group(in.groupName())
		if err != nil {
			return nil, err
		}
		found := []map[string]any{}
		for name, st := range g.streams {
			if !strings.HasPrefix(name, in.LogStreamNamePrefix) {
				continue
			}
			described := map[string]any{
				"logStreamName": name, "creationTime": st.created.UnixMilli(), "arn": s.arn(g.name) + ":log-stream:" + name,
				"storedBytes":         0,
				"uploadSequenceToken": "0",
			}
			if n := len(st.events); n > 0 {
				described["firstEventTimestamp"] = st.events[0].Time.UnixMilli()
				described["lastEventTimestamp"] = st.events[n-1].Time.UnixMilli()
				described["lastIngestionTime"] = st.events[n-1].Arrived.UnixMilli()
			}
			found = append(found, described)
		}
		slices.SortFunc(found, func(a, b map[string]any) int {
			order := strings.Compare(a["logStreamName"].(string), b["logStreamName"].(string))
			if in.OrderBy == "LastEventTime" {
				first, _ := a["lastEventTimestamp"].(int64)
				second, _ := b["lastEventTimestamp"].(int64)
				if first != second {
					order = int(first - second)
				}
			}
			if in.Descending {
				return -order
			}
			return order
		})
		page, next, err := page(found, in.NextToken, in.Limit, 50)
		return withToken(map[string]any{"logStreams": page}, next), err
	})
}

// page cuts a list at a token, which is the place where the page begins.
func page[T any](all []T, token string, limit, most int) (part []T, next string, err error) {
	if limit <= 0 || limit > most {
		limit = most
	}
	from := 0
	if token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > len(all) {
			return nil, "", fmt.Errorf("nextToken %q is not one that this service gave", token)
		}
	}
	to := min(len(all), from+limit)
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return all[from:to], next, nil
}

func withToken(out map[string]any, token string) map[string]any {
	if token != "" {
		out["nextToken"] = token
	}
	return out
}

// within is the test for startTime (included) and endTime: GetLogEvents leaves the end out,
// FilterLogEvents takes it in.
func (in input) within(e Event, endIncluded bool) bool {
	at := e.Time.UnixMilli()
	if in.StartTime != nil && at < *in.StartTime {
		return false
	}
	return in.EndTime == nil || at < *in.EndTime || endIncluded && at == *in.EndTime
}

// getLogEvents pages by event ID: f/ID continues after an event, b/ID before it.
func (s *Service) getLogEvents(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		g, err := s.group(in.groupName())
		if err != nil {
			return nil, err
		}
		if g.streams[in.LogStreamName] == nil {
			return nil, fmt.Errorf("log stream %q %w", in.LogStreamName, errNotFound)
		}
		events := g.choose(func(name string) bool {
			return name == in.LogStreamName
		}, func(e Event) bool { return in.within(e, false) })
		from, to, err := in.page(events)
		if err != nil {
			return nil, err
		}
		shown := []map[string]any{}
		// At the end of the stream the token stays the same, by which callers recognise the end.
		place := "0"
		if in.NextToken != "" {
			place = in.NextToken[2:]
		}
		forward, backward := "f/"+place, "b/"+place
		for _, e := range events[from:to] {
			shown = append(shown, map[string]any{
				"timestamp": e.Time.UnixMilli(), "ingestionTime": e.Arrived.UnixMilli(), "message": e.Message,
			})
		}
		if to > from {
			forward, backward = fmt.Sprintf("f/%d", events[to-1].ID), fmt.Sprintf("b/%d", events[from].ID)
		}
		return map[string]any{"events": shown, "nextForwardToken": forward, "nextBackwardToken": backward}, nil
	})
}

// page returns the range of the events that the call asks for.
func (in input) page(events []Event) (from, to int, err error) {
	limit := in.Limit
	if limit <= 0 || limit > maximumEvents {
		limit = maximumEvents
	}
	from, to = max(0, len(events)-limit), len(events)
	if in.StartFromHead {
		from, to = 0, min(limit, len(events))
	}
	if in.NextToken != "" {
		direction, text, _ := strings.Cut(in.NextToken, "/")
		id, err := strconv.ParseUint(text, 10, 64)
		if err != nil || direction != "f" && direction != "b" {
			return 0, 0, fmt.Errorf("nextToken %q is not one that this service gave", in.NextToken)
		}
		if direction == "f" {
			for from = 0; from < len(events) && events[from].ID <= id; {
				from++
			}
			to = min(len(events), from+limit)
		} else {
			for to = len(events); to > 0 && events[to-1].ID >= id; {
				to--
			}
			from = max(0, to-limit)
		}
	}
	return from, to, nil
}

func (s *Service) filterLogEvents(_ context.Context, c *wire.Call) (*wire.Response, error) {
	return s.locked(c, func(in input) (any, error) {
		g, err := s.group(in.groupName())
		if err != nil {
			return nil, err
		}
		terms, err := parseFilter(in.FilterPattern)
		if err != nil {
			return nil, err
		}
		events := g.choose(
			func(name string) bool {
				return strings.HasPrefix(name, in.LogStreamNamePrefix) &&
					(len(in.LogStreamNames) == 0 || slices.Contains(in.LogStreamNames, name))
			},
			func(e Event) bool { return in.within(e, true) && terms.matches(e.Message) },
		)
		shown, next, err := page(events, in.NextToken, in.Limit, maximumEvents)
		if err != nil {
			return nil, err
		}
		out := []map[string]any{}
		for _, e := range shown {
			out = append(out, map[string]any{
				"logStreamName": e.Stream, "timestamp": e.Time.UnixMilli(), "ingestionTime": e.Arrived.UnixMilli(),
				"message": e.Message,
				"eventId": fmt.Sprintf("%056d", e.ID),
			})
		}
		return withToken(map[string]any{"events": out, "searchedLogStreams": []any{}}, next), nil
	})
}
