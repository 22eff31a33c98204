package snapshot_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// A kubelet that has lost its own node comes back under the providerID of another. Disruption must see the
// pods of the other node all the same, and leave its claim alone until a person has looked.
func TestASecondNodeWithTheProviderIDOfAnother(t *testing.T) {
	now := catalogtest.Now
	for _, last := range []bool{false, true} {
		o := atLimit("100")
		forged := *o.Nodes[0].DeepCopy()
		forged.Name = "forged"
		if last {
			o.Nodes = append(o.Nodes, forged)
		} else {
			o.Nodes = append([]corev1.Node{forged}, o.Nodes...)
		}
		o.NodeClaims[0].Annotations = map[string]string{
			disruption.EmptySinceAnnotationKey: now.Add(-time.Minute).Format(time.RFC3339),
		}
		o.BoundNodes()
		seen, err := snapshot.Disruption(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if of := seen.Nodes[0]; of.Node.Name != "n0" || len(of.Pods) != 1 {
			t.Errorf("the claim's node is %s with %d pods", of.Node.Name, len(of.Pods))
		}
		if empty := disruption.Empty(seen, now); len(empty.Remove) > 0 || len(empty.Due) > 0 {
			t.Errorf("it is removed as an empty one: %+v", empty.Remove)
		}
		if why := protection.OfNode(seen.Nodes[0].Node, now); !strings.Contains(why, "forged") {
			t.Errorf("it is protected by %q", why)
		}
		for _, node := range snapshot.Nodes(o, catalogtest.Now).Nodes {
			switch {
			case node.Node.Name == "forged" && (node.NodeClaim != nil || !node.ClosedToPods()):
				t.Error("the forged node has the claim, or may get pods")
			case node.Node.Name == "n0" && (node.NodeClaim == nil || len(node.Pods) != 1):
				t.Error("the claim's node has lost its claim or its pods")
			}
		}
	}
}

// Before the registration nobody knows which of two nodes is the claim's: both get nothing, and the claim's
// room counts as on its way.
func TestTwoNodesOfAClaimThatIsNotRegistered(t *testing.T) {
	o := atLimit("100")
	forged := *o.Nodes[0].DeepCopy()
	forged.Name = "forged"
	o.Nodes = append(o.Nodes, forged)
	o.NodeClaims[0].Status.NodeName, o.NodeClaims[0].Status.Conditions = "", nil
	o.BoundNodes()
	inFlight := 0
	for _, node := range snapshot.Nodes(o, catalogtest.Now).Nodes {
		if node.Node == nil {
			inFlight++
		} else if node.Node.Spec.ProviderID == forged.Spec.ProviderID && !node.ClosedToPods() {
			t.Errorf("%s may get pods", node.Node.Name)
		}
	}
	if inFlight != 1 {
		t.Errorf("%d claims are in flight", inFlight)
	}
}

func TestMarksOfSnapshotsThatAKubeletWritesAreForgotten(t *testing.T) {
	o := atLimit("100")
	given := map[string]string{
		scheduling.UntrustedAnnotationKey: "x", protection.DisputedAnnotationKey: "x",
		protection.ZoneShiftedAnnotationKey: "x", "other": "x",
	}
	o.Nodes[0].Annotations = given
	o.BoundNodes()
	if got := o.Nodes[0].Annotations; len(got) != 1 || got["other"] != "x" || len(given) != 4 {
		t.Errorf("annotations %v, given %v", got, given)
	}
}

func TestANodeThatClaimsMoreThanItsInstanceHas(t *testing.T) {
	o := atLimit("100")
	o.Nodes[0].Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
	o.Nodes[0].Labels = map[string]string{"karpenter.sh/nodepool": "richer"}
	o.BoundNodes()
	node := snapshot.Nodes(o, catalogtest.Now).Nodes[0]
	if !node.ClosedToPods() || node.Pool() != "default" || node.Label("karpenter.sh/nodepool") != "default" {
		t.Errorf("closed %v, pool %s", node.ClosedToPods(), node.Pool())
	}
}

// A node of nobody's may write the label of a pool. It takes nothing of the pool's limit.
func TestANodeWithoutAClaimCountsForNoPool(t *testing.T) {
	o := atLimit("100")
	own := *o.Nodes[0].DeepCopy()
	own.ObjectMeta = metav1.ObjectMeta{Name: "of-nobody", Labels: own.Labels}
	own.Spec.ProviderID = "aws:///us-east-1a/i-of-nobody"
	o.Nodes = append(o.Nodes, own)
	o.BoundNodes()
	for _, node := range snapshot.Nodes(o, catalogtest.Now).Nodes {
		if node.Node.Name == "of-nobody" && node.Pool() != "" {
			t.Errorf("it counts for %s", node.Pool())
		}
	}
}
