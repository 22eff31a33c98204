package crash

import (
	"slices"
	"testing"
)

func TestWhatIsAllowedAndNotCalledIsListed(t *testing.T) {
	story := &Story{Function: "ticker", Name: "a minute"}
	missed, err := Unreached("../../..", []*Row{{Story: story, Names: map[string]bool{"sqs:SendMessageBatch": true}}})
	if err != nil || len(missed) > 0 {
		t.Errorf("missed %v, %v", missed, err)
	}
	story = &Story{Function: "catalog", Name: "an hour later"}
	missed, err = Unreached("../../..", []*Row{{Story: story, Names: map[string]bool{"GET configmaps whittle-catalog": true, "pricing:GetProducts": true}}})
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]bool{
		"catalog GET configmaps": false, "catalog pricing:GetProducts": false, "catalog logs:PutLogEvents": false,
		"catalog POST configmaps": true, "catalog ec2:DescribeInstanceTypes": true, "catalog eks:GET clusters": true,
	} {
		if slices.Contains(missed, call) != want {
			t.Errorf("%s is listed: %t, want %t, in %v", call, !want, want, missed)
		}
	}
}
