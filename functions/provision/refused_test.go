package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/shared/api"
)

func TestWhatAPersonMustMendIsSaidWhereItIs(t *testing.T) {
	for _, test := range []struct {
		code, reason, says string
		condition          string // of the class
	}{
		{"InvalidSubnetID.NotFound", "SubnetResolutionFailed", "spec.subnetSelectorTerms", api.ConditionTypeSubnetsReady},
		{"InvalidAMIID.NotFound", "AMINotFound", "spec.amiSelectorTerms", api.ConditionTypeAMIsReady},
		{"UnauthorizedOperation", "Unauthorized", "right", api.ConditionTypeValidationSucceeded},
		{"PendingVerification", "AccountPendingVerification", "verifying", ""},
	} {
		t.Run(test.code, func(t *testing.T) {
			e := newEnvironment(t)
			e.ec2.Starve(ec2.Starvation{Code: test.code})
			e.equal(2)
			first := e.handler(alive())
			first.classes.DryRun = true // which finds out that what was refused is allowed
			if _, err := first.handle(t.Context(), tick("1")); err == nil {
				t.Error("nobody is told that EC2 refused the launch")
			}
			claims := e.standing()
			if len(claims) != 2 || len(e.instances()) != 0 {
				t.Fatalf("%d claims, %d instances", len(claims), len(e.instances()))
			}
			told := 0
			for _, claim := range claims {
				launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched)
				if launched == nil || launched.Status != metav1.ConditionUnknown || launched.Reason != test.reason || !strings.Contains(launched.Message, test.says) {
					t.Errorf("claim %s: %+v", claim.Name, launched)
				}
				told += len(e.events(claim.Name, test.reason))
			}
			if told != 1 {
				t.Errorf("%d events, want one for the batch", told)
			}
			classes, err := e.client.NodeClasses(t.Context())
			e.try(err)
			if test.condition != "" {
				condition := api.GetCondition(classes[0].Status.Conditions, test.condition)
				if condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, test.says) || api.ConditionTrue(classes[0].Status.Conditions, api.ConditionReady) {
					t.Errorf("class: %+v", classes[0].Status.Conditions)
				}
			} else if !api.ConditionTrue(classes[0].Status.Conditions, api.ConditionReady) {
				t.Errorf("class: %+v", classes[0].Status.Conditions)
			}
			// Once it is mended the same claims are launched, still as one batch.
			e.ec2.Feed("", "", "")
			tap := &wiretap{}
			second := e.tapped(tap)
			second.classes.DryRun = true
			if _, err := second.handle(t.Context(), tick("2")); err != nil {
				t.Fatal(err)
			}
			e.nodes(2)
			if tap.counts["CreateFleet"] != 1 || !strings.HasSuffix(tap.fleets[0].token, "-2") {
				t.Errorf("calls %v, fleets %+v", tap.counts, tap.fleets)
			}
		})
	}
}

func TestAttemptsThatFailComeSlower(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{Code: "InvalidParameterValue"})
	e.pod("one", "1", nil)
	tap := &wiretap{}
	h := e.tapped(tap)
	began := time.Now()
	for second := 0; second < 240; second += 10 {
		h.now = func() time.Time { return began.Add(time.Duration(second) * time.Second) }
		batch := tick("1")
		batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"launch"`, 1)
		_, _ = h.handle(t.Context(), batch) // refused each time it is tried
	}
	if calls := tap.counts["CreateFleet"]; calls != 5 {
		t.Errorf("%d calls in four minutes of passes each ten seconds, want five", calls)
	}
}

func TestASpotRoleThatIsMissingIsToldWithItsMend(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{CapacityType: "spot", Code: "AuthFailure.ServiceLinkedRoleCreationNotPermitted"})
	e.pod("one", "1", nil)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	e.oneNode()
	if bought := e.instances()[0].CapacityType; bought != "on-demand" {
		t.Errorf("bought %s", bought)
	}
	told := strings.Join(e.events("default", "SpotSLRCreationFailed"), "\n")
	if !strings.Contains(told, "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com") {
		t.Errorf("the pool is told %q", told)
	}
}

func TestALaunchTemplateThatIsGoneIsMadeAnew(t *testing.T) {
	e := newEnvironment(t)
	h := e.handler(alive())
	e.pod("one", "1", nil)
	if _, err := h.handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	e.forgetTemplates()
	e.pod("two", "15", nil)
	if _, err := h.handle(t.Context(), tick("2")); err != nil {
		t.Fatal(err)
	}
	e.nodes(2)
}
