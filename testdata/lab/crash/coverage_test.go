package crash

import (
	"slices"
	"testing"
)

func TestUnreachedListsCallsThatNoScenarioMakes(t *testing.T) {
	scenario := &Scenario{Function: "ticker", Name: "a minute"}
	missed, err := Unreached("../../..",
		[]*Row{{Scenario: scenario, Names: map[string]bool{"sqs:SendMessageBatch": true}}})
	if err != nil || len(missed) > 0 {
		t.Errorf("missed %v, %v", missed, err)
	}
	scenario = &Scenario{Function: "catalog", Name: "an hour later"}
	missed, err = Unreached("../../..",
		[]*Row{
			{Scenario: scenario, Names: map[string]bool{"GET configmaps whittle-catalog": true, "pricing:GetProducts": true}},
		})
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
