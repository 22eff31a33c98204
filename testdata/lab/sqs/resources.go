package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// RegisterTypes registers AWS::SQS::Queue (Ref is the URL) and AWS::SQS::QueuePolicy with
// CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::SQS::Queue", queueType{s})
	stacks.RegisterType("AWS::SQS::QueuePolicy", queuePolicyType{s})
}

type queueType struct{ service *Service }

// queueProperties has the supported properties of a queue. Any other fails the stack by name.
type queueProperties struct {
	QueueName                     string
	DelaySeconds                  string
	MessageRetentionPeriod        string
	ReceiveMessageWaitTimeSeconds string
	VisibilityTimeout             string
	RedrivePolicy                 map[string]any
	SqsManagedSseEnabled          string
	// Messages are in memory, and never encrypted. Nobody reads the tags.
	KmsMasterKeyID string `json:"KmsMasterKeyId"`
	Tags           []struct{ Key, Value string }
}

func (p queueProperties) attributes() (map[string]string, error) {
	all := map[string]string{}
	for name, value := range map[string]string{
		"DelaySeconds":                  p.DelaySeconds,
		"MessageRetentionPeriod":        p.MessageRetentionPeriod,
		"ReceiveMessageWaitTimeSeconds": p.ReceiveMessageWaitTimeSeconds, "VisibilityTimeout": p.VisibilityTimeout,
		"SqsManagedSseEnabled": p.SqsManagedSseEnabled,
	} {
		if value != "" {
			all[name] = value
		}
	}
	if p.RedrivePolicy != nil {
		text, err := json.Marshal(p.RedrivePolicy)
		if err != nil {
			return nil, fmt.Errorf("RedrivePolicy: %w", err)
		}
		all["RedrivePolicy"] = string(text)
	}
	return all, nil
}

func (t queueType) result(url string) (cloudformation.Result, error) {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	q, err := t.service.find(url)
	if err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{
		PhysicalID: url, Attributes: map[string]any{"Arn": q.arn, "QueueName": q.name, "QueueUrl": url},
	}, nil
}

func (t queueType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	var p queueProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	attributes, err := p.attributes()
	if err != nil {
		return cloudformation.Result{}, err
	}
	name := p.QueueName
	if name == "" {
		name = cloudformation.GeneratedName(r, 80)
	}
	if _, err := t.service.Attributes(name); err == nil {
		return cloudformation.Result{},
			fmt.Errorf("queue %q: %w; choose another QueueName or delete it", name, errQueueExists)
	}
	url, err := t.service.CreateQueue(name, attributes)
	if err != nil {
		return cloudformation.Result{}, err
	}
	return t.result(url)
}

func (t queueType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	var p queueProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if r.Properties["QueueName"] != r.OldProperties["QueueName"] {
		return t.Create(ctx, r)
	}
	attributes, err := p.attributes()
	if err != nil {
		return cloudformation.Result{}, err
	}
	settings := defaultAttributes()
	for name, value := range attributes {
		if err := settings.set(name, value); err != nil {
			return cloudformation.Result{}, err
		}
	}
	t.service.mu.Lock()
	q, err := t.service.find(r.PhysicalID)
	if err == nil {
		// The policy belongs to another resource.
		settings.policy, settings.policyText = q.attributes.policy, q.attributes.policyText
		q.attributes = settings
	}
	t.service.mu.Unlock()
	if err != nil {
		return cloudformation.Result{}, err
	}
	return t.result(r.PhysicalID)
}

func (t queueType) Delete(_ context.Context, r cloudformation.Request) error {
	if err := t.service.DeleteQueue(r.PhysicalID); err != nil && !errors.Is(err, ErrNoQueue) {
		return err
	}
	return nil
}

type queuePolicyType struct{ service *Service }

type queuePolicyProperties struct {
	PolicyDocument map[string]any
	Queues         []string
}

func (t queuePolicyType) set(properties map[string]any) error {
	var p queuePolicyProperties
	if err := cloudformation.Decode(properties, &p); err != nil {
		return err
	}
	if len(p.Queues) == 0 || p.PolicyDocument == nil {
		return errors.New("a queue policy needs PolicyDocument and at least one of Queues")
	}
	text, err := json.Marshal(p.PolicyDocument)
	if err != nil {
		return fmt.Errorf("PolicyDocument: %w", err)
	}
	for _, queue := range p.Queues {
		if err := t.service.SetAttributes(queue, map[string]string{"Policy": string(text)}); err != nil {
			return err
		}
	}
	return nil
}

func (t queuePolicyType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return cloudformation.Result{PhysicalID: r.GeneratedName, Attributes: map[string]any{"Id": r.GeneratedName}},
		t.set(r.Properties)
}

func (t queuePolicyType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if err := t.Delete(ctx, cloudformation.Request{Properties: r.OldProperties}); err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{PhysicalID: r.PhysicalID, Attributes: map[string]any{"Id": r.PhysicalID}},
		t.set(r.Properties)
}

func (t queuePolicyType) Delete(_ context.Context, r cloudformation.Request) error {
	queues, _ := r.Properties["Queues"].([]any)
	for _, queue := range queues {
		url, _ := queue.(string)
		if err := t.service.SetAttributes(url, map[string]string{"Policy": ""}); err != nil && !errors.Is(err, ErrNoQueue) {
			return err
		}
	}
	return nil
}

// nameOf is the last part of a queue's ARN or URL.
func nameOf(reference string) string { return reference[strings.LastIndexAny(reference, "/:")+1:] }
