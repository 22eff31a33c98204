package provision

import (
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// These tests let the local AWS behave worse than it does by default, as far as AWS's documents
// allow it. The page of testdata/lab lists its assumptions, and the test of each.

// TestARepeatedTokenMayNameNoInstances: EC2 promises that a repeated call does nothing further, and
// not that its answer lists the instances again. The fleet names them.
func TestARepeatedTokenMayNameNoInstances(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.SilenceRepeats(true)
	e.ec2.SetVisibility(time.Hour)
	e.cut()
	if _, err := e.afterwards().handle(t.Context(), later(tick("2"))); err != nil {
		t.Fatal(err)
	}
	e.nodes(together)
	e.nothingIsShort()
}

// TestARepeatedTokenMaySayNothing: EC2 shows neither the fleet nor its instances yet. Provision
// waits, and buys nothing else for the pods.
func TestARepeatedTokenMaySayNothing(t *testing.T) {
	for _, code := range []string{"", "InsufficientInstanceCapacity", "UnauthorizedOperation"} {
		t.Run("and the call is refused with "+code, func(t *testing.T) {
			e := newEnvironment(t)
			e.ec2.SilenceRepeats(true)
			e.ec2.FailCalls(ec2.CallFailure{Action: "DescribeFleets", Code: "InvalidFleetId.NotFound"})
			if code != "" {
				defer e.ec2.FailCalls(ec2.CallFailure{Action: "CreateFleet"})
			}
			e.ec2.SetVisibility(time.Hour)
			e.cut()
			if code != "" {
				e.ec2.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: code})
			}
			next := e.afterwards()
			for range 2 {
				_, _ = next.handle(t.Context(), later(tick("2"))) // reports that nothing is known
			}
			if claims := e.standing(); len(claims) != together || len(e.instances()) != together {
				t.Fatalf("%d claims and %d instances, want %d", len(claims), len(e.instances()), together)
			}
			if code == "" {
				e.nothingIsShort()
			}
			e.ec2.ShowInstances()
			if _, err := next.handle(t.Context(), later(tick("3"))); err != nil {
				t.Fatal(err)
			}
			e.nodes(together)
			if strays := e.strays(); len(strays) != 0 {
				t.Errorf("strays %+v", strays)
			}
		})
	}
}

// TestALaunchThatNeverShowsIsPlannedAgain: after 90 s without a trace the pods get other nodes.
func TestALaunchThatNeverShowsIsPlannedAgain(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.SilenceRepeats(true)
	e.ec2.FailCalls(ec2.CallFailure{Action: "DescribeFleets", Code: "InvalidFleetId.NotFound"})
	e.ec2.SetVisibility(time.Hour)
	e.cut()
	next := e.afterwards()
	_, _ = next.handle(t.Context(), later(tick("2"))) // notes that nothing is known
	began := next.now()
	next.now = func() time.Time { return began.Add(92 * time.Second) }
	wake := later(tick("3"))
	wake.Records[0].Body = strings.Replace(wake.Records[0].Body, `"tick"`, `"launch"`, 1)
	for range 2 { // the first pass gives the claims up
		_, _ = next.handle(t.Context(), wake)
	}
	if claims := e.standing(); len(claims) != together || len(e.instances()) != 2*together {
		t.Errorf("%d claims and %d instances, want %d claims with other instances",
			len(claims), len(e.instances()), together)
	}
}

// nothingIsShort checks that no offering is left out of plans.
func (e *environment) nothingIsShort() {
	e.t.Helper()
	unavailable, err := inventory.Unavailable(e.t.Context(), e.client)
	e.try(err)
	if len(unavailable.Until) != 0 {
		e.t.Errorf("unavailable offerings %v", unavailable.Until)
	}
}

// TestATokenMayBeForgotten: the repeated call launches the same number of instances once more.
func TestATokenMayBeForgotten(t *testing.T) {
	e := newEnvironment(t)
	e.cut()
	e.ec2.ForgetTokens()
	e.converge(e.afterwards())
}

// converge lets provision work, and ends the strays as lifecycle does. At the end each claim has an
// instance, and no instance is left over.
func (e *environment) converge(h *Handler) {
	e.t.Helper()
	for range 3 {
		if _, err := h.handle(e.t.Context(), later(tick("2"))); err != nil {
			e.t.Fatal(err)
		}
	}
	for _, claim := range e.claims() {
		if claim.DeletionTimestamp != nil {
			_, err := e.client.PatchNodeClaim(
				e.t.Context(), claim.Name, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
			e.try(err)
		}
	}
	strays := e.strays()
	if len(strays) != together {
		e.t.Errorf("strays %+v, want the instances of one of two launches", strays)
	}
	for _, stray := range strays {
		e.try(e.ec2.Terminate(stray.ID))
	}
	e.nodes(together)
}

// TestANewInstanceProfileMayBeUnknown: IAM is eventually consistent. EC2 may not know an instance
// profile yet that IAM has confirmed. Provision waits quietly, and the same claim is launched.
func TestANewInstanceProfileMayBeUnknown(t *testing.T) {
	e := newEnvironment(t)
	unknown := ec2.Starvation{
		Code:    "InvalidParameterValue",
		Message: "Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
	}
	e.ec2.Starve(unknown)
	e.pod("one", "1", nil)
	h := e.handler(alive())
	for range 3 {
		if _, err := h.handle(t.Context(), tick("1")); err != nil {
			t.Error(err)
		}
	}
	claims := e.standing()
	if len(claims) != 1 || claims[0].Annotations[api.FailedAttemptsAnnotationKey] != "" {
		t.Fatalf("claims %+v", claims)
	}
	launched := api.GetCondition(claims[0].Status.Conditions, api.ConditionTypeLaunched)
	if launched == nil || launched.Status != metav1.ConditionUnknown || launched.Reason != "InstanceProfileNameInvalid" {
		t.Errorf("condition %+v", launched)
	}
	if messages := e.events(claims[0].Name, "InstanceProfileNameInvalid"); len(messages) != 0 {
		t.Errorf("events %q", messages)
	}
	if class := e.class(); !api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
		t.Errorf("the class is %+v", class.Status.Conditions)
	}
	e.ec2.Feed("", "", "")
	if _, err := h.handle(t.Context(), tick("2")); err != nil {
		t.Fatal(err)
	}
	e.oneNode()
	if after := e.standing(); len(after) != 1 || after[0].UID != claims[0].UID {
		t.Errorf("claims %+v, want the first one with an instance", after)
	}
}

// TestANewLaunchTemplateMayBeUnknown: EC2 is eventually consistent. It may refuse a launch with a
// template that it has just made. Provision waits quietly, and the same claim is launched.
func TestANewLaunchTemplateMayBeUnknown(t *testing.T) {
	began := time.Now()
	var mutex sync.Mutex
	ahead := time.Duration(0)
	e := newEnvironment(t, func(c *ec2.Config) {
		c.Consistency = ec2.Consistency{Seed: 5, TemplateLag: 10 * time.Second}
		c.Now = func() time.Time {
			mutex.Lock()
			defer mutex.Unlock()
			return began.Add(ahead)
		}
	})
	e.pod("one", "1", nil)
	for range 3 { // in new containers, which do not know that the template is made
		if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
			t.Error(err)
		}
	}
	claims := e.standing()
	if len(claims) != 1 || claims[0].Annotations[api.FailedAttemptsAnnotationKey] != "" {
		t.Fatalf("claims %+v", claims)
	}
	launched := api.GetCondition(claims[0].Status.Conditions, api.ConditionTypeLaunched)
	if launched == nil || launched.Status != metav1.ConditionUnknown || launched.Reason != "LaunchTemplateNotFound" {
		t.Errorf("condition %+v", launched)
	}
	if messages := e.events(claims[0].Name, "LaunchTemplateNotFound"); len(messages) != 0 {
		t.Errorf("events %q", messages)
	}
	if class := e.class(); !api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
		t.Errorf("the class is %+v", class.Status.Conditions)
	}
	mutex.Lock()
	ahead = 10 * time.Second
	mutex.Unlock()
	if _, err := e.handler(alive()).handle(t.Context(), tick("2")); err != nil {
		t.Fatal(err)
	}
	e.oneNode()
	if after := e.standing(); len(after) != 1 || after[0].UID != claims[0].UID {
		t.Errorf("claims %+v, want the first one with an instance", after)
	}
}

// TestAnInstanceProfileThatStaysUnknownIsTheClasssFault: 30 s after the claim was written the
// refusal counts.
func TestAnInstanceProfileThatStaysUnknownIsTheClasssFault(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{Code: "InvalidParameterValue", Message: "Invalid IAM Instance Profile name"})
	e.pod("one", "1", nil)
	h := e.handler(alive())
	_, _ = h.handle(t.Context(), tick("1"))
	h.now = func() time.Time { return time.Now().Add(31 * time.Second) }
	if _, err := h.handle(t.Context(), later(tick("2"))); err == nil {
		t.Error("the handler returns no error although EC2 refused the launch")
	}
	condition := api.GetCondition(e.class().Status.Conditions, api.ConditionTypeInstanceProfileReady)
	if condition.Status != metav1.ConditionFalse || condition.Reason != api.ReasonLaunchRefused {
		t.Errorf("class: %+v", condition)
	}
}
