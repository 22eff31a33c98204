package cloudformation

import (
	"context"
	"encoding/xml"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const namespace = "http://cloudformation.amazonaws.com/doc/2010-05-15/"

// actions are the calls of a deployment, directly or by a change set, and of those who look at its stack.
func (s *Service) actions() wire.Actions {
	return wire.Actions{
		"CreateStack":            s.createStack,
		"UpdateStack":            s.updateStack,
		"DeleteStack":            s.deleteStack,
		"DescribeStacks":         s.describeStacks,
		"DescribeStackEvents":    s.describeStackEvents,
		"DescribeStackResources": s.describeStackResources,
		"GetTemplate":            s.getTemplate,

		"UpdateTerminationProtection": s.updateTerminationProtection,

		"CreateChangeSet":   s.createChangeSet,
		"DescribeChangeSet": s.describeChangeSet,
		"ExecuteChangeSet":  s.executeChangeSet,
		"DeleteChangeSet":   s.deleteChangeSet,
	}
}

type tag struct {
	Key   string
	Value string
}

// stackInput has the common parameters of CreateStack and UpdateStack.
type stackInput struct {
	StackName          string
	TemplateBody       string
	TemplateURL        string
	Capabilities       []string
	Tags               *[]tag
	ClientRequestToken string

	EnableTerminationProtection bool

	// The rest is refused unless it is empty.
	Parameters          []struct{ ParameterKey string }
	NotificationARNs    []string
	UsePreviousTemplate bool
	DisableRollback     bool
	OnFailure           string
}

// refuse names a parameter that the local AWS does not hold.
func (in stackInput) refuse() error {
	for name, given := range map[string]bool{
		"Parameters": len(in.Parameters) > 0, "NotificationARNs": len(in.NotificationARNs) > 0,
		"UsePreviousTemplate": in.UsePreviousTemplate, "DisableRollback": in.DisableRollback,
		"OnFailure": in.OnFailure != "",
	} {
		if given {
			return validationError("the parameter %s is not simulated by the local AWS", name)
		}
	}
	return nil
}

func validationError(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", http.StatusBadRequest, format, args...)
}

func doesNotExist(name string) *wire.Error {
	return validationError("Stack with id %s does not exist", name)
}

var stackNamePattern = regexp.MustCompile(`^[a-zA-Z][-a-zA-Z0-9]{0,127}$`)

// templateOf reads the template of a request: its body or its URL.
func (s *Service) templateOf(in stackInput) (string, error) {
	switch {
	case in.TemplateBody != "":
		return in.TemplateBody, nil
	case in.TemplateURL != "":
		return s.templateAt(in.TemplateURL)
	default:
		return "", validationError("either Template URL or Template Body must be specified")
	}
}

// templateAt reads a template from the local S3. Its URL names the bucket in the path or in the
// host.
func (s *Service) templateAt(address string) (string, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return "", validationError("TemplateURL %q is not a URL", address)
	}
	if s.config.Templates == nil {
		return "", validationError("TemplateURL %s: this CloudFormation was made without an object store", address)
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
	if name, rest, found := strings.Cut(at.Host, ".s3"); found &&
		(strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "-")) {
		bucket, key = name, strings.TrimPrefix(at.Path, "/")
	}
	body, err := s.config.Templates.Object(bucket, key)
	if err != nil {
		return "", validationError("S3 error reading the template s3://%s/%s: %v", bucket, key, err)
	}
	return string(body), nil
}

// checkCapabilities asks for the consent that templates with IAM resources need.
func checkCapabilities(t *template, given []string) error {
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		d := t.Resources[id]
		if !strings.HasPrefix(d.Type, "AWS::IAM::") {
			continue
		}
		named := false
		for _, property := range []string{"RoleName", "ManagedPolicyName", "InstanceProfileName", "UserName", "GroupName"} {
			if _, ok := d.Properties[property]; ok {
				named = true
			}
		}
		if slices.Contains(given, "CAPABILITY_NAMED_IAM") || !named && slices.Contains(given, "CAPABILITY_IAM") {
			continue
		}
		needed := "CAPABILITY_IAM"
		if named {
			needed = "CAPABILITY_NAMED_IAM"
		}
		return wire.Errorf("InsufficientCapabilitiesException", http.StatusBadRequest,
			"Requires capabilities : [%s] (for %s)", needed, id)
	}
	return nil
}

// newStack makes a stack that is not yet entered; the lock is held.
func (s *Service) newStack(in stackInput, at time.Time) *stack {
	s.counts[in.StackName]++
	settled := make(chan struct{})
	close(settled)
	return &stack{
		name: in.StackName, id: s.stackID(in.StackName, s.counts[in.StackName]), created: at, settled: settled,
		resources: map[string]*resource{}, tags: in.tags(), protected: in.EnableTerminationProtection,
		changeSets: map[string]*changeSet{},
	}
}

// tags are the tags of the request; nil keeps those of the stack.
func (in stackInput) tags() map[string]string {
	if in.Tags == nil {
		return nil
	}
	tags := map[string]string{}
	for _, t := range *in.Tags {
		tags[t.Key] = t.Value
	}
	return tags
}

// deploymentOf prepares the deployment that a request asks for.
func (s *Service) deploymentOf(in stackInput, st *stack) (*deployment, error) {
	if err := in.refuse(); err != nil {
		return nil, err
	}
	body, err := s.templateOf(in)
	if err != nil {
		return nil, err
	}
	d, err := s.prepare(st, body)
	if err != nil {
		return nil, validationError("%v", err)
	}
	if err := checkCapabilities(d.template, in.Capabilities); err != nil {
		return nil, err
	}
	return d, nil
}

type stackIDResult struct {
	StackID string `xml:"StackId"`
}

func (s *Service) createStack(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in stackInput
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	if !stackNamePattern.MatchString(in.StackName) {
		return nil, validationError(
			"1 validation error detected: Value '%s' at 'stackName' failed to satisfy constraint: Member must satisfy "+
				"regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*", in.StackName)
	}
	s.mu.Lock()
	existing := s.stacks[in.StackName]
	if existing != nil {
		s.mu.Unlock()
		return nil, wire.Errorf("AlreadyExistsException", http.StatusBadRequest, "Stack [%s] already exists", in.StackName)
	}
	st := s.newStack(in, time.Now())
	s.mu.Unlock()
	d, err := s.deploymentOf(in, st)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.stacks[in.StackName] != nil {
		s.mu.Unlock()
		return nil, wire.Errorf("AlreadyExistsException", http.StatusBadRequest, "Stack [%s] already exists", in.StackName)
	}
	s.stacks[st.name] = st
	s.startCreate(d, in.ClientRequestToken)
	s.mu.Unlock()
	return wire.QueryXML(c, namespace, stackIDResult{st.id})
}

// startCreate begins a creation; the lock is held.
func (s *Service) startCreate(d *deployment, token string) {
	st := d.stack
	st.template, st.body, st.description = d.template, d.body, d.template.Description
	st.begin(createInProgress, "User Initiated", token, time.Now())
	s.work.Go(func() { d.create(s.ctx) })
}

func (s *Service) updateStack(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in stackInput
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	st := s.find(in.StackName)
	s.mu.Unlock()
	if st == nil || !st.deleted.IsZero() {
		return nil, doesNotExist(in.StackName)
	}
	d, err := s.deploymentOf(in, st)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.startUpdate(d, in); err != nil {
		return nil, err
	}
	return wire.QueryXML(c, namespace, stackIDResult{st.id})
}

// startUpdate begins an update; the lock is held.
func (s *Service) startUpdate(d *deployment, in stackInput) error {
	st := d.stack
	if !st.updatable() {
		return validationError("Stack:%s is in %s state and can not be updated.", st.id, st.status)
	}
	tags := in.tags()
	if tags == nil {
		tags = st.tags
	}
	if !d.hasChanges(tags) {
		return validationError("No updates are to be performed.")
	}
	st.tags = tags
	st.updated = time.Now()
	st.begin(updateInProgress, "User Initiated", in.ClientRequestToken, st.updated)
	s.work.Go(func() { d.update(s.ctx) })
	return nil
}

func (s *Service) deleteStack(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		StackName          string
		ClientRequestToken string
		RoleARN            string
	}
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(in.StackName)
	// A stack that does not exist is deleted already.
	if st == nil || !st.deleted.IsZero() {
		return wire.QueryXML(c, namespace, nil)
	}
	if st.inProgress() && st.status != reviewInProgress {
		return nil, validationError("Stack [%s] cannot be deleted while in status %s; wait for its end", st.name, st.status)
	}
	if st.protected {
		return nil, validationError("Stack [%s] cannot be deleted while TerminationProtection is enabled", st.name)
	}
	st.begin(deleteInProgress, "User Initiated", in.ClientRequestToken, time.Now())
	s.work.Go(func() { s.deleteResources(s.ctx, st, deleteComplete, deleteFailed) })
	return wire.QueryXML(c, namespace, nil)
}

// updateTerminationProtection lets a stack be deleted, or not.
func (s *Service) updateTerminationProtection(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		StackName                   string
		EnableTerminationProtection bool
	}
	st, err := s.named(c, &in, &in.StackName)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !st.deleted.IsZero() {
		return nil, doesNotExist(in.StackName)
	}
	st.protected = in.EnableTerminationProtection
	return wire.QueryXML(c, namespace, stackIDResult{st.id})
}

// timestamp is a time as the API shows it, to the millisecond.
type timestamp time.Time

// MarshalXML writes the time in ISO 8601.
func (t timestamp) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if time.Time(t).IsZero() {
		return nil
	}
	return e.EncodeElement(time.Time(t).UTC().Format("2006-01-02T15:04:05.000Z"), start)
}
