package wire

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// TestTextsThatAWSRefuses has calls of both protocols, as functions make them.
func TestTextsThatAWSRefuses(t *testing.T) {
	form := func(pairs ...string) url.Values {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return values
	}
	for name, test := range map[string]struct {
		call Call
		code string
	}{
		"a profile":              {Call{Service: "iam", Form: form("InstanceProfileName", "prod_1234")}, ""},
		"a profile with a colon": {Call{Service: "iam", Form: form("InstanceProfileName", "prod:1")}, "ValidationError"},
		"a long profile": {
			Call{Service: "iam", Form: form("InstanceProfileName", strings.Repeat("p", 129))}, "ValidationError",
		},
		"a tag of a profile": {
			Call{Service: "iam", Form: form("Tags.member.1.Key", "a;b", "Tags.member.1.Value", "x")}, "ValidationError",
		},
		"the same tag at EC2": {Call{Service: "ec2", Form: form("TagSpecification.1.Tag.2.Key", "a;b")}, ""},
		"a long tag at EC2": {
			Call{Service: "ec2", Form: form("TagSpecification.1.Tag.2.Key", strings.Repeat("ü", 129))}, "InvalidParameterValue",
		},
		"a template's name": {
			Call{Service: "ec2", Form: form("LaunchTemplateName", "a name")}, "InvalidLaunchTemplateName.MalformedException",
		},
		"a message": {Call{Service: "sqs", Body: []byte(`{"Entries":[{"Id":"0","MessageBody":"any: text"}]}`)}, ""},
		"a message's id": {
			Call{Service: "sqs", Body: []byte(`{"Entries":[{"Id":"0"},{"Id":"a b"}]}`)},
			"AWS.SimpleQueueService.InvalidBatchEntryId",
		},
		"a bus": {Call{Service: "events", Body: []byte(
			`{"Entries":[{"EventBusName":"arn:aws:events:us-east-1:123456789012:event-bus/shared","DetailType":"Node Ready"}]}`)}, ""},
		"a bus with a space": {
			Call{Service: "events", Body: []byte(`{"Entries":[{"EventBusName":"my bus"}]}`)}, "ValidationException",
		},
		"an empty parameter": {Call{Service: "ssm", Body: []byte(`{"Names":["/a",""]}`)}, "ValidationException"},
		"no JSON":            {Call{Service: "ssm", Body: []byte(`{`)}, ""},
		"another service":    {Call{Service: "pricing", Body: []byte(`{"Name":""}`)}, ""},
	} {
		err := checkTexts(&test.call)
		var refusal *Error
		code := ""
		if errors.As(err, &refusal) {
			code = refusal.Code
		}
		if code != test.code || err != nil && test.code == "" {
			t.Errorf("%s: %v, want %q", name, err, test.code)
		}
	}
}
