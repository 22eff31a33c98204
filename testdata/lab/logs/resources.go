package logs

import (
	"context"
	"fmt"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// RegisterTypes registers log groups and saved queries with CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::Logs::LogGroup", groupType{s})
	stacks.RegisterType("AWS::Logs::QueryDefinition", queryType{s})
}

// queryType checks saved queries of Logs Insights and keeps nothing: nobody can run them here.
type queryType struct{ service *Service }

func (t queryType) put(r cloudformation.Request) error {
	var p struct {
		Name, QueryString string
		LogGroupNames     []string
	}
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return err
	}
	if p.Name == "" || p.QueryString == "" {
		return fmt.Errorf("query %q: Name and QueryString are required", p.Name)
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	for _, group := range p.LogGroupNames {
		if t.service.groups[group] == nil {
			return fmt.Errorf("query %s: there is no log group %s", p.Name, group)
		}
	}
	return nil
}

func (t queryType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return cloudformation.Result{PhysicalID: r.GeneratedName}, t.put(r)
}

func (t queryType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return cloudformation.Result{PhysicalID: r.PhysicalID}, t.put(r)
}

func (t queryType) Delete(context.Context, cloudformation.Request) error { return nil }

type groupType struct{ service *Service }

type groupProperties struct {
	LogGroupName    string
	LogGroupClass   string
	KmsKeyID        string `json:"KmsKeyId"` // lines are in memory, and never encrypted
	RetentionInDays int
	Tags            []struct{ Key, Value string } // nobody reads them
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
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	switch g := t.service.groups[name]; {
	case g == nil:
		t.service.addGroup(name, p.RetentionInDays)
	case isNew:
		return cloudformation.Result{},
			fmt.Errorf("log group %s already exists; delete it, or give another LogGroupName", name)
	default:
		g.retention = p.RetentionInDays
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
