package intent_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func classRef(group string) *api.NodeClassReference {
	return &api.NodeClassReference{Group: group, Kind: api.EC2NodeClassKind, Name: "default"}
}

func pool(name string, replicas int64) api.NodePool {
	made := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Spec.Template.Spec.NodeClassRef = classRef(api.AWSGroup)
	if replicas >= 0 {
		made.Spec.Replicas = &replicas
	}
	return made
}

// claim is a claim of a pool. It is launched unless the instance is empty.
func claim(name, pool, instance string) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.NodePoolLabelKey: pool}}}
	made.Spec.NodeClassRef = classRef(api.AWSGroup)
	if instance != "" {
		made.Status.ProviderID = api.ProviderID("us-east-1a", instance)
	}
	return made
}

func TestPendingPodsAreThoseThatANodeMayHelp(t *testing.T) {
	pod := func(age time.Duration, unschedulable bool) corev1.Pod {
		made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1", CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		if unschedulable {
			made.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}
		}
		return made
	}
	pods := []corev1.Pod{pod(time.Hour, false), pod(time.Minute, true), pod(time.Second, true)}
	pods[1].Status.NominatedNodeName = "planned" // perhaps by Whittle
	want := intent.PendingPods{Count: 2, Oldest: time.Minute, Youngest: time.Second}
	if got := intent.Pending(pods, nil, now); got != want {
		t.Errorf("pending are %+v, want %+v", got, want)
	}
	asleep := pool("default", -1)
	asleep.Annotations = map[string]string{api.SleepAnnotationKey: "Mon-Sun"}
	want.Asleep, want.Oldest = 2, 0
	if got := intent.Pending(pods, []api.NodePool{asleep}, now); got != want {
		t.Errorf("while the pool sleeps pending are %+v, want %+v", got, want)
	}
}

// TestPodsAreAwaited has two pods that wait, and claims that list them.
func TestPodsAreAwaited(t *testing.T) {
	waits := func(uid string) corev1.Pod {
		made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), CreationTimestamp: metav1.NewTime(now)}}
		made.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		return made
	}
	listing := func(instance, uids string, change func(*api.NodeClaim)) api.NodeClaim {
		made := claim("c", "default", instance)
		made.Annotations = map[string]string{api.NominatedPodsAnnotationKey: uids}
		if change != nil {
			change(&made)
		}
		return made
	}
	leaves := func(c *api.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: now} }
	initialized := func(ago time.Duration) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{{
				Type: api.ConditionTypeInitialized, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
			}}
		}
	}
	foreign := func(c *api.NodeClaim) { c.Spec.NodeClassRef = classRef("example.com") }
	one, two, unseen, bound := waits("1"), waits("2"), waits("3"), waits("4")
	unseen.Status.Conditions, unseen.Spec.SchedulerName = nil, corev1.DefaultSchedulerName
	bound.Spec.NodeName, bound.Status.Conditions = "node", nil
	nominated := one
	nominated.Status.NominatedNodeName = "node"
	for name, test := range map[string]struct {
		pods   []corev1.Pod
		claims []api.NodeClaim
		want   bool
	}{
		"a node for each": {[]corev1.Pod{one, two}, []api.NodeClaim{listing("i-1", "1,2", nil)}, true},
		"several nodes": {[]corev1.Pod{one, two},
			[]api.NodeClaim{listing("i-1", "1", nil), listing("i-2", "2", nil)}, true},
		"a nominated pod":                  {[]corev1.Pod{nominated}, []api.NodeClaim{listing("i-1", "1", nil)}, true},
		"a pod that has its node":          {[]corev1.Pod{one, bound}, []api.NodeClaim{listing("i-1", "1", nil)}, true},
		"a pod without one":                {[]corev1.Pod{one, two}, []api.NodeClaim{listing("i-1", "1", nil)}, false},
		"a pod that no scheduler has seen": {[]corev1.Pod{one, unseen}, []api.NodeClaim{listing("i-1", "1", nil)}, false},
		"a nominated pod without one":      {[]corev1.Pod{nominated}, nil, false},
		"a node that leaves":               {[]corev1.Pod{one}, []api.NodeClaim{listing("i-1", "1", leaves)}, false},
		"a node that is there": {[]corev1.Pod{one},
			[]api.NodeClaim{listing("i-1", "1", initialized(10*time.Second))}, false},
		"a node that has just become ready": {[]corev1.Pod{one},
			[]api.NodeClaim{listing("i-1", "1", initialized(9*time.Second))}, true},
		"a node of another controller": {[]corev1.Pod{one}, []api.NodeClaim{listing("i-1", "1", foreign)}, false},
		"a claim without an instance": {[]corev1.Pod{one},
			[]api.NodeClaim{listing("i-1", "1", nil), listing("", "2", nil)}, false},
	} {
		if got := intent.AllAwaited(test.pods, test.claims, now); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestReplicasAreOff(t *testing.T) {
	foreign := pool("static", 5)
	foreign.Spec.Template.Spec.NodeClassRef = classRef("eks.amazonaws.com")
	for _, test := range []struct {
		name   string
		pools  []api.NodePool
		claims []api.NodeClaim
		want   bool
	}{
		{"no pool has replicas", []api.NodePool{pool("dynamic", -1)}, nil, false},
		{"a pool of another controller", []api.NodePool{foreign}, nil, false},
		{"a claim is missing", []api.NodePool{pool("static", 1)}, []api.NodeClaim{claim("a", "other", "i-1")}, true},
		{"all claims are there", []api.NodePool{pool("static", 1)}, []api.NodeClaim{claim("a", "static", "i-1")}, false},
		{"a claim is not launched", []api.NodePool{pool("static", 1)}, []api.NodeClaim{claim("a", "static", "")}, true},
		{"a claim is too many", []api.NodePool{pool("static", 0)}, []api.NodeClaim{claim("a", "static", "i-1")}, true},
	} {
		if got := intent.ReplicasOff(test.pools, test.claims, now); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestSurplusAndMissingClaims(t *testing.T) {
	launched, waiting := claim("launched", "static", "i-1"), claim("waiting", "static", "")
	types := []catalog.InstanceType{{Name: "m5.large", Offerings: []catalog.Offering{
		{Zone: "us-east-1a", CapacityType: "on-demand", Price: 0.1, Available: true},
	}}}
	snapshot := &plan.Snapshot{
		Nodes:         []plan.Node{{NodeClaim: &launched}, {NodeClaim: &waiting}},
		InstanceTypes: map[string][]catalog.InstanceType{"static": types, "starved": nil},
	}
	one, four, starved, unready := pool("static", 1), pool("static", 4), pool("starved", 2), pool("unready", 2)
	nodes := []disruption.Node{{Claim: &launched}, {Claim: &waiting}}
	if got := intent.Surplus(&one, nodes, false, now); len(got) != 1 || got[0].Name != "waiting" {
		t.Errorf("surplus %v, want the claim that is not launched", got)
	}
	if !intent.HasSurplus([]api.NodePool{four, one}, snapshot, now) ||
		intent.HasSurplus([]api.NodePool{four, starved}, snapshot, now) {
		t.Error("only the pool with one replica has too many claims")
	}
	claims, count, err := intent.Missing(&four, snapshot, now)
	if len(claims) != 2 || count != 2 || err != nil || claims[0].Labels[api.NodePoolLabelKey] != "static" {
		t.Errorf("%d missing, claims %+v, error %v", count, claims, err)
	}
	if claims, count, err := intent.Missing(&starved, snapshot, now); len(claims) != 0 || count != 2 || err == nil ||
		!strings.Contains(err.Error(), "no offering is available for 2 missing nodes") {
		t.Errorf("without offerings: %d missing, claims %+v, error %v", count, claims, err)
	}
	if claims, _, err := intent.Missing(&unready, snapshot, now); len(claims) != 0 || err != nil {
		t.Errorf("without a ready class: claims %+v, error %v", claims, err)
	}
}

func TestPreparedClaimsOfOneLaunchAreABatch(t *testing.T) {
	var claims []api.NodeClaim
	for range launch.MaximumBatch + 1 {
		claims = append(claims, claim("", "general", ""))
	}
	other := claim("", "general", "")
	other.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	claims = append(claims, other, claim("", "spare", ""))
	claims[len(claims)-1].Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	ids := 0
	err := intent.Prepare(claims, intent.Context{
		Pools: []api.NodePool{pool("general", -1), pool("spare", -1)},
		Types: func(*api.NodeClaim) []catalog.InstanceType { return nil },
		NewID: func() string { ids++; return fmt.Sprint("batch-", ids) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range claims {
		batch, err := launch.BatchOf(&claims[i])
		want := launch.Batch{}
		if i < launch.MaximumBatch {
			want = launch.Batch{ID: "batch-1", Size: launch.MaximumBatch, Index: i}
		}
		if err != nil || batch != want {
			t.Errorf("claim %d: batch %+v, %v, want %+v", i, batch, err, want)
		}
		if claims[i].Annotations[api.AttemptAnnotationKey] != "1" ||
			claims[i].Annotations[api.NodePoolHashAnnotationKey] == "" {
			t.Errorf("claim %d: annotations %v", i, claims[i].Annotations)
		}
	}
}

func TestAClaimThatCannotBeBatchedIsPreparedAlone(t *testing.T) {
	bad := claim("", "general", "")
	bad.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{{Key: "zone", Operator: "Around"}}
	claims := []api.NodeClaim{bad, claim("", "general", ""), claim("", "general", "")}
	err := intent.Prepare(claims, intent.Context{
		Types: func(*api.NodeClaim) []catalog.InstanceType { return nil }, NewID: func() string { return "b" },
	})
	if err == nil || errors.Unwrap(err) != nil && !strings.Contains(err.Error(), "requirements") {
		t.Errorf("error %v", err)
	}
	var batches []string
	for i := range claims {
		batches = append(batches, claims[i].Annotations[api.BatchAnnotationKey])
	}
	if !slices.Equal(batches, []string{"", "b/2/0", "b/2/1"}) {
		t.Errorf("batches %q", batches)
	}
}
