package cloudformation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// changesPage is the number of changes in one answer of DescribeChangeSet.
const changesPage = 50

// changeSet is a template that waits for its execution.
type changeSet struct {
	name, id       string
	input          stackInput
	deployment     *deployment
	status, reason string
	changes        []changeXML
}

type changeXML struct {
	Type           string
	ResourceChange struct {
		Action            string
		LogicalResourceID string `xml:"LogicalResourceId"`
		ResourceType      string
	}
}

// changeSetInput are the parameters of all calls about change sets.
type changeSetInput struct {
	stackInput
	ChangeSetName, ChangeSetType, NextToken string
}

// createChangeSet prepares a creation or an update. A new stack then waits in review.
func (s *Service) createChangeSet(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in changeSetInput
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	if !stackNamePattern.MatchString(in.StackName) || !stackNamePattern.MatchString(in.ChangeSetName) {
		return nil, validationError("the names %q and %q have to match [a-zA-Z][-a-zA-Z0-9]*", in.StackName, in.ChangeSetName)
	}
	st, isNew, err := s.stackFor(in)
	if err != nil {
		return nil, err
	}
	d, err := s.deploymentOf(in.stackInput, st)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.changeSets[in.ChangeSetName] != nil {
		return nil, wire.Errorf("AlreadyExistsException", http.StatusBadRequest, "ChangeSet %s already exists",
			in.ChangeSetName)
	}
	if isNew {
		s.stacks[st.name] = st
		st.setStatus(reviewInProgress, "User Initiated", time.Now())
	}
	made := &changeSet{
		name: in.ChangeSetName, input: in.stackInput, deployment: d, status: createComplete, changes: d.changes(),
		id: fmt.Sprintf("arn:aws:cloudformation:%s:%s:changeSet/%s/%s", s.config.Region, s.config.AccountID,
			in.ChangeSetName, suffix(st.id, in.ChangeSetName)),
	}
	tags := in.tags()
	if tags == nil {
		tags = st.tags
	}
	if !d.hasChanges(tags) {
		made.status = "FAILED"
		made.reason = "The submitted information didn't contain changes. Submit different information to create a change set."
	}
	st.changeSets[made.name] = made
	return wire.QueryXML(c, namespace, struct {
		ID      string `xml:"Id"`
		StackID string `xml:"StackId"`
	}{made.id, st.id})
}

// stackFor returns the stack that a new change set is about, and whether it is yet to be entered.
func (s *Service) stackFor(in changeSetInput) (st *stack, isNew bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st = s.stacks[in.StackName]
	switch {
	case in.ChangeSetType == "CREATE" && st == nil:
		return s.newStack(in.stackInput, time.Now()), true, nil
	case in.ChangeSetType == "CREATE" && st.status != reviewInProgress:
		return nil, false, validationError("Stack [%s] already exists and cannot be created again with the changeSet [%s].",
			in.StackName, in.ChangeSetName)
	case in.ChangeSetType != "CREATE" && st == nil:
		return nil, false, validationError("Stack [%s] does not exist", in.StackName)
	case in.ChangeSetType != "CREATE" && !st.updatable():
		return nil, false, validationError("Stack:%s is in %s state and can not be updated.", st.id, st.status)
	}
	return st, false, nil
}

// changes lists what a deployment adds, modifies and removes; the lock is held. It compares the
// templates, as CloudFormation does before an execution.
func (d *deployment) changes() []changeXML {
	before := map[string][]byte{}
	kinds := map[string]string{}
	if d.stack.template != nil {
		for id, declared := range d.stack.template.Resources {
			before[id], _ = json.Marshal(declared)
			kinds[id] = declared.Type
		}
	}
	after := map[string][]byte{}
	for id, declared := range d.template.Resources {
		after[id], _ = json.Marshal(declared)
		kinds[id] = declared.Type
	}
	var listed []changeXML
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		made := changeXML{Type: "Resource"}
		made.ResourceChange.LogicalResourceID, made.ResourceChange.ResourceType = id, kinds[id]
		switch {
		case before[id] == nil:
			made.ResourceChange.Action = "Add"
		case after[id] == nil:
			made.ResourceChange.Action = "Remove"
		case string(before[id]) != string(after[id]):
			made.ResourceChange.Action = "Modify"
		default:
			continue
		}
		listed = append(listed, made)
	}
	return listed
}

// changeSetOf finds a change set by the name or the id that a request gives; the lock is not held.
func (s *Service) changeSetOf(c *wire.Call) (changeSetInput, *stack, *changeSet, error) {
	var in changeSetInput
	st, err := s.named(c, &in, &in.StackName)
	if err != nil {
		return in, nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range st.changeSets {
		if one.name == in.ChangeSetName || one.id == in.ChangeSetName {
			return in, st, one, nil
		}
	}
	return in, nil, nil, wire.Errorf("ChangeSetNotFound", http.StatusNotFound, "ChangeSet [%s] does not exist",
		in.ChangeSetName)
}

func (s *Service) describeChangeSet(_ context.Context, c *wire.Call) (*wire.Response, error) {
	in, st, found, err := s.changeSetOf(c)
	if err != nil {
		return nil, err
	}
	start := 0
	if in.NextToken != "" {
		if start, err = strconv.Atoi(in.NextToken); err != nil || start < 0 || start > len(found.changes) {
			return nil, validationError("NextToken %q is not one that DescribeChangeSet gave", in.NextToken)
		}
	}
	end := min(start+changesPage, len(found.changes))
	shown := struct {
		ChangeSetName   string
		ChangeSetID     string `xml:"ChangeSetId"`
		StackID         string `xml:"StackId"`
		StackName       string
		Status          string
		StatusReason    string `xml:",omitempty"`
		ExecutionStatus string
		Changes         []changeXML `xml:"Changes>member"`
		NextToken       string      `xml:",omitempty"`
	}{
		ChangeSetName: found.name, ChangeSetID: found.id, StackID: st.id, StackName: st.name, Status: found.status,
		StatusReason: found.reason, ExecutionStatus: "AVAILABLE", Changes: found.changes[start:end],
	}
	if found.status != createComplete {
		shown.ExecutionStatus = "UNAVAILABLE"
	}
	if end < len(found.changes) {
		shown.NextToken = strconv.Itoa(end)
	}
	return wire.QueryXML(c, namespace, shown)
}

// executeChangeSet begins the creation or the update. The stack's change sets are gone then.
func (s *Service) executeChangeSet(_ context.Context, c *wire.Call) (*wire.Response, error) {
	in, st, found, err := s.changeSetOf(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found.status != createComplete {
		return nil, wire.Errorf("InvalidChangeSetStatus", http.StatusBadRequest,
			"ChangeSet [%s] cannot be executed in its current status of [%s]", found.id, found.status)
	}
	found.input.ClientRequestToken = in.ClientRequestToken
	if st.status == reviewInProgress {
		s.startCreate(found.deployment, in.ClientRequestToken)
	} else if err := s.startUpdate(found.deployment, found.input); err != nil {
		return nil, err
	}
	clear(st.changeSets)
	return wire.QueryXML(c, namespace, struct{}{})
}

func (s *Service) deleteChangeSet(_ context.Context, c *wire.Call) (*wire.Response, error) {
	_, st, found, err := s.changeSetOf(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(st.changeSets, found.name)
	return wire.QueryXML(c, namespace, struct{}{})
}
