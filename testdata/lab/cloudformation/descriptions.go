package cloudformation

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// eventsPage is the number of events in one answer of DescribeStackEvents.
const eventsPage = 100

type outputXML struct {
	OutputKey   string
	OutputValue string
	Description string `xml:",omitempty"`
}

type stackXML struct {
	StackID           string `xml:"StackId"`
	StackName         string
	Description       string `xml:",omitempty"`
	CreationTime      timestamp
	LastUpdatedTime   timestamp
	DeletionTime      timestamp
	StackStatus       string
	StackStatusReason string `xml:",omitempty"`

	EnableTerminationProtection bool

	Outputs []outputXML `xml:"Outputs>member"`
	Tags    []tag       `xml:"Tags>member"`
}

// describe shows the stack; the service's lock is held.
func (s *stack) describe() stackXML {
	shown := stackXML{
		StackID: s.id, StackName: s.name, Description: s.description, CreationTime: timestamp(s.created),
		LastUpdatedTime: timestamp(s.updated), DeletionTime: timestamp(s.deleted),
		StackStatus: s.status, StackStatusReason: s.reason, EnableTerminationProtection: s.protected,
	}
	for _, o := range s.outputs {
		shown.Outputs = append(shown.Outputs, outputXML{o.key, o.value, o.description})
	}
	for _, key := range slices.Sorted(maps.Keys(s.tags)) {
		shown.Tags = append(shown.Tags, tag{key, s.tags[key]})
	}
	return shown
}

// named decodes a request that names a stack and finds it, deleted ones by their id.
func (s *Service) named(c *wire.Call, in any, name *string) (*stack, error) {
	if err := c.DecodeQuery(in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(*name)
	if st == nil {
		return nil, doesNotExist(*name)
	}
	return st, nil
}

func (s *Service) describeStacks(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ StackName string }
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	var result struct {
		Stacks []stackXML `xml:"Stacks>member"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.StackName == "" {
		for _, name := range slices.Sorted(maps.Keys(s.stacks)) {
			result.Stacks = append(result.Stacks, s.stacks[name].describe())
		}
		return wire.QueryXML(c, namespace, result)
	}
	st := s.find(in.StackName)
	if st == nil {
		return nil, doesNotExist(in.StackName)
	}
	if st.inProgress() && s.config.Settle > 0 {
		settled := st.settled
		s.mu.Unlock()
		settle(ctx, settled, s.config.Settle)
		s.mu.Lock()
		// The stack may have been deleted by now. A deleted stack is not found by its name.
		if st = s.find(in.StackName); st == nil {
			return nil, doesNotExist(in.StackName)
		}
	}
	result.Stacks = []stackXML{st.describe()}
	return wire.QueryXML(c, namespace, result)
}

// settle waits for the end of an operation, at most for a while.
func settle(ctx context.Context, settled <-chan struct{}, patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-settled:
	case <-timer.C:
	case <-ctx.Done():
	}
}

type eventXML struct {
	StackID              string `xml:"StackId"`
	EventID              string `xml:"EventId"`
	StackName            string
	LogicalResourceID    string `xml:"LogicalResourceId"`
	PhysicalResourceID   string `xml:"PhysicalResourceId"`
	ResourceType         string
	Timestamp            timestamp
	ResourceStatus       string
	ResourceStatusReason string `xml:",omitempty"`
	ResourceProperties   string `xml:",omitempty"`
	ClientRequestToken   string `xml:",omitempty"`
}

func (s *Service) describeStackEvents(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ StackName, NextToken string }
	st, err := s.named(c, &in, &in.StackName)
	if err != nil {
		return nil, err
	}
	var result struct {
		StackEvents []eventXML `xml:"StackEvents>member"`
		NextToken   string     `xml:",omitempty"`
	}
	result.StackEvents, result.NextToken, err = s.eventPage(st, in.NextToken)
	if err != nil {
		return nil, err
	}
	return wire.QueryXML(c, namespace, result)
}

// eventPage returns a page of a stack's events, newest first. The token is the number of events
// that are older than the page's, so that new events do not shift the pages.
func (s *Service) eventPage(st *stack, token string) (page []eventXML, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := len(st.events)
	if token != "" {
		if end, err = strconv.Atoi(token); err != nil || end < 0 || end > len(st.events) {
			return nil, "", validationError("NextToken %q is not one that DescribeStackEvents gave", token)
		}
	}
	start := max(0, end-eventsPage)
	for _, e := range slices.Backward(st.events[start:end]) {
		shown := eventXML{
			st.id, e.id, st.name, e.logicalID, e.physicalID, e.kind, timestamp(e.at), e.status, e.reason, "", e.token,
		}
		if e.properties != nil {
			if text, err := json.Marshal(e.properties); err == nil {
				shown.ResourceProperties = string(text)
			}
		}
		page = append(page, shown)
	}
	if start > 0 {
		next = strconv.Itoa(start)
	}
	return page, next, nil
}

type resourceXML struct {
	StackID              string `xml:"StackId,omitempty"`
	StackName            string `xml:",omitempty"`
	LogicalResourceID    string `xml:"LogicalResourceId"`
	PhysicalResourceID   string `xml:"PhysicalResourceId,omitempty"`
	ResourceType         string
	Timestamp            timestamp
	LastUpdatedTimestamp timestamp
	ResourceStatus       string
	ResourceStatusReason string `xml:",omitempty"`
}

// resourcesOf shows the resources of a stack in the order of their names.
func (s *Service) resourcesOf(st *stack) []resourceXML {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shown []resourceXML
	for _, id := range slices.Sorted(maps.Keys(st.resources)) {
		r := st.resources[id]
		shown = append(shown, resourceXML{
			st.id, st.name, r.logicalID, r.physicalID, r.kind, timestamp(r.updated), timestamp(r.updated), r.status, r.reason,
		})
	}
	return shown
}

func (s *Service) describeStackResources(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		StackName         string
		LogicalResourceID string `query:"LogicalResourceId"`
	}
	st, err := s.named(c, &in, &in.StackName)
	if err != nil {
		return nil, err
	}
	var result struct {
		StackResources []resourceXML `xml:"StackResources>member"`
	}
	result.StackResources = slices.DeleteFunc(s.resourcesOf(st), func(r resourceXML) bool {
		return in.LogicalResourceID != "" && r.LogicalResourceID != in.LogicalResourceID
	})
	return wire.QueryXML(c, namespace, result)
}

func (s *Service) getTemplate(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ StackName string }
	st, err := s.named(c, &in, &in.StackName)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.QueryXML(c, namespace, struct{ TemplateBody string }{st.body})
}
