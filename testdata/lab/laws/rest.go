package laws

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// young reports whether what began at the time may still be under way.
func (w *World) young(since time.Time) bool { return w.Patience > 0 && w.Now.Sub(since) <= w.Patience }

// unmountWait is how long Kubernetes keeps a volume on a node that cannot say whether it has
// unmounted it.
const unmountWait = 6 * time.Minute

// unmounts reports whether a pod that came at the time may still wait for its volume, which the
// machine of another pod had when it ended.
func (w *World) unmounts(since time.Time) bool { return w.young(since.Add(unmountWait)) }

// stuck lists the claims, nodes and classes that are deleted and do not go.
func stuck(w *World) []string {
	var wrong []string
	say := func(kind string, of metav1.Object, since time.Time) {
		if !w.young(since) {
			wrong = append(wrong, fmt.Sprintf("%s %s has been ending for %s, and is held by %s", kind, of.GetName(),
				w.Now.Sub(since).Truncate(time.Second), strings.Join(of.GetFinalizers(), ", ")))
		}
	}
	ending := map[string]bool{} // the nodes whose claims say more
	for _, claim := range w.Claims {
		ending[claim.Status.NodeName] = claim.DeletionTimestamp != nil
		if claim.DeletionTimestamp != nil && (w.Held == nil || !w.Held(claim)) {
			say("nodeclaim", claim, endsSince(claim))
		}
	}
	for _, node := range w.Nodes {
		if node.DeletionTimestamp != nil && !ending[node.Name] {
			say("node", node, node.DeletionTimestamp.Time)
		}
	}
	for _, class := range w.Classes {
		if class.DeletionTimestamp != nil {
			say("ec2nodeclass", class, class.DeletionTimestamp.Time)
		}
	}
	return wrong
}

// endsSince returns when nothing but machines held a leaving claim any more: at its deletion, or at the
// end of its drain, which disruption budgets may hold up for long.
func endsSince(claim *api.NodeClaim) time.Time {
	since := claim.DeletionTimestamp.Time
	drained := meta.FindStatusCondition(claim.Status.Conditions, api.ConditionTypeDrained)
	if drained != nil && drained.Status == metav1.ConditionTrue && drained.LastTransitionTime.After(since) {
		since = drained.LastTransitionTime.Time
	}
	return since
}

// ownerless lists the nodes without a claim.
func ownerless(w *World) []string {
	owned := map[string]bool{}
	for _, claim := range w.Claims {
		owned[claim.Status.ProviderID] = true
	}
	var wrong []string
	for _, node := range w.Nodes {
		if node.DeletionTimestamp == nil && !owned[node.Spec.ProviderID] && !w.young(node.CreationTimestamp.Time) {
			wrong = append(wrong, fmt.Sprintf("node %s has no nodeclaim", node.Name))
		}
	}
	return wrong
}

// steered lists the nodes with the soft taint of pools that do not ask for it. A node that leaves may keep it.
func steered(w *World) []string {
	wishes, of := map[string]bool{}, map[string]*api.NodeClaim{}
	for _, pool := range w.Pools {
		wishes[pool.Name] = disruption.SteersPods(pool)
	}
	for _, claim := range w.Claims {
		of[claim.Status.NodeName] = claim
	}
	var wrong []string
	for _, node := range w.Nodes {
		claim := of[node.Name]
		if !disruption.IsCandidate(node) || claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		if pool := claim.Labels[api.NodePoolLabelKey]; !wishes[pool] {
			wrong = append(wrong, fmt.Sprintf("node %s has the soft taint, and nodepool %s does not ask for it",
				node.Name, pool))
		}
	}
	return wrong
}
