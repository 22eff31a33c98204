package cloudwatch

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// States of alarms.
const (
	OK               = "OK"
	Alarm            = "ALARM"
	InsufficientData = "INSUFFICIENT_DATA"
)

// usualPage is how many alarms an answer has where the request does not say.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarms.html
const usualPage, largestPage = 50, 100

// Change is an alarm's change of its state, as EventBridge gets it.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-and-eventbridge.html
type Change struct {
	ARN    string
	Time   time.Time
	Detail json.RawMessage
}

// People is what people set: alarms of their own, and states. Alarms of stacks are among them, in the state
// INSUFFICIENT_DATA until somebody sets another. Their evaluation is Ringing's.
type People struct {
	AccountID, Region string
	// Now is the time; nil means time.Now.
	Now func() time.Time
	// Announce gets each change; nil drops it.
	Announce func(context.Context, Change)
	// Page is the most alarms of an answer; 0 means what the request asks for.
	Page int
	// Lag is how long answers have the state before a change.
	Lag time.Duration

	alarms map[string]*watched
}

// watched is an alarm with its state.
type watched struct {
	name, state, before string
	composite           bool
	since               time.Time
	tags                map[string]string
}

func (p *People) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

func (p *People) arn(name string) string {
	return "arn:aws:cloudwatch:" + p.Region + ":" + p.AccountID + ":alarm:" + name
}

// shown is the state that answers have.
func (p *People) shown(one *watched) string {
	if p.now().Sub(one.since) < p.Lag {
		return one.before
	}
	return one.state
}

// Register makes the server answer calls about the states of alarms.
func (s *Service) Register(server *wire.Server) {
	server.Register("monitoring", wire.Actions{
		"DescribeAlarms": s.describeAlarms, "SetAlarmState": s.setAlarmState,
	})
	server.Register("tagging", wire.Actions{"GetResources": s.getResources})
}

// Tag gives an alarm of a person a tag.
func (s *Service) Tag(name, key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.alarm(name)
	if one.tags == nil {
		one.tags = map[string]string{}
	}
	one.tags[key] = value
}

// getResources answers about alarms with a tag, for the tagging API.
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html
func (s *Service) getResources(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		ResourceTypeFilters []string
		TagFilters          []struct{ Key string }
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if !slices.Equal(in.ResourceTypeFilters, []string{"cloudwatch:alarm"}) || len(in.TagFilters) != 1 {
		return nil, wire.Errorf("InvalidParameterException", http.StatusBadRequest,
			"the local tagging API knows alarms by one key alone")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(s.People.alarms)) {
		one := s.People.alarms[name]
		if _, has := one.tags[in.TagFilters[0].Key]; !has {
			continue
		}
		var tags []map[string]string
		for _, key := range slices.Sorted(maps.Keys(one.tags)) {
			tags = append(tags, map[string]string{"Key": key, "Value": one.tags[key]})
		}
		list = append(list, map[string]any{"ResourceARN": s.People.arn(name), "Tags": tags})
	}
	return wire.JSON(map[string]any{"PaginationToken": "", "ResourceTagMappingList": list})
}

// Make makes an alarm that a person owns, in the state OK.
func (s *Service) Make(name string, composite bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarm(name).composite = composite
	s.People.alarms[name].state, s.People.alarms[name].before = OK, OK
}

// Remove removes an alarm of a person.
func (s *Service) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.People.alarms, name)
}

// alarm is the alarm with the name, made where it is not known. The lock is held.
func (s *Service) alarm(name string) *watched {
	if s.People.alarms == nil {
		s.People.alarms = map[string]*watched{}
	}
	if s.People.alarms[name] == nil {
		s.People.alarms[name] = &watched{
			name: name, state: InsufficientData, before: InsufficientData, since: s.People.now(),
		}
	}
	return s.People.alarms[name]
}

// SetState sets the state of an alarm, and announces a change. It reports whether there is such an alarm.
func (s *Service) SetState(ctx context.Context, name, state, reason string) bool {
	before, after, known := s.change(name, state)
	if !known || before.state == state || s.People.Announce == nil {
		return known
	}
	const layout = "2006-01-02T15:04:05.000-0700"
	detail, err := json.Marshal(map[string]any{
		"alarmName":     name,
		"configuration": map[string]any{},
		"previousState": map[string]any{"value": before.state, "timestamp": before.since.UTC().Format(layout)},
		"state":         map[string]any{"value": state, "reason": reason, "timestamp": after.since.UTC().Format(layout)},
	})
	if err != nil {
		return false
	}
	s.People.Announce(ctx, Change{ARN: s.People.arn(name), Time: after.since, Detail: detail})
	return true
}

// SetStateQuietly sets the state of an alarm. The event about it is lost.
func (s *Service) SetStateQuietly(name, state string) { s.change(name, state) }

// change changes the state of an alarm, and returns the alarm as it was and is.
func (s *Service) change(name, state string) (before, after watched, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ofStack := s.alarms[name]; ofStack {
		s.alarm(name)
	}
	one := s.People.alarms[name]
	if one == nil {
		return watched{}, watched{}, false
	}
	before = *one
	if before.state != state {
		one.before, one.state, one.since = before.state, state, s.People.now()
	}
	return before, *one, true
}

func (s *Service) setAlarmState(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ AlarmName, StateValue, StateReason string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{OK, Alarm, InsufficientData}, in.StateValue) {
		return nil, wire.Errorf("ValidationError", http.StatusBadRequest, "StateValue %q is no state", in.StateValue)
	}
	if !s.SetState(ctx, in.AlarmName, in.StateValue, in.StateReason) {
		return nil, wire.Errorf("ResourceNotFound", http.StatusNotFound, "there is no alarm %q", in.AlarmName)
	}
	return wire.JSON(struct{}{})
}

// describeAlarms answers about the alarms of the names, in the order of their names. Without types it leaves
// out composite alarms, as AWS does.
func (s *Service) describeAlarms(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		AlarmNames, AlarmTypes []string
		MaxRecords             int
		NextToken              string
		StateValue             string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if in.MaxRecords < 0 || in.MaxRecords > largestPage || len(in.AlarmNames) > largestPage || in.StateValue != "" {
		return nil, wire.Errorf("ValidationError", http.StatusBadRequest,
			"the local CloudWatch takes at most %d names and records, and no state", largestPage)
	}
	if len(in.AlarmTypes) == 0 {
		in.AlarmTypes = []string{"MetricAlarm"}
	}
	from, err := firstOf(in.NextToken)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.alarms {
		s.alarm(name)
	}
	all := s.chosen(in.AlarmNames, in.AlarmTypes)
	page := in.MaxRecords
	if page == 0 {
		page = usualPage
	}
	if s.People.Page > 0 {
		page = min(page, s.People.Page)
	}
	from = min(from, len(all))
	to := min(from+page, len(all))
	answer := map[string]any{"MetricAlarms": []any{}, "CompositeAlarms": []any{}}
	for _, one := range all[from:to] {
		kind := "MetricAlarms"
		if one.composite {
			kind = "CompositeAlarms"
		}
		answer[kind] = append(answer[kind].([]any), map[string]any{
			"AlarmName": one.name, "AlarmArn": s.People.arn(one.name), "StateValue": s.People.shown(one),
			"StateUpdatedTimestamp":      float64(one.since.UnixMilli()) / 1000,
			"StateTransitionedTimestamp": float64(one.since.UnixMilli()) / 1000,
		})
	}
	if to < len(all) {
		answer["NextToken"] = strconv.Itoa(to)
	}
	return wire.JSON(answer)
}

// firstOf is the first alarm of the page that the token stands for.
func firstOf(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	from, err := strconv.Atoi(token)
	if err != nil || from < 0 {
		return 0, wire.Errorf("InvalidNextToken", http.StatusBadRequest, "the token %q is not one of ours", token)
	}
	return from, nil
}

// chosen are the alarms of the names and types in order. Without names they are all.
func (s *Service) chosen(names, types []string) []*watched {
	var all []*watched
	for _, name := range slices.Sorted(maps.Keys(s.People.alarms)) {
		one := s.People.alarms[name]
		kind := "MetricAlarm"
		if one.composite {
			kind = "CompositeAlarm"
		}
		if (len(names) == 0 || slices.Contains(names, name)) && slices.Contains(types, kind) {
			all = append(all, one)
		}
	}
	return all
}
