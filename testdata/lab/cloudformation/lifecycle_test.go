package cloudformation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/whittle-dev/whittle/testdata/lab/s3"
)

func ref(id string) map[string]any { return map[string]any{"Ref": id} }

func TestFailedCreationRollsBack(t *testing.T) {
	l := start(t, nil)
	st := l.create(t, resources(
		thing("Good", map[string]any{"Name": "good"}),
		thing("Next", map[string]any{"Name": "next", "Of": ref("Good")}),
		thing("Kept", map[string]any{"Name": "kept"}, `,"DeletionPolicy":"Retain"`),
		thing("KeptUnlessNew", map[string]any{"Name": "new"}, `,"DeletionPolicy":"RetainExceptOnCreate"`),
		thing("Bad", map[string]any{"Fail": "create", "Of": []any{ref("Next"), ref("Kept"), ref("KeptUnlessNew")}}),
		thing("Never", map[string]any{"Of": ref("Bad")}),
	))
	wantStatus(t, st, types.StackStatusRollbackComplete)
	if names := strings.Join(l.things.names(), " "); names != "kept" {
		t.Errorf("what is left is %q, want kept", names)
	}
	did := l.things.did()
	if strings.Contains(did, "Never") || strings.Index(did, "delete Next") > strings.Index(did, "delete Good") {
		t.Errorf("what was done: %s", did)
	}
	reasons := l.reasons(t)
	for _, want := range []string{
		"Bad CREATE_FAILED: no capacity",
		"S ROLLBACK_IN_PROGRESS: The following resource(s) failed to create or update: [Bad]. Rollback requested by user.",
	} {
		if !strings.Contains(reasons, want) {
			t.Errorf("the events lack %q:\n%s", want, reasons)
		}
	}
	_, err := l.client.UpdateStack(t.Context(),
		&sdk.UpdateStackInput{StackName: aws.String("S"), TemplateBody: aws.String(resources(thing("A", nil)))})
	wantError(t, err, "ValidationError", "is in ROLLBACK_COMPLETE state and can not be updated")
	l.delete(t)
	wantStatus(t, l.create(t, resources(thing("A", nil))), types.StackStatusCreateComplete)
}

func TestUnknownTypeFailsTheStackByName(t *testing.T) {
	l := start(t, nil)
	st := l.create(t, `{"Resources":{"Table":{"Type":"AWS::DynamoDB::Table","Properties":{}}}}`)
	wantStatus(t, st, types.StackStatusRollbackComplete)
	if reasons := l.reasons(t); !strings.Contains(reasons,
		"Table CREATE_FAILED: resource type AWS::DynamoDB::Table is not simulated by the local AWS; it knows "+
			"AWS::CDK::Metadata") {
		t.Errorf("the events are\n%s", reasons)
	}
}

func TestUpdateDoesNoMoreThanItMust(t *testing.T) {
	l := start(t, nil)
	before := resources(
		thing("Same", map[string]any{"Name": "same"}),
		thing("Changed", map[string]any{"Name": "changed", "Size": 1}),
		thing("Renamed", map[string]any{"Name": "old-name"}),
		thing("Follower", map[string]any{"Name": "follower", "Of": map[string]any{"Fn::GetAtt": []string{"Renamed", "Arn"}}}),
		thing("Removed", map[string]any{"Name": "removed"}),
		thing("RemovedFirst", map[string]any{"Name": "removed-first", "Of": ref("Removed")}),
	)
	wantStatus(t, l.create(t, before), types.StackStatusCreateComplete)
	l.things.did()
	_, err := l.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: aws.String("S"), TemplateBody: &before})
	wantError(t, err, "ValidationError", "No updates are to be performed.")
	st := l.update(t, resources(
		thing("Same", map[string]any{"Name": "same"}),
		thing("Changed", map[string]any{"Name": "changed", "Size": 2}),
		thing("Renamed", map[string]any{"Name": "new-name"}),
		thing("Follower", map[string]any{"Name": "follower", "Of": map[string]any{"Fn::GetAtt": []string{"Renamed", "Arn"}}}),
		thing("Added", map[string]any{"Name": "added"}),
	))
	wantStatus(t, st, types.StackStatusUpdateComplete)
	did := l.things.did()
	for _, want := range []string{
		"update Changed", "create Renamed", "update Follower", "create Added", "delete Renamed",
		"delete RemovedFirst, delete Removed",
	} {
		if !strings.Contains(did, want) {
			t.Errorf("%q is not among what was done: %s", want, did)
		}
	}
	if strings.Contains(did, "Same") || strings.Index(did, "delete") < strings.Index(did, "create Added") {
		t.Errorf("what was done: %s", did)
	}
	if names := strings.Join(l.things.names(), " "); names != "added changed follower new-name same" {
		t.Errorf("the things are %s", names)
	}
	if of := l.things.get("follower")["Of"]; of != "arn:thing/new-name" {
		t.Errorf("the follower has %v", of)
	}
}

func TestFailedUpdateRollsBack(t *testing.T) {
	l := start(t, nil)
	wantStatus(t, l.create(t, resources(
		thing("Changed", map[string]any{"Name": "changed", "Size": 1}),
		thing("Renamed", map[string]any{"Name": "old-name"}),
		thing("Removed", map[string]any{"Name": "removed"}),
		thing("Bad", map[string]any{"Name": "bad"}),
	)), types.StackStatusCreateComplete)
	l.things.did()
	st := l.update(t, resources(
		thing("Changed", map[string]any{"Name": "changed", "Size": 2}),
		thing("Renamed", map[string]any{"Name": "new-name"}),
		thing("Added", map[string]any{"Name": "added"}),
		thing("Bad", map[string]any{
			"Name": "bad", "Fail": "update", "Of": []any{ref("Changed"), ref("Renamed"), ref("Added")},
		}),
	))
	wantStatus(t, st, types.StackStatusUpdateRollbackComplete)
	if names := strings.Join(l.things.names(), " "); names != "bad changed old-name removed" {
		t.Errorf("the things are %s after %s", names, l.things.did())
	}
	if size := l.things.get("changed")["Size"]; size != 1.0 {
		t.Errorf("the changed thing has size %v, want 1", size)
	}
	if reasons := l.reasons(t); !strings.Contains(reasons, "Bad UPDATE_FAILED: cannot change") {
		t.Errorf("the events are\n%s", reasons)
	}
	// The stack is unchanged: the same template changes nothing, and a new one updates it.
	wantStatus(t, l.update(t, resources(thing("Changed", map[string]any{"Name": "changed", "Size": 3}))),
		types.StackStatusUpdateComplete)
	if names := strings.Join(l.things.names(), " "); names != "changed" {
		t.Errorf("the things are %s", names)
	}
}

func TestDeletionInReverseOrder(t *testing.T) {
	l := start(t, nil)
	wantStatus(t, l.create(t, resources(
		thing("A", map[string]any{"Name": "a"}), thing("B", map[string]any{"Of": ref("A")}),
		thing("C", nil, `,"DependsOn":"B"`), thing("K", map[string]any{"Name": "k"}, `,"DeletionPolicy":"Retain"`),
	)), types.StackStatusCreateComplete)
	l.things.did()
	l.delete(t)
	if did := l.things.did(); did != "delete C, delete B, delete A" {
		t.Errorf("what was done: %s", did)
	}
	if names := strings.Join(l.things.names(), " "); names != "k" {
		t.Errorf("what is left is %s, want k", names)
	}
	if _, err := l.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: aws.String("S")}); err != nil {
		t.Errorf("deleting what is gone: %v", err)
	}
}

func TestFailedDeletionKeepsNeededResources(t *testing.T) {
	l := start(t, nil)
	wantStatus(t, l.create(t, resources(thing("A", map[string]any{"Name": "a"}),
		thing("B", map[string]any{"Name": "b", "Of": ref("A"), "Fail": "delete"}), thing("C", map[string]any{"Name": "c"}))),
		types.StackStatusCreateComplete)
	if _, err := l.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: aws.String("S")}); err != nil {
		t.Fatal(err)
	}
	st := l.settled(t)
	wantStatus(t, st, types.StackStatusDeleteFailed)
	if !strings.Contains(*st.StackStatusReason, "resource B could not be deleted: still in use") {
		t.Errorf("the reason is %s", *st.StackStatusReason)
	}
	if names := strings.Join(l.things.names(), " "); names != "a b" {
		t.Errorf("what is left is %s, want a b", names)
	}
}

func TestIAMTemplatesNeedConsentAndWork(t *testing.T) {
	l := start(t, nil)
	template := `{"Resources":{
	  "Role":{"Type":"AWS::IAM::Role","Properties":{"AssumeRolePolicyDocument":{"Statement":[{"Effect":"Allow",
	    "Action":"sts:AssumeRole","Principal":{"Service":"ec2.amazonaws.com"}}]},
	    "Policies":[{"PolicyName":"p","PolicyDocument":{"Statement":[{"Effect":"Allow","Action":"sqs:*",
	      "Resource":"*"}]}}]}},
	  "Profile":{"Type":"AWS::IAM::InstanceProfile","Properties":{"Roles":[{"Ref":"Role"}]}}}}`
	_, err := l.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: aws.String("S"), TemplateBody: &template})
	wantError(t, err, "InsufficientCapabilitiesException", "CAPABILITY_IAM")
	wantStatus(t, l.create(t, template), types.StackStatusCreateComplete)
	out, err := l.client.DescribeStackResources(t.Context(), &sdk.DescribeStackResourcesInput{StackName: aws.String("S")})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range out.StackResources {
		name := *r.PhysicalResourceId
		if strings.Contains(name, "S-"+*r.LogicalResourceId+"-") == false {
			t.Errorf("%s is named %s", *r.LogicalResourceId, name)
		}
	}
	l.delete(t)
}

func TestTemplateByURL(t *testing.T) {
	l := start(t, nil)
	bucket := s3.BootstrapBucket("hnb659fds", "123456789012", "us-east-1")
	if err := l.objects.Put(bucket, "deep/t.json",
		[]byte(resources(thing("A", map[string]any{"Name": "a"})))); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		"https://s3.us-east-1.amazonaws.com/" + bucket + "/deep/t.json",
		"https://" + bucket + ".s3.us-east-1.amazonaws.com/deep/t.json",
	} {
		if _, err := l.client.CreateStack(t.Context(),
			&sdk.CreateStackInput{StackName: aws.String("S"), TemplateURL: &address}); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, l.settled(t), types.StackStatusCreateComplete)
		l.delete(t)
	}
	_, err := l.client.CreateStack(t.Context(),
		&sdk.CreateStackInput{
			StackName: aws.String("S"), TemplateURL: aws.String("https://s3.amazonaws.com/" + bucket + "/none"),
		})
	wantError(t, err, "ValidationError", "NoSuchKey")
}

func TestEventsArePagedNewestFirst(t *testing.T) {
	l := start(t, nil)
	var list []string
	for i := range 60 {
		list = append(list, thing("T"+string(rune('A'+i/26))+string(rune('A'+i%26)), nil))
	}
	wantStatus(t, l.create(t, resources(list...)), types.StackStatusCreateComplete)
	pages := sdk.NewDescribeStackEventsPaginator(l.client, &sdk.DescribeStackEventsInput{StackName: aws.String("S")})
	var last time.Time
	seen := map[string]bool{}
	count := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count++
		for _, e := range page.StackEvents {
			if seen[*e.EventId] || !last.IsZero() && !e.Timestamp.Before(last) {
				t.Fatalf("event %s at %s comes after one of %s", *e.EventId, e.Timestamp, last)
			}
			seen[*e.EventId], last = true, *e.Timestamp
		}
	}
	if len(seen) != 122 || count != 2 {
		t.Errorf("got %d events on %d pages, want 122 on 2", len(seen), count)
	}
}
