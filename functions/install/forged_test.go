package install

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"
)

// TestRemovalIsOrdered holds that an event without the id of this installation removes nothing,
// unless it says by a field of its own that it means to.
func TestRemovalIsOrdered(t *testing.T) {
	complete(t, "before")
	i := newInstallation(t)
	for _, test := range []struct {
		name, id string
		property any
		fails    bool
	}{
		{"no id", "", nil, true},
		{"no id, and another cluster", "", "staging", true},
		{"no id, and another type", "", true, true},
		{"another installation", "whittle-install-staging", nil, false},
		{"another installation, ordered", "whittle-install-staging", "prod", false},
		{"a failed installation", "whittle-install-prod-failed", nil, false},
	} {
		event := cfn.Event{RequestType: cfn.RequestDelete, PhysicalResourceID: test.id}
		if test.property != nil {
			event.ResourceProperties = map[string]any{"RemoveRightsOf": test.property}
		}
		_, err := i.Handle(t.Context(), event)
		if (err != nil) != test.fails || err != nil && !strings.Contains(err.Error(), `"RemoveRightsOf": "prod"`) {
			t.Errorf("%s: %v", test.name, err)
		}
		if lacks := missing(t, installed(t)); len(lacks) > 0 {
			t.Fatalf("%s: removed %q", test.name, lacks)
		}
	}
	event := cfn.Event{
		RequestType: cfn.RequestDelete, ResourceProperties: map[string]any{"RemoveRightsOf": "prod"},
	}
	if _, err := i.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if lacks := missing(t, installed(t)); len(lacks) != len(installed(t))-1 {
		t.Errorf("after the order the cluster lacks %q, want all but the namespace", lacks)
	}
}

func TestAnswersGoToCloudFormationOnly(t *testing.T) {
	const local = "http://127.0.0.1:4566"
	for _, given := range []string{
		"https://cloudformation-custom-resource-response-useast1.s3.amazonaws.com/arn%3Aaws?X-Amz-Signature=a",
		"https://cloudformation-custom-resource-response-euwest3.s3.eu-west-3.amazonaws.com/a",
		"https://cloudformation-custom-resource-response-apsoutheast2.s3-ap-southeast-2.amazonaws.com:443/a",
		"https://cloudformation-custom-resource-response-usgovwest1.s3.us-gov-west-1.amazonaws.com/a",
		"https://cloudformation-custom-resource-response-cnnorth1.s3.cn-north-1.amazonaws.com.cn/a",
		"https://bucket.s3.us-iso-east-1.c2s.ic.gov/a", "https://bucket.s3.us-isob-east-1.sc2s.sgov.gov/a",
		"https://s3.dualstack.us-east-1.amazonaws.com/bucket/a",
		local + "/cloudformation/a",
	} {
		if err := checkAnswerURL(given, local); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
	for _, given := range []string{
		"http://bucket.s3.amazonaws.com/a", "https://example.com/", "https://bucket.s3.amazonaws.com.example.com/",
		"https://s3.amazonaws.com@example.com/", "https://user@bucket.s3.amazonaws.com/",
		"https://ec2-203-0-113-1.compute-1.amazonaws.com/", "https://s3-1234.us-east-1.elb.amazonaws.com/",
		"https://xs3.amazonaws.com/", "https://bucket.s3.amazonaws.com:8443/", "https://127.0.0.1:4566/", "file:///a", "://",
		"https://169.254.169.254/latest", "http://127.0.0.1:4567/cloudformation/a",
	} {
		if err := checkAnswerURL(given, local); err == nil {
			t.Errorf("%s is accepted", given)
		}
		if err := checkAnswerURL(given, ""); err == nil {
			t.Errorf("%s is accepted without an endpoint", given)
		}
	}
	if err := checkAnswerURL(local+"/a", ""); err == nil {
		t.Error("the local AWS is accepted where none is set")
	}
}

// TestAForeignAnswerDoesNothing orders a removal whose answer goes elsewhere.
func TestAForeignAnswerDoesNothing(t *testing.T) {
	i := newInstallation(t)
	i.connection = failing{errors.New("the cluster was asked")}
	event := deletion
	event.ResponseURL = "https://example.com/collect"
	if _, err := i.Handle(t.Context(), event); err == nil || !strings.Contains(err.Error(), "https://example.com is not an "+
		"address of S3") {
		t.Errorf("error is %v", err)
	}
}
