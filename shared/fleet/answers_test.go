package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// TestTheTableOfErrorCodes holds that each row can be reached, and has what its scope needs.
func TestTheTableOfErrorCodes(t *testing.T) {
	seen := map[[2]string]bool{}
	conditions := []string{
		api.ConditionTypeAMIsReady, api.ConditionTypeSubnetsReady, api.ConditionTypeSecurityGroupsReady,
		api.ConditionTypeInstanceProfileReady, api.ConditionTypePlacementGroupReady, api.ConditionTypeValidationSucceeded,
	}
	for _, row := range answers() {
		codes := row.codes
		if len(codes) == 0 {
			codes = []string{"SomethingNew"}
		}
		name := codes[0] + " " + row.words
		for _, code := range codes {
			if seen[[2]string{code, row.words}] {
				t.Errorf("%s: %s is there twice", name, code)
			}
			seen[[2]string{code, row.words}] = true
			if got, known := answerTo(code, "Because of "+strings.ToUpper(row.words)); !known || got.words != row.words ||
				!slices.Equal(got.codes, row.codes) {
				t.Errorf("%s: %s is answered by the row %q", name, code, got.codes)
			}
			if passing := isPassingCode(code); passing != (row.scope == ofCall) {
				t.Errorf("%s: %s is repeated with the same token: %v", name, code, passing)
			}
		}
		if row.words != strings.ToLower(row.words) {
			t.Errorf("%s: the words are compared in lower case", name)
		}
		if (row.remedy == "") == (row.passes == "") {
			t.Errorf("%s: needs a remedy, or a sentence on why it passes", name)
		}
		for _, text := range []string{row.remedy, row.passes} {
			if strings.HasSuffix(text, ".") || text != "" && !strings.Contains(text, " ") || strings.Contains(text, "  ") {
				t.Errorf("%s: %q is no sentence that a full stop ends", name, text)
			}
		}
		if row.remedy != "" && row.reason == "" {
			t.Errorf("%s: an event needs a reason", name)
		}
		if row.scope.isShortage() != (row.lasts > 0) || row.lasts > time.Hour {
			t.Errorf("%s: lasts %s", name, row.lasts)
		}
		if (row.scope == ofClass) != (row.condition != "") ||
			row.condition != "" && !slices.Contains(conditions, row.condition) {
			t.Errorf("%s: the condition %q", name, row.condition)
		}
		if row.scope.String() == "" || row.effect() == "" {
			t.Errorf("%s: no effect of the scope %d", name, row.scope)
		}
	}
}

// TestEachScopeHasItsEffect sends a code of each row for one override of two.
func TestEachScopeHasItsEffect(t *testing.T) {
	override := launch.Override{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: "subnet-1"}
	request := &launch.Request{
		CapacityType: "spot", Tags: map[string]string{api.NodeClassTagKey: "default"},
		Templates: []launch.Template{{
			Content: nodeclass.LaunchTemplate{ImageID: "ami-1", PlacementGroup: "pg-1"},
			Overrides: []launch.Override{
				override, {InstanceType: "m6i.large", Zone: "us-east-1a", SubnetID: "subnet-1"},
			},
		}},
	}
	keys := map[scope]string{
		ofOffering: "spot:m5.large:us-east-1a:pg-1", ofSuited: "spot:m5.large:us-east-1a:ec2nodeclass/default",
		ofSubnet: "subnet:subnet-1", ofGroupZone: "*:*:us-east-1a:pg-1", ofQuota: "quota:spot:standard",
		ofCapacityType: "spot:*:*", ofRegion: "*:*:*",
	}
	for _, row := range answers() {
		code := append(slices.Clone(row.codes), "SomethingNew")[0]
		short, is := shortage(request, override, "", code, row.words)
		if is != row.scope.isShortage() || short.Key != keys[row.scope] || short.For != row.lasts && is {
			t.Errorf("%s %q: %v %+v, want the key %q", code, row.words, is, short, keys[row.scope])
		}
		if is && (row.remedy != "") != (short.Advice() != "") && row.scope != ofSuited {
			t.Errorf("%s: the advice %q for the remedy %q", code, short.Advice(), row.remedy)
		}
		failure := failureOf(code, row.words)
		if !is && failure.Reason != row.reason || failure.Condition != row.condition {
			t.Errorf("%s %q: %+v", code, row.words, failure)
		}
		var refused refusals
		if refused.add(request, override, "ami-1", failure) != (row.scope == ofClass) {
			t.Errorf("%s %q: is a refusal of the class's override", code, row.words)
		}
	}
}
