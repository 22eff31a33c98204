package schedulertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// plannedNodesOf returns the name of each pod's planned node. launched are the nodes of the plan's
// claims.
func plannedNodesOf(made *plan.Plan, launched []*corev1.Node) map[plan.PodRef]string {
	plannedNodes := map[plan.PodRef]string{}
	for i := range made.NodeClaims {
		for _, ref := range made.NodeClaims[i].Pods {
			plannedNodes[ref] = launched[i].Name
		}
	}
	for _, n := range made.Nominations {
		plannedNodes[n.Pod] = n.NodeName
	}
	return plannedNodes
}

// placed returns the pods that the plan places, node by node.
func placed(made *plan.Plan) []plan.PodRef {
	var refs []plan.PodRef
	for i := range made.NodeClaims {
		refs = append(refs, made.NodeClaims[i].Pods...)
	}
	for _, n := range made.Nominations {
		refs = append(refs, n.Pod)
	}
	return refs
}

func unplacedOf(made *plan.Plan) []plan.PodRef {
	var refs []plan.PodRef
	for _, u := range made.Unplaced {
		refs = append(refs, u.Pod)
	}
	return refs
}

// reasons prints why the plan leaves pods out.
func reasons(made *plan.Plan) string {
	var text strings.Builder
	for _, u := range made.Unplaced {
		fmt.Fprintf(&text, "\n%s:", u.Pod)
		for _, reason := range u.Reasons {
			fmt.Fprintf(&text, " %s;", reason)
		}
	}
	return text.String()
}

// describe prints the plan's nodes.
func describe(made *plan.Plan) string {
	var text strings.Builder
	for i := range made.NodeClaims {
		claim := &made.NodeClaims[i]
		first, last := claim.Offerings[0], claim.Offerings[len(claim.Offerings)-1]
		fmt.Fprintf(
			&text,
			"planned node %d: %s %s %s (or as the last of %d: %s %s), labels %v, pods %v\n",
			i,
			first.InstanceType,
			first.Zone,
			first.CapacityType,
			len(claim.Offerings),
			last.InstanceType,
			last.Zone,
			claim.NodeClaim.Labels,
			claim.Pods,
		)
	}
	for _, n := range made.Nominations {
		fmt.Fprintf(&text, "nominated: %s to %s\n", n.Pod, n.NodeName)
	}
	return text.String()
}

// misplaced returns the pods that are not on their planned nodes, sorted.
func (s states) misplaced(plannedNodes map[plan.PodRef]string) []plan.PodRef {
	var refs []plan.PodRef
	for ref, planned := range plannedNodes {
		if s[ref].Spec.NodeName != planned {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b plan.PodRef) int { return strings.Compare(a.String(), b.String()) })
	return refs
}

// emptyNodes returns the names of nodes that run only pods of daemon sets.
func (s states) emptyNodes(launched []*corev1.Node) []string {
	used := map[string]bool{}
	for _, pod := range s {
		used[pod.Spec.NodeName] = true
	}
	var names []string
	for _, node := range launched {
		if !used[node.Name] {
			names = append(names, node.Name)
		}
	}
	return names
}

// placements prints where the pods are.
func (s states) placements(plannedNodes map[plan.PodRef]string) string {
	byNode := map[string][]string{}
	for ref, pod := range s {
		name := ref.String()
		if planned := plannedNodes[ref]; planned != "" && planned != pod.Spec.NodeName {
			name += "(planned on " + planned + ")"
		}
		byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], name)
	}
	var text strings.Builder
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		slices.Sort(byNode[node])
		fmt.Fprintf(&text, "on node %q: %v\n", node, byNode[node])
	}
	return text.String()
}
