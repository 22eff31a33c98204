package logs

import (
	"context"
	"fmt"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

// RegisterTypes registers log groups with CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::Logs::LogGroup", groupType{s})
}

type groupType struct{ service *Service }

type groupProperties struct {
	LogGroupName    string
	LogGroupClass   string
	KmsKeyID        string `json:"KmsKeyId"` // lines are in memory, and never encrypted
	RetentionInDays int
	Tags            []struct{ Key, Value string }
}

func (t groupType) put(r cloudformation.Request, name string, isNew bool) (cloudformation.Result, error) {
	var p groupProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if p.LogGroupName != "" {
		name = p.LogGroupName
	}
	if p.LogGroupClass != "" && p.LogGroupClass != "STANDARD" {
		return cloudformation.Result{},
			fmt.Errorf("log group %s: LogGroupClass is %q; only STANDARD is simulated", name, p.LogGroupClass)
	}
	if err := checkRetention(p.RetentionInDays); err != nil {
		return cloudformation.Result{}, fmt.Errorf("log group %s: %w", name, err)
	}
	tags := map[string]string{}
	for _, tag := range p.Tags {
		tags[tag.Key] = tag.Value
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	switch g := t.service.groups[name]; {
	case g == nil:
		t.service.addGroup(name, p.RetentionInDays, tags)
	case isNew:
		return cloudformation.Result{},
			fmt.Errorf("log group %s %w; delete it, or give another LogGroupName", name, errExists)
	default:
		g.retention, g.tags = p.RetentionInDays, tags
	}
	return cloudformation.Result{PhysicalID: name, Attributes: map[string]any{"Arn": t.service.arn(name) + ":*"}}, nil
}

func (t groupType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, r.GeneratedName, true)
}

func (t groupType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["LogGroupName"] != r.OldProperties["LogGroupName"] {
		return t.Create(ctx, r)
	}
	return t.put(r, r.PhysicalID, false)
}

func (t groupType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	delete(t.service.groups, r.PhysicalID)
	return nil
}
