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
	if got := intent.Pending(pods, now); got != want {
		t.Errorf("pending are %+v, want %+v", got, want)
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
