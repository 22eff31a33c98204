package provision

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// byHand is a claim as a person writes one: without finalizer, pool or attempt.
func byHand(name, group, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": group, "kind": kind, "name": "default"},
			"requirements": []any{
				map[string]any{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": []any{"m5.large"}},
			},
		},
	}}
}

func TestAClaimThatAPersonWroteIsLaunchedAndHeld(t *testing.T) {
	e := newEnvironment(t)
	e.apply(byHand("mine", api.AWSGroup, api.EC2NodeClassKind))
	// Lifecycle wakes the pass. No pod waits, and the claim has no NodePool.
	if _, err := e.handler(alive()).handle(t.Context(), interruption("1")); err != nil {
		t.Fatal(err)
	}
	e.oneNode()
	// Without the finalizer its deletion would end the instance under its pods.
	if held := e.claims()[0].Finalizers; len(held) != 1 || held[0] != api.TerminationFinalizer {
		t.Errorf("finalizers %v", held)
	}
}

func TestPoolsAndClaimsOfAnotherControllerAreIgnored(t *testing.T) {
	e := newEnvironment(t)
	e.apply(byHand("theirs", "eks.amazonaws.com", "NodeClass"))
	foreign := nodePool("theirs", "default", nil)
	ref := map[string]any{"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
	e.try(unstructured.SetNestedMap(foreign.Object, ref, "spec", "template", "spec", "nodeClassRef"))
	e.apply(foreign)
	e.pod("one", "1", nil)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	theirs, err := e.objects("NodeClaim").Get(t.Context(), "theirs", metav1.GetOptions{})
	if err != nil || theirs.GetDeletionTimestamp() != nil || len(theirs.GetFinalizers()) != 0 {
		t.Errorf("their claim: %v, %v", theirs, err)
	}
	if len(e.instances()) != 1 || len(e.claims()) != 2 {
		t.Errorf("%d instances and %d claims, want one of ours beside theirs", len(e.instances()), len(e.claims()))
	}
	if messages := e.events("theirs", api.ReasonNodeClassNotFound); len(messages) != 0 {
		t.Errorf("their pool has the events %q", messages)
	}
}

// TestAPoolThatCannotBeReadStopsNoOther has pools with values that their definition allows and Go
// cannot express. An event on each names the field.
func TestAPoolThatCannotBeReadStopsNoOther(t *testing.T) {
	e := newEnvironment(t)
	long, odd := nodePool("long", "default", nil), nodePool("odd", "default", nil)
	e.try(unstructured.SetNestedField(long.Object, "8760000h", "spec", "template", "spec", "terminationGracePeriod"))
	e.try(unstructured.SetNestedField(odd.Object, "1e1.5", "spec", "limits", "cpu"))
	e.apply(long)
	e.apply(odd)
	e.pod("one", "1", nil)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	e.oneNode()
	if pool := e.claims()[0].Labels[api.NodePoolLabelKey]; pool == "long" || pool == "odd" {
		t.Errorf("the node is of pool %s", pool)
	}
	for name, field := range map[string]string{
		"long": "spec.template.spec.terminationGracePeriod", "odd": "spec.limits.cpu",
	} {
		messages := e.events(name, api.ReasonNodePoolValidationFailed)
		if len(messages) != 1 || !strings.Contains(messages[0], field+": it cannot be read") {
			t.Errorf("pool %s has the events %q", name, messages)
		}
	}
}

func TestAnAttemptThatEC2RefusedIsFollowedByAnother(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{Code: "InvalidParameterValue"})
	e.pod("one", "1", nil)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err == nil {
		t.Error("the handler returns no error although EC2 refused the launch")
	}
	// EC2 remembers what it answered to a token: the mend shows with another one.
	e.ec2.Feed("", "", "")
	if _, err := e.handler(alive()).handle(t.Context(), tick("2")); err != nil {
		t.Fatal(err)
	}
	e.oneNode()
}

func TestAClassInUseOutlivesABusyEC2(t *testing.T) {
	for _, action := range []string{"DescribeSubnets", "DescribeSecurityGroups", "DescribeImages"} {
		t.Run(action, func(t *testing.T) {
			e := newEnvironment(t)
			resolver := classes.NewResolver(e.config, clusterName)
			listed, err := e.client.NodeClasses(t.Context())
			e.try(err)
			ready, err := resolver.Resolve(t.Context(), e.client, listed[0], time.Now())
			if err != nil || !api.ConditionTrue(ready.Status.Conditions, api.ConditionReady) {
				t.Fatalf("%+v, %v", ready.Status, err)
			}
			e.ec2.Throttle(action, 1, 0)
			class, err := resolver.Resolve(t.Context(), e.client, ready, time.Now())
			if err == nil || !api.ConditionTrue(class.Status.Conditions, api.ConditionReady) || len(class.Status.Subnets) == 0 ||
				len(class.Status.AMIs) == 0 {
				t.Errorf("%v, status %+v", err, class.Status)
			}
		})
	}
}

func TestAPassWritesABoundedNumberOfPodEvents(t *testing.T) {
	pods := []plan.PodRef{{Namespace: "default", Name: "one"}, {Namespace: "default", Name: "two"}}
	full := &pass{Handler: &Handler{now: time.Now}, nominated: maximumNominated - 1}
	full.nominate(pods, "a")
	var written countedEvents
	full.pending.Flush(t.Context(), &written, 1, time.Now())
	if written != 1 {
		t.Errorf("%d events are written", written)
	}
}

// countedEvents counts the events that are written.
type countedEvents int

func (c *countedEvents) Record(context.Context, cluster.Event, time.Time) error {
	*c++
	return nil
}
