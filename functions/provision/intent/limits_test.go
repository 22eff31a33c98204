package intent_test

import (
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
	"github.com/whittle-dev/whittle/shared/plan"
)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

func typed(claim api.NodeClaim, age time.Duration, types ...string) api.NodeClaim {
	claim.CreationTimestamp = metav1.NewTime(now.Add(-age))
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: types},
	}
	return claim
}

func TestClaimsThatExceedALimitTogetherAreWithdrawn(t *testing.T) {
	types := []catalog.InstanceType{{Name: "small", Capacity: cpu("2")}, {Name: "large", Capacity: cpu("8")}}
	launched := claim("launched", "general", "i-1")
	launched.Status.Capacity = cpu("4")
	joined := claim("joined", "general", "i-2")
	joined.Status.Capacity = cpu("4")
	node := &corev1.Node{Status: corev1.NodeStatus{Capacity: cpu("3")}}
	ending := typed(claim("ending", "general", ""), time.Hour, "small")
	ending.DeletionTimestamp = &metav1.Time{Time: now}
	elder, younger := typed(claim("z-elder", "general", ""), 2*time.Second, "small"),
		typed(claim("a-younger", "general", ""), time.Second, "small")
	flexible := typed(claim("flexible", "general", ""), time.Minute, "small", "large")
	replaced := claim("replaced", "general", "i-3")
	replaced.Status.Capacity = cpu("4")
	replaced.Annotations = map[string]string{api.ReplacedByAnnotationKey: "begun,replacing"}
	replacing := typed(claim("replacing", "general", ""), 3*time.Second, "small")
	replacing.Annotations = map[string]string{api.ReplacesAnnotationKey: "replaced"}
	moving := claim("moving", "general", "i-5")
	moving.Status.Capacity = cpu("4")
	moving.Annotations = map[string]string{api.ReplacedByAnnotationKey: ""}
	replacingOther := typed(claim("replacing-other", "general", ""), 3*time.Second, "small")
	replacingOther.Annotations = map[string]string{api.ReplacesAnnotationKey: "of-another-pool"}
	begun := claim("begun", "general", "i-4")
	begun.Status.Capacity = cpu("4")
	begun.Annotations = map[string]string{api.ReplacesAnnotationKey: "replaced"}
	other := typed(claim("other", "spare", ""), time.Second, "large")
	for _, test := range []struct {
		name   string
		limits corev1.ResourceList
		claims []api.NodeClaim
		want   string
	}{
		{"all fit", cpu("8"), []api.NodeClaim{launched, elder, younger}, ""},
		{"the younger goes", cpu("7"), []api.NodeClaim{younger, elder, launched, other}, "a-younger"},
		{"none fits", cpu("5"), []api.NodeClaim{launched, elder, younger}, "z-elder a-younger"},
		{"a claim counts with its greatest type", cpu("11"), []api.NodeClaim{launched, flexible, younger}, "flexible"},
		{"a node counts with what its claim says", cpu("5"), []api.NodeClaim{joined, elder}, "z-elder"},
		{"a claim that ends does not count, and is not withdrawn again", cpu("2"), []api.NodeClaim{ending, elder}, ""},
		{"a node that is replaced leaves its room to its replacement", cpu("4"), []api.NodeClaim{replaced, replacing}, ""},
		{"it leaves none to other claims", cpu("4"), []api.NodeClaim{replaced, replacing, younger}, "a-younger"},
		{"a replacement has the room of what goes, and no more", cpu("3"), []api.NodeClaim{replaced, replacing, elder},
			"z-elder"},
		{"a node that goes for room elsewhere leaves none, because it may stay", cpu("5"),
			[]api.NodeClaim{moving, replacingOther}, "replacing-other"},
		{"a replacement that has been launched counts", cpu("5"), []api.NodeClaim{replaced, begun, replacing}, "replacing"},
		{"nodes are counted", corev1.ResourceList{api.ResourceNodes: resource.MustParse("2")},
			[]api.NodeClaim{launched, elder, younger}, "a-younger"},
		{"an instance is never withdrawn", cpu("1"), []api.NodeClaim{launched}, ""},
		{"no limit", nil, []api.NodeClaim{elder, younger}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			limited := pool("general", -1)
			limited.Spec.Limits = api.Limits(test.limits)
			s := &plan.Snapshot{}
			for i := range test.claims {
				seen := plan.Node{NodeClaim: &test.claims[i]}
				if seen.NodeClaim.Name == "joined" {
					seen.Node = node
				}
				s.Nodes = append(s.Nodes, seen)
			}
			of := func(*api.NodeClaim) []catalog.InstanceType { return types }
			var names []string
			for _, withdrawn := range intent.Withdrawals([]api.NodePool{limited, pool("spare", -1)}, s, of, time.Now()) {
				names = append(names, withdrawn.Claim.Name)
				if !strings.Contains(withdrawn.Message, `nodepool "general"`) {
					t.Errorf("message %q", withdrawn.Message)
				}
			}
			if !slices.Equal(names, strings.Fields(test.want)) {
				t.Errorf("withdrawn %v, want %s", names, test.want)
			}
		})
	}
}
