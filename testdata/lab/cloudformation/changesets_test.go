package cloudformation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// propose makes the change set "C" of the stack "S", and returns its changes as text.
func (l *local) propose(
	t *testing.T, kind types.ChangeSetType, template string,
) (*sdk.DescribeChangeSetOutput, string) {
	t.Helper()
	_, err := l.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
		StackName: aws.String("S"), ChangeSetName: aws.String("C"), ChangeSetType: kind, TemplateBody: &template,
	})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := &sdk.DescribeChangeSetInput{StackName: aws.String("S"), ChangeSetName: aws.String("C")}
	for {
		found, err := l.client.DescribeChangeSet(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found.Changes {
			lines = append(lines, fmt.Sprint(one.ResourceChange.Action, " ", *one.ResourceChange.LogicalResourceId))
		}
		if found.NextToken == nil {
			return found, strings.Join(lines, ", ")
		}
		in.NextToken = found.NextToken
	}
}

func (l *local) execute(t *testing.T) error {
	t.Helper()
	_, err := l.client.ExecuteChangeSet(t.Context(), &sdk.ExecuteChangeSetInput{
		StackName: aws.String("S"), ChangeSetName: aws.String("C"),
	})
	return err
}

// TestChangeSets creates and updates a stack, and proposes what changes nothing.
func TestChangeSets(t *testing.T) {
	l := start(t, nil)
	first := resources(thing("A", map[string]any{"Name": "a"}), thing("B", map[string]any{"Name": "b"}))
	found, changes := l.propose(t, types.ChangeSetTypeCreate, first)
	if changes != "Add A, Add B" || found.Status != types.ChangeSetStatusCreateComplete {
		t.Errorf("%s with the changes %s", found.Status, changes)
	}
	wantStatus(t, l.settled(t), types.StackStatusReviewInProgress)
	if done := l.things.did(); done != "" {
		t.Errorf("a proposal did %s", done)
	}
	if err := l.execute(t); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, l.settled(t), types.StackStatusCreateComplete)
	wantError(t, l.execute(t), "ChangeSetNotFound", "C")

	second := resources(thing("A", map[string]any{"Name": "a", "Size": 2}), thing("D", map[string]any{"Name": "d"}))
	if _, changes := l.propose(t, types.ChangeSetTypeUpdate, second); changes != "Modify A, Remove B, Add D" {
		t.Errorf("the changes are %s", changes)
	}
	if err := l.execute(t); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, l.settled(t), types.StackStatusUpdateComplete)
	if names := strings.Join(l.things.names(), " "); names != "a d" {
		t.Errorf("the things are %s", names)
	}

	found, _ = l.propose(t, types.ChangeSetTypeUpdate, second)
	if found.Status != types.ChangeSetStatusFailed || !strings.Contains(*found.StatusReason, "didn't contain changes") {
		t.Errorf("a proposal without changes is %s", found.Status)
	}
	wantError(t, l.execute(t), "InvalidChangeSetStatus", "FAILED")
}

// TestChangeSetsHavePages reads more changes than one answer has.
func TestChangeSetsHavePages(t *testing.T) {
	l := start(t, nil)
	var all []string
	for i := range 120 {
		all = append(all, thing(fmt.Sprintf("T%03d", i), nil))
	}
	if _, changes := l.propose(t, types.ChangeSetTypeCreate, resources(all...)); strings.Count(changes, "Add T") != 120 {
		t.Errorf("the changes are %s", changes)
	}
}

// TestChangeSetsAreRefused is about stacks and change sets that do not fit.
func TestChangeSetsAreRefused(t *testing.T) {
	l := start(t, nil)
	create := func(stack, set string, kind types.ChangeSetType) error {
		_, err := l.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: &set, ChangeSetType: kind, TemplateBody: aws.String(resources(thing("A", nil))),
		})
		return err
	}
	wantError(t, create("S", "C", types.ChangeSetTypeUpdate), "ValidationError", "does not exist")
	if err := create("S", "C", types.ChangeSetTypeCreate); err != nil {
		t.Fatal(err)
	}
	wantError(t, create("S", "C", types.ChangeSetTypeCreate), "AlreadyExistsException", "C")
	wantError(t, create("S", "C2", types.ChangeSetTypeUpdate), "ValidationError", "REVIEW_IN_PROGRESS")
	if err := l.execute(t); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, l.settled(t), types.StackStatusCreateComplete)
	wantError(t, create("S", "C", types.ChangeSetTypeCreate), "ValidationError", "already exists")
}
