package fleet_test

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// TestDeniedTypesAreLeftOut holds that the denial of some instance types is about these, and that the
// denial of all is about the class. The requests allow m5.large and m6i.large in two zones.
func TestDeniedTypesAreLeftOut(t *testing.T) {
	for _, test := range []struct {
		name, denied, full string
		// launched says that there is an instance, and short how many offerings are left out.
		launched  bool
		short     int
		condition string
	}{
		{name: "the other has room", denied: "m5.large", launched: true},
		{name: "the other is full", denied: "m5.large", full: "m6i.large", short: 4},
		{name: "all are denied", denied: "*", condition: "ValidationSucceeded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAccount(t)
			request := a.request(t, "claim-1")
			a.service.Starve(ec2.Starvation{InstanceType: test.denied, Code: "UnauthorizedOperation"})
			if test.full != "" {
				a.service.Starve(ec2.Starvation{InstanceType: test.full})
			}
			outcome, err := fleet.New(a.ec2, "prod").Launch(t.Context(), request)
			if len(outcome.Instances) > 0 != test.launched || len(outcome.Short) != test.short {
				t.Errorf("launched %+v, left out %+v", outcome.Instances, outcome.Short)
			}
			if failure := fleet.FailureIn(err); (failure != nil) != (test.condition != "") ||
				failure != nil && failure.Condition != test.condition {
				t.Errorf("got %v", err)
			}
			advised := 0
			for _, short := range outcome.Short {
				if short.Code != "UnauthorizedOperation" {
					continue
				}
				if !strings.HasSuffix(short.Key, ":ec2nodeclass/default") {
					t.Errorf("leaves out %q, for all classes", short.Key)
				}
				if advice := short.Advice(); advice != "" {
					advised++
					if short.Reason() != "Unauthorized" || !strings.Contains(advice, "EC2 denies m5.large: You are not authorized") ||
						!strings.Contains(advice, "decode-authorization-message") {
						t.Errorf("%s: %s", short.Reason(), advice)
					}
				}
			}
			if want := min(test.short, 1); advised != want {
				t.Errorf("%d denials have an advice, want %d", advised, want)
			}
		})
	}
}

// TestADeniedTypeAloneIsNotTheClass holds that a claim of one type does not refuse the class.
func TestADeniedTypeAloneIsNotTheClass(t *testing.T) {
	a := newAccount(t)
	request := a.request(t, "claim-1")
	for i := range request.Templates {
		template := &request.Templates[i]
		template.Overrides = template.Overrides[:0:0]
	}
	for _, override := range a.request(t, "claim-1").Templates[0].Overrides {
		if override.InstanceType == "m5.large" {
			request.Templates[0].Overrides = append(request.Templates[0].Overrides, override)
		}
	}
	a.service.Starve(ec2.Starvation{InstanceType: "m5.large", Code: "UnauthorizedOperation"})
	outcome, err := fleet.New(a.ec2, "prod").Launch(t.Context(), request)
	if err != nil || len(outcome.Short) != 2 {
		t.Errorf("%+v, %v", outcome.Short, err)
	}
}

// TestOneImageKeepsNoOtherFromLaunching holds that a fault of one of the class's images, or of some of
// its offerings, is about these. The first request allows m5.large and m6i.large in two zones.
func TestOneImageKeepsNoOtherFromLaunching(t *testing.T) {
	for _, test := range []struct {
		name    string
		other   bool
		refused []ec2.Starvation
		// short is how many offerings are left out for the class.
		short             int
		condition, advice string
	}{
		{
			name: "the class's only image", refused: []ec2.Starvation{{Code: "InvalidAMIID.NotFound"}},
			condition: "AMIsReady",
		},
		{
			name: "one of two images", other: true, refused: []ec2.Starvation{{Code: "InvalidAMIID.NotFound"}},
			short: 4, advice: "EC2 refuses m5.large, m6i.large: ",
		},
		{
			name: "a tag that every type has", other: true, refused: []ec2.Starvation{{Code: "TagPolicyViolation"}},
			condition: "ValidationSucceeded",
		},
		{
			name: "EC2 takes the other type, and lacks it",
			refused: []ec2.Starvation{
				{InstanceType: "m5.large", Code: "InvalidBlockDeviceMapping"}, {InstanceType: "m6i.large"},
			},
			short: 2, advice: "EC2 refuses m5.large: ",
		},
		{
			name: "the quota of the other type says nothing of the class",
			refused: []ec2.Starvation{
				{InstanceType: "m5.large", Code: "InvalidBlockDeviceMapping"},
				{InstanceType: "m6i.large", Code: "MaxSpotInstanceCountExceeded"},
			},
			condition: "ValidationSucceeded",
		},
		{
			name:    "more volumes than the types take",
			refused: []ec2.Starvation{{Code: "AttachmentLimitExceeded"}},
			short:   4, advice: "spec.blockDeviceMappings",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := newAccount(t)
			request := a.request(t, "claim-1")
			request.OtherImages = test.other
			for _, refused := range test.refused {
				a.service.Starve(refused)
			}
			outcome, err := fleet.New(a.ec2, "prod").Launch(t.Context(), request)
			condition := ""
			if failure := fleet.FailureIn(err); failure != nil {
				condition = failure.Condition
			}
			if condition != test.condition {
				t.Errorf("got %v, want the condition %q", err, test.condition)
			}
			short, advice := 0, ""
			for _, left := range outcome.Short {
				if left.Refused && strings.HasSuffix(left.Key, ":ec2nodeclass/default") {
					short++
					advice += left.Advice()
				}
			}
			if short != test.short || !strings.Contains(advice, test.advice) {
				t.Errorf("%d left out with the advice %q: %+v", short, advice, outcome.Short)
			}
		})
	}
}
