package schedulertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// homesOf is where the plan puts each pod, with its claims launched as the nodes.
func homesOf(made *plan.Plan, launched []*corev1.Node) map[plan.PodRef]string {
	homes := map[plan.PodRef]string{}
	for i := range made.NodeClaims {
		for _, ref := range made.NodeClaims[i].Pods {
			homes[ref] = launched[i].Name
		}
	}
	for _, n := range made.Nominations {
		homes[n.Pod] = n.NodeName
	}
	return homes
}

// placed are the pods that the plan has a place for, node by node.
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

// reasons are why the plan leaves pods out, for a message.
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

// describe lists the plan's nodes, for a message.
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

// elsewhere counts the pods that are not where the plan would have them.
func (s states) elsewhere(homes map[plan.PodRef]string) int { return len(s.away(homes)) }

// away are the pods that are not where the plan would have them, sorted.
func (s states) away(homes map[plan.PodRef]string) []plan.PodRef {
	var refs []plan.PodRef
	for ref, home := range homes {
		if s[ref].Spec.NodeName != home {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b plan.PodRef) int { return strings.Compare(a.String(), b.String()) })
	return refs
}

// needless are the nodes that run nothing but daemon sets' pods.
func (s states) needless(launched []*corev1.Node) []string {
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

// whereabouts lists where the pods are, for a message.
func (s states) whereabouts(homes map[plan.PodRef]string) string {
	byNode := map[string][]string{}
	for ref, pod := range s {
		name := ref.String()
		if home := homes[ref]; home != "" && home != pod.Spec.NodeName {
			name += "(planned on " + home + ")"
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
