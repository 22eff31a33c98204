package provision

import (
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func TestProblemsForAPersonAreReportedOnTheObject(t *testing.T) {
	for _, test := range []struct {
		code, reason, says string
		condition          string // of the class
	}{
		{"InvalidSubnetID.NotFound", "SubnetResolutionFailed", "spec.subnetSelectorTerms", api.ConditionTypeSubnetsReady},
		{"InvalidAMIID.NotFound", "AMINotFound", "spec.amiSelectorTerms", api.ConditionTypeAMIsReady},
		{"PendingVerification", "AccountPendingVerification", "verifying", ""},
	} {
		t.Run(test.code, func(t *testing.T) {
			e := newEnvironment(t)
			e.ec2.Starve(ec2.Starvation{Code: test.code})
			e.equal(2)
			first := e.handler(alive())
			first.classes.DryRun = true // which says that what is refused is allowed
			if _, err := first.handle(t.Context(), tick("1")); err == nil {
				t.Error("the handler returns no error although EC2 refused the launch")
			}
			claims := e.standing()
			if len(claims) != 2 || len(e.instances()) != 0 {
				t.Fatalf("%d claims, %d instances", len(claims), len(e.instances()))
			}
			messages := 0
			for _, claim := range claims {
				launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched)
				if launched == nil || launched.Status != metav1.ConditionUnknown || launched.Reason != test.reason ||
					!strings.Contains(launched.Message, test.says) {
					t.Errorf("claim %s: %+v", claim.Name, launched)
				}
				messages += len(e.events(claim.Name, test.reason))
			}
			if messages != 1 {
				t.Errorf("%d events, want one for the batch", messages)
			}
			refused := e.class()
			if ready := api.ConditionTrue(refused.Status.Conditions, api.ConditionReady); ready != (test.condition == "") {
				t.Errorf("class: %+v", refused.Status.Conditions)
			}
			if test.condition != "" {
				condition := api.GetCondition(refused.Status.Conditions, test.condition)
				if condition.Status != metav1.ConditionFalse || condition.Reason != api.ReasonLaunchRefused ||
					!strings.Contains(condition.Message, test.says) {
					t.Errorf("class: %+v", refused.Status.Conditions)
				}
				// Resolving the class finds no problem, and keeps the refusal.
				for _, dryRun := range []bool{false, true} {
					resolver := classes.NewResolver(e.config, clusterName)
					resolver.DryRun = dryRun
					_, err := resolver.Resolve(t.Context(), e.client, e.class(), time.Now())
					e.try(err)
				}
				if after := e.class(); after.ResourceVersion != refused.ResourceVersion {
					t.Errorf("the class was written again: %+v", after.Status.Conditions)
				}
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
			if after := e.class(); !api.ConditionTrue(after.Status.Conditions, api.ConditionReady) {
				t.Errorf("after a launch with it the class is %+v", after.Status.Conditions)
			}
		})
	}
}

func (e *environment) class() api.EC2NodeClass {
	e.t.Helper()
	listed, err := e.client.NodeClasses(e.t.Context())
	e.try(err)
	if len(listed) != 1 {
		e.t.Fatalf("%d classes", len(listed))
	}
	return listed[0]
}

// A class whose launches EC2 refuses gets no new claims. Its existing claims are tried again. A
// change of the class, or time, clears the refusal.
func TestNothingNewIsPlannedWithARefusedClass(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{Code: "InvalidSubnetID.NotFound"})
	e.pod("one", "1", nil)
	tap := &wiretap{}
	h := e.tapped(tap)
	_, _ = h.handle(t.Context(), tick("1")) // refused
	e.pod("two", "1", func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "m5.4xlarge"}
	})
	_, _ = h.handle(t.Context(), tick("2"))
	if claims := e.standing(); len(claims) != 1 || claims[0].Annotations[api.AttemptAnnotationKey] != "3" ||
		tap.counts["CreateFleet"] != 2 {
		t.Errorf("%d claims, %v", len(claims), tap.counts)
	}
	messages := strings.Join(e.events("default", api.ReasonNodeClassNotReady), "\n")
	if !strings.Contains(messages, "spec.subnetSelectorTerms") {
		t.Errorf("the pool has the events %q", messages)
	}
	e.ec2.Feed("", "", "")
	began := time.Now()
	h.now = func() time.Time { return began.Add(11 * time.Minute) }
	batch := tick("3")
	batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"launch"`, 1) // which is never too late
	if _, err := h.handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	e.nodes(2)
}

func TestFailedAttemptsBackOff(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{Code: "VolumeLimitExceeded"})
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

// EC2 refuses spot with a code that nobody knows. After the second refusal the class does without those
// offerings, and the pod gets a node on demand.
func TestOfferingsThatEC2RefusesTwiceAreLeftOut(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{CapacityType: "spot", Code: "SomethingNew"})
	e.pod("one", "1", nil)
	tap := &wiretap{}
	h := e.tapped(tap)
	began := time.Now()
	for second := 0; second < 120 && len(e.instances()) == 0; second += 10 {
		h.now = func() time.Time { return began.Add(time.Duration(second) * time.Second) }
		batch := tick("1")
		batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"launch"`, 1)
		_, _ = h.handle(t.Context(), batch)
	}
	if launched := e.instances(); len(launched) != 1 || launched[0].CapacityType != api.CapacityTypeOnDemand {
		t.Errorf("launched %+v", launched)
	}
	if calls := tap.counts["CreateFleet"]; calls != 3 {
		t.Errorf("%d calls, want two for spot and one on demand", calls)
	}
}

// A policy of the organization denies one instance type. Only the pod that needs it gets no node: the
// class launches other types, also while that pod waits.
func TestADeniedTypeKeepsNoOtherPodWaiting(t *testing.T) {
	e := newEnvironment(t)
	const message = "You are not authorized to perform this operation. User: arn:aws:sts::111122223333:assumed-role/provision " +
		"is not authorized to perform: ec2:RunInstances with an explicit deny in a service control policy. " +
		"Encoded authorization failure message: 4GIOHlTkIaWHQD0Q0m6XSnuUMCm"
	e.ec2.Starve(ec2.Starvation{InstanceType: "m5.4xlarge", Code: "UnauthorizedOperation", Message: message})
	e.pod("denied", "1", func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "m5.4xlarge"}
	})
	h := e.handler(alive())
	began := time.Now()
	for minute, pod := range []string{"", "ordinary", "", "later", "", "last"} {
		h.now = func() time.Time { return began.Add(time.Duration(minute*4) * time.Minute) }
		if pod != "" {
			e.pod(pod, "7", nil) // which has room on no node before it
		}
		batch := tick(strconv.Itoa(minute))
		batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"launch"`, 1)
		if _, err := h.handle(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if class := e.class(); !api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
			t.Fatalf("pass %d: the class is %+v", minute, class.Status.Conditions)
		}
	}
	launched := e.instances()
	for _, instance := range launched {
		if instance.InstanceType == "m5.4xlarge" {
			t.Errorf("launched %+v, which is denied", instance)
		}
	}
	if len(launched) != 3 || len(e.standing()) != 3 {
		t.Errorf("%d instances, %d claims, want one for each pod but the denied one", len(launched), len(e.standing()))
	}
	said := strings.Join(e.events("default", "Unauthorized"), "\n")
	for _, part := range []string{
		"m5.4xlarge", "ec2:RunInstances", "4GIOHlTkIaWHQD0Q0m6XSnuUMCm", "decode-authorization-message",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("no %q in the events %q", part, said)
		}
	}
}

// A policy denies every type, whether a launch allows several of them or each launch only one.
func TestAClassOfWhichEveryTypeIsDeniedIsRefused(t *testing.T) {
	for name, types := range map[string][]string{
		"at once": {""}, "one after the other": {"m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			e.ec2.Starve(ec2.Starvation{Code: "UnauthorizedOperation"})
			for i, instanceType := range types {
				e.pod("web-"+strconv.Itoa(i), "1", func(pod *corev1.Pod) {
					if instanceType != "" {
						pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: instanceType}
					}
				})
			}
			h := e.handler(alive())
			_, _ = h.handle(t.Context(), tick("1")) // refused
			class := e.class()
			condition := api.GetCondition(class.Status.Conditions, api.ConditionTypeValidationSucceeded)
			if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != api.ReasonLaunchRefused ||
				!strings.Contains(condition.Message, "decode-authorization-message") {
				t.Fatalf("class: %+v", class.Status.Conditions)
			}
			claims := e.standing()
			if len(claims) != 1 {
				t.Fatalf("%d claims, want the last one, which is tried again", len(claims))
			}
			launched := api.GetCondition(claims[0].Status.Conditions, api.ConditionTypeLaunched)
			if launched == nil || launched.Reason != "Unauthorized" {
				t.Errorf("claim: %+v", launched)
			}
			e.ec2.Feed("", "", "")
			later := time.Now().Add(2 * time.Minute) // after the claim's pause
			h.now = func() time.Time { return later }
			batch := tick("2")
			batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"launch"`, 1)
			if _, err := h.handle(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			if after := e.class(); len(e.instances()) == 0 || !api.ConditionTrue(after.Status.Conditions, api.ConditionReady) {
				t.Errorf("%d instances; after a launch the class is %+v", len(e.instances()), after.Status.Conditions)
			}
		})
	}
}

func TestAMissingSpotRoleIsReportedWithItsFix(t *testing.T) {
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
	messages := strings.Join(e.events("default", "SpotSLRCreationFailed"), "\n")
	if !strings.Contains(messages, "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com") {
		t.Errorf("the pool has the events %q", messages)
	}
}

func TestADeletedLaunchTemplateIsCreatedAgain(t *testing.T) {
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

// EC2 may launch an instance of the class and end it before it joins. Then neither a pod nor a pool
// with spec.replicas gets another one for ten minutes, and a launch proves nothing.
func TestNothingNewIsLaunchedWithAClassWhoseInstancesEnd(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	tap := &wiretap{}
	h := e.tapped(tap)
	if _, err := h.handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	e.nodes(1)
	class := e.class()
	conditions, changed, err := nodeclass.RefuseEnded(
		&class, &e.standing()[0], e.client.CertificateAuthority(), "EC2 ended the instance: the key is disabled", time.Now())
	if err != nil || !changed {
		t.Fatalf("changed %t, %v: the claim's hash is not the class's", changed, err)
	}
	_, err = e.client.PatchNodeClassStatus(t.Context(), class.Name, map[string]any{
		"status": map[string]any{"conditions": conditions},
	})
	e.try(err)
	e.replicas(static(1, nil))
	e.pod("two", "1", func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "m5.4xlarge"}
	})
	for _, id := range []string{"2", "3"} {
		if _, err := h.handle(t.Context(), tick(id)); err != nil {
			t.Fatal(err)
		}
	}
	if tap.counts["CreateFleet"] != 1 || len(e.standing()) != 1 {
		t.Errorf("%d claims, %v", len(e.standing()), tap.counts)
	}
	if messages := strings.Join(e.events("default", api.ReasonNodeClassNotReady), "\n"); !strings.Contains(
		messages, "the key is disabled") {
		t.Errorf("the pool has the events %q", messages)
	}
	began := time.Now()
	h.now = func() time.Time { return began.Add(11 * time.Minute) }
	batch := tick("4")
	batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"launch"`, 1) // which is never too late
	if _, err := h.handle(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	e.nodes(3)
}

// TestAClaimOfAMissingClassSaysSo holds that a claim which somebody made for a class that does not
// exist is given up, with Karpenter's event.
func TestAClaimOfAMissingClassSaysSo(t *testing.T) {
	e := newEnvironment(t)
	claim := byHand("classless", api.AWSGroup, api.EC2NodeClassKind)
	e.try(unstructured.SetNestedField(claim.Object, "missing", "spec", "nodeClassRef", "name"))
	e.apply(claim)
	if _, err := e.handler(alive()).handle(t.Context(), interruption("1")); err != nil {
		t.Fatal(err)
	}
	if messages := e.events("classless", api.ReasonNodeClassNotReady); len(messages) != 1 {
		t.Errorf("events %v", messages)
	}
	if claims := e.standing(); len(claims) != 0 {
		t.Errorf("the claim stays: %v", claims[0].Status.Conditions)
	}
}
