package cloudformation

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// changeSet is a deployment that waits to be executed.
type changeSet struct {
	name, id, description string
	input                 stackInput
	deployment            *deployment
	changes               []changeXML
	status, reason        string
	executionStatus       string
	created               time.Time
	creates               bool
}

const noChanges = "The submitted information didn't contain changes. Submit different information to create a " +
	"change set."

type changeXML struct {
	Type           string
	ResourceChange struct {
		Action             string
		LogicalResourceID  string `xml:"LogicalResourceId"`
		PhysicalResourceID string `xml:"PhysicalResourceId,omitempty"`
		ResourceType       string
		Replacement        string      `xml:",omitempty"`
		Scope              []string    `xml:"Scope>member"`
		Details            []detailXML `xml:"Details>member"`
	}
}

// detailXML names one property that a change set changes. Whether its type can do that in place is
// the type's own affair and known only by doing it, hence Conditionally.
type detailXML struct {
	Target struct {
		Attribute          string
		Name               string
		RequiresRecreation string
	}
	Evaluation   string
	ChangeSource string
}

// details lists the properties in which two declarations of a resource differ.
func details(old, now map[string]any) []detailXML {
	names := map[string]bool{}
	for name := range old {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	var list []detailXML
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if sameJSON(old[name], now[name]) {
			continue
		}
		d := detailXML{Evaluation: "Static", ChangeSource: "DirectModification"}
		d.Target.Attribute, d.Target.Name, d.Target.RequiresRecreation = "Properties", name, "Conditionally"
		list = append(list, d)
	}
	return list
}

func changeSetNotFound(name string) *wire.Error {
	return wire.Errorf("ChangeSetNotFound", http.StatusNotFound, "ChangeSet [%s] does not exist", name)
}

// findChangeSet finds a set by name or ARN; the service's lock is held.
func (s *stack) findChangeSet(nameOrID string) (*changeSet, bool) {
	if set, ok := s.changeSets[nameOrID]; ok {
		return set, true
	}
	for _, set := range s.changeSets {
		if set.id == nameOrID {
			return set, true
		}
	}
	return nil, false
}

func (s *Service) createChangeSet(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		stackInput
		ChangeSetName, ChangeSetType, ClientToken, Description string
		OnStackFailure                                         string
		ImportExistingResources                                bool
	}
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	if !stackNamePattern.MatchString(in.ChangeSetName) {
		return nil, validationError("value %q at 'changeSetName' must satisfy the pattern [a-zA-Z][-a-zA-Z0-9]*",
			in.ChangeSetName)
	}
	in.OnFailure, in.ClientRequestToken = in.OnStackFailure, in.ClientToken
	st, creates, err := s.changeSetStack(in.stackInput, in.ChangeSetType)
	if err != nil {
		return nil, err
	}
	d, err := s.deploymentOf(ctx, in.stackInput, st)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := st.changeSets[in.ChangeSetName]; taken {
		return nil, wire.Errorf("AlreadyExistsException", http.StatusBadRequest, "ChangeSet [%s] already exists",
			in.ChangeSetName)
	}
	now := time.Now()
	if creates && s.stacks[st.name] == nil {
		s.stacks[st.name] = st
		st.setStatus(reviewInProgress, "User Initiated", now)
	}
	set := &changeSet{
		name: in.ChangeSetName, description: in.Description, input: in.stackInput, deployment: d, created: now,
		creates: creates,
		status:  createComplete, executionStatus: "AVAILABLE", changes: d.changes(),
	}
	s.serial++
	set.id = fmt.Sprintf("arn:aws:cloudformation:%s:%s:changeSet/%s/%s", s.config.Region, s.config.AccountID, set.name,
		suffix(st.id, set.name, fmt.Sprint(s.serial)))
	tags := map[string]string{}
	if in.Tags != nil {
		for _, t := range *in.Tags {
			tags[t.Key] = t.Value
		}
	} else {
		tags = st.tags
	}
	if !creates && !d.hasChanges(tags) {
		set.status, set.reason, set.executionStatus = "FAILED", noChanges, "UNAVAILABLE"
	}
	st.changeSets[set.name] = set
	return wire.QueryXML(c, namespace, struct {
		ID      string `xml:"Id"`
		StackID string `xml:"StackId"`
	}{set.id, st.id})
}

// changeSetStack finds the stack of a change set, or creates one in review.
func (s *Service) changeSetStack(in stackInput, kind string) (st *stack, creates bool, err error) {
	if !stackNamePattern.MatchString(in.StackName) && s.past[in.StackName] == nil && s.find(in.StackName) == nil {
		return nil, false, validationError("value %q at 'stackName' must satisfy the pattern [a-zA-Z][-a-zA-Z0-9]*",
			in.StackName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st = s.find(in.StackName)
	switch kind {
	case "CREATE":
		if st == nil || !st.deleted.IsZero() {
			return s.newStack(in, time.Now()), true, nil
		}
		if st.status == reviewInProgress {
			return st, true, nil
		}
		return nil, false, validationError(
			"Stack [%s] already exists and cannot be created again with the changeSet type CREATE", in.StackName)
	case "", "UPDATE":
		if st == nil || !st.deleted.IsZero() {
			return nil, false, validationError("Stack [%s] does not exist", in.StackName)
		}
		return st, false, nil
	default:
		return nil, false, validationError("ChangeSetType %q is not simulated by the local AWS; it knows CREATE and UPDATE",
			kind)
	}
}

// changes lists the changes of a deployment by comparing the templates. It is called with the
// service's lock held.
func (d *deployment) changes() []changeXML {
	var list []changeXML
	add := func(action, id, kind, replacement string, details []detailXML) {
		change := changeXML{Type: "Resource"}
		change.ResourceChange.Action, change.ResourceChange.LogicalResourceID, change.ResourceChange.ResourceType = action,
			id, kind
		change.ResourceChange.Replacement, change.ResourceChange.Details = replacement, details
		if action == "Modify" {
			change.ResourceChange.Scope = []string{"Properties"}
		}
		if r, ok := d.stack.resources[id]; ok {
			change.ResourceChange.PhysicalResourceID = r.physicalID
		}
		list = append(list, change)
	}
	for _, id := range slices.Sorted(maps.Keys(d.graph)) {
		declared := d.template.Resources[id]
		old, exists := d.stack.resources[id]
		switch {
		case !exists:
			add("Add", id, declared.Type, "", nil)
		case old.kind != declared.Type:
			add("Modify", id, declared.Type, "True", nil)
		case d.stack.template != nil && !sameJSON(d.stack.template.Resources[id].Properties, declared.Properties):
			add("Modify", id, declared.Type, "Conditional",
				details(d.stack.template.Resources[id].Properties, declared.Properties))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.stack.resources)) {
		if _, kept := d.graph[id]; !kept {
			add("Remove", id, d.stack.resources[id].kind, "", nil)
		}
	}
	return list
}

// changeSetNamed decodes a request that names a change set and, unless the name is an ARN, its
// stack.
func (s *Service) changeSetNamed(c *wire.Call) (*stack, *changeSet, error) {
	var in struct{ ChangeSetName, StackName string }
	if err := c.DecodeQuery(&in); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.stacks {
		if in.StackName != "" && st.name != in.StackName && st.id != in.StackName {
			continue
		}
		if set, ok := st.findChangeSet(in.ChangeSetName); ok {
			return st, set, nil
		}
	}
	return nil, nil, changeSetNotFound(in.ChangeSetName)
}

func (s *Service) describeChangeSet(_ context.Context, c *wire.Call) (*wire.Response, error) {
	st, set, err := s.changeSetNamed(c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.QueryXML(c, namespace, struct {
		ChangeSetName   string
		ChangeSetID     string `xml:"ChangeSetId"`
		StackID         string `xml:"StackId"`
		StackName       string
		Description     string         `xml:",omitempty"`
		Parameters      []parameterXML `xml:"Parameters>member"`
		CreationTime    timestamp
		ExecutionStatus string
		Status          string
		StatusReason    string      `xml:",omitempty"`
		Capabilities    []string    `xml:"Capabilities>member"`
		Changes         []changeXML `xml:"Changes>member"`
	}{
		set.name, set.id, st.id, st.name, set.description, showParameters(set.deployment.parameters), timestamp(set.created),
		set.executionStatus, set.status, set.reason,
		set.input.Capabilities, set.changes,
	})
}

func (s *Service) executeChangeSet(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		ClientRequestToken string
		DisableRollback    bool
	}
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	st, set, err := s.changeSetNamed(c)
	if err != nil {
		return nil, err
	}
	// Prepared again: the stack may have changed since the set was made.
	d, err := s.prepare(ctx, st, set.deployment.body, set.input.Parameters)
	if err != nil {
		return nil, validationError("%v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if set.executionStatus != "AVAILABLE" {
		return nil, wire.Errorf("InvalidChangeSetStatus", http.StatusBadRequest,
			"ChangeSet [%s] cannot be executed in its current execution status of [%s]", set.id, set.executionStatus)
	}
	input := set.input
	input.ClientRequestToken, input.DisableRollback = in.ClientRequestToken, in.DisableRollback
	if set.creates {
		if st.status != reviewInProgress {
			return nil, validationError("Stack [%s] is in status %s and is not waiting for its first change set", st.name,
				st.status)
		}
		st.apply(input)
		s.startCreate(d, in.ClientRequestToken)
	} else if err := s.startUpdate(d, input); err != nil {
		return nil, err
	}
	// CloudFormation deletes all change sets of a stack when one is executed.
	st.changeSets = map[string]*changeSet{}
	return wire.QueryXML(c, namespace, struct{}{})
}

func (s *Service) deleteChangeSet(_ context.Context, c *wire.Call) (*wire.Response, error) {
	st, set, err := s.changeSetNamed(c)
	if err != nil {
		// Deleting a change set twice succeeds.
		return wire.QueryXML(c, namespace, struct{}{})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(st.changeSets, set.name)
	return wire.QueryXML(c, namespace, struct{}{})
}

func (s *Service) listChangeSets(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ StackName string }
	st, err := s.named(c, &in, &in.StackName)
	if err != nil {
		return nil, err
	}
	type summary struct {
		StackID         string `xml:"StackId"`
		StackName       string
		ChangeSetID     string `xml:"ChangeSetId"`
		ChangeSetName   string
		ExecutionStatus string
		Status          string
		StatusReason    string `xml:",omitempty"`
		CreationTime    timestamp
	}
	var result struct {
		Summaries []summary `xml:"Summaries>member"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(st.changeSets)) {
		set := st.changeSets[name]
		result.Summaries = append(result.Summaries,
			summary{st.id, st.name, set.id, set.name, set.executionStatus, set.status, set.reason, timestamp(set.created)})
	}
	return wire.QueryXML(c, namespace, result)
}
