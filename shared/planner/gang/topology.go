package gang

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/fairness"
	"github.com/whittle-dev/whittle/shared/plan"
)

// mostDomains bounds the values of a label that are tried, and mostQuestions those of all labels. Each
// attempt is a plan, for which everybody waits.
const (
	mostDomains   = 16
	mostQuestions = 4 * mostDomains
)

// domain is where a gang can be: one value of its topology label.
type domain struct {
	value  string
	placed int
	// price is the gang's share of the new nodes, in US dollars an hour.
	price float64
}

// settle chooses one value of the label for each gang that needs all of its pods on nodes with one,
// and returns the snapshot whose pods ask for it. Pods that run decide it for the others. Otherwise
// the value is the cheapest with room for the gang, where nodes in flight cost nothing. A gang for
// which no node can have the label gets a problem.
func settle(solve func(*plan.Snapshot) *plan.Plan, s *plan.Snapshot, all *gangs) *plan.Snapshot {
	open := map[string][]*gang{} // without a value, by the key of the label
	var asking []*gang           // the first of each key
	chosen := map[plan.PodRef]corev1.NodeSelectorRequirement{}
	for _, g := range all.list {
		if g.topology == "" {
			continue
		}
		if value := mostFrequent(g.domains); value != "" {
			g.choose(chosen, value)
			continue
		}
		if open[g.topology] == nil {
			asking = append(asking, g)
		}
		open[g.topology] = append(open[g.topology], g)
	}
	questions := 0
	for _, first := range fairness.InTurn(asking, func(g **gang) string { return (*g).Namespace }) {
		key := first.topology
		values := valuesOf(s, key)
		values = values[:min(len(values), mostDomains)]
		if questions += len(values); questions > mostQuestions {
			for _, g := range open[key] {
				g.problem = fmt.Sprintf("asks for nodes with one value of the label %q, and gangs ask for too many labels at a "+
					"time: it waits for a plan with fewer", key)
			}
			continue
		}
		for i, best := range all.bestDomains(solve, s, values, open[key]) {
			if best.value == "" {
				open[key][i].problem = fmt.Sprintf("asks for nodes with one value of the label %q, which no node and no "+
					"NodePool has: correct the annotation %q on its pods", key, api.RequiredTopologyAnnotationKey)
				continue
			}
			open[key][i].choose(chosen, best.value)
		}
	}
	return pinned(s, chosen)
}

// Keep returns the snapshot in which pods that have a node ask for its value of the label of which
// their gang needs one: those on nodes, which consolidation moves, and those that leave theirs. A
// move then does not tear a gang that runs.
func Keep(s *plan.Snapshot) *plan.Snapshot {
	kept := *s
	kept.Nodes = slices.Clone(s.Nodes)
	leaving := map[plan.PodRef]corev1.NodeSelectorRequirement{}
	nodes := map[string]*plan.Node{}
	for i := range kept.Nodes {
		node := &kept.Nodes[i]
		if node.Node == nil {
			continue
		}
		nodes[node.Node.Name] = node
		chosen := map[plan.PodRef]corev1.NodeSelectorRequirement{}
		for j := range node.Pods {
			keepOn(node, &node.Pods[j], chosen)
		}
		node.Pods = pinnedPods(node.Pods, chosen)
	}
	for i := range kept.Pods {
		if node := nodes[kept.Pods[i].Spec.NodeName]; node != nil {
			keepOn(node, &kept.Pods[i], leaving)
		}
	}
	kept.Pods = pinnedPods(kept.Pods, leaving)
	return &kept
}

// keepOn notes the node's value of the label of which the pod's gang needs one.
func keepOn(node *plan.Node, pod *corev1.Pod, chosen map[plan.PodRef]corev1.NodeSelectorRequirement) {
	key := api.RequiredTopology(pod.Annotations)
	if value := labelOf(node, key); key != "" && value != "" {
		chosen[plan.RefOf(pod)] = corev1.NodeSelectorRequirement{Key: key, Values: []string{value}}
	}
}

// choose notes the value of the gang's label for its pods.
func (g *gang) choose(chosen map[plan.PodRef]corev1.NodeSelectorRequirement, value string) {
	g.value = value
	for _, pod := range g.pods {
		chosen[pod] = corev1.NodeSelectorRequirement{Key: g.topology, Values: []string{value}}
	}
}

// mostFrequent is the value that most running pods have, the first one by name of several, or
// empty.
func mostFrequent(counts map[string]int) string {
	best := ""
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		if value != "" && counts[value] > counts[best] {
			best = value
		}
	}
	return best
}

// bestDomains returns the best value for each of some gangs. It plans once for each value, for these
// gangs alone.
func (all *gangs) bestDomains(
	solve func(*plan.Snapshot) *plan.Plan, s *plan.Snapshot, values []string, some []*gang,
) []domain {
	alone := all.onlyOf(s, some)
	best := make([]domain, len(some))
	for _, value := range values {
		chosen := map[plan.PodRef]corev1.NodeSelectorRequirement{}
		for _, g := range some {
			g.choose(chosen, value)
		}
		decided := solve(pinned(alone, chosen))
		outcomes, shares := all.outcomes(decided), all.shares(decided)
		for i, g := range some {
			found := domain{value: value, placed: outcomes[g].placed, price: shares[g]}
			if best[i].value == "" || found.isBetter(&best[i], g.MinMember-g.runs) {
				best[i] = found
			}
		}
	}
	return best
}

// isBetter reports whether the domain is better than another: with room for as many pods as the
// gang needs, cheaper, with room for more.
func (d *domain) isBetter(other *domain, needed int) bool {
	if d.placed >= needed && other.placed >= needed {
		return d.price < other.price
	}
	return d.placed > other.placed
}

// shares are what each gang's pods cost on the plan's new nodes. Pods of a node share its price equally.
func (all *gangs) shares(decided *plan.Plan) map[*gang]float64 {
	sums := map[*gang]float64{}
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		own := map[*gang]int{}
		for _, pod := range planned.Pods {
			own[all.of[pod]]++
		}
		for g, count := range own {
			sums[g] += planned.PricePerHour * float64(count) / float64(len(planned.Pods))
		}
	}
	return sums
}

// onlyOf is the snapshot with the waiting pods of these gangs alone.
func (all *gangs) onlyOf(s *plan.Snapshot, some []*gang) *plan.Snapshot {
	asked := setOf(some)
	rest := *s
	rest.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(pod corev1.Pod) bool {
		g := all.of[plan.RefOf(&pod)]
		return g == nil || !asked[g]
	})
	rest.SkipImprovement = true
	return &rest
}

// pinned is the snapshot in which the pods that wait ask for the chosen labels.
func pinned(s *plan.Snapshot, chosen map[plan.PodRef]corev1.NodeSelectorRequirement) *plan.Snapshot {
	rest := *s
	rest.Pods = pinnedPods(s.Pods, chosen)
	return &rest
}

// pinnedPods are the pods, which ask for the chosen labels. They share memory with others, which do
// not.
func pinnedPods(pods []corev1.Pod, chosen map[plan.PodRef]corev1.NodeSelectorRequirement) []corev1.Pod {
	if len(chosen) == 0 {
		return pods
	}
	pods = slices.Clone(pods)
	for i := range pods {
		pod := &pods[i]
		if asked, has := chosen[plan.RefOf(pod)]; has {
			selector := maps.Clone(pod.Spec.NodeSelector)
			if selector == nil {
				selector = map[string]string{}
			}
			selector[asked.Key] = cmp.Or(selector[asked.Key], asked.Values[0])
			pod.Spec.NodeSelector = selector
		}
	}
	return pods
}

// valuesOf are the values of a label that nodes have or can have, in their order.
func valuesOf(s *plan.Snapshot, key string) []string {
	found := map[string]bool{}
	for i := range s.Nodes {
		found[labelOf(&s.Nodes[i], key)] = true
	}
	for i := range s.NodePools {
		pool := &s.NodePools[i]
		found[pool.Spec.Template.Labels[key]] = true
		for _, required := range pool.Spec.Template.Spec.Requirements {
			if required.Key == key && required.Operator == corev1.NodeSelectorOpIn {
				note(found, required.Values)
			}
		}
		types := s.InstanceTypes[pool.Name]
		for j := range types {
			noteType(found, &types[j], key)
		}
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

func note(found map[string]bool, values []string) {
	for _, value := range values {
		found[value] = true
	}
}

// noteType notes the values of a label that a node of the type can have.
func noteType(found map[string]bool, t *catalog.InstanceType, key string) {
	if required, has := t.Requirements[key]; has {
		values, _ := required.Values()
		note(found, values)
	}
	for i := range t.Offerings {
		offering := &t.Offerings[i]
		if required, has := offering.Requirements[key]; has {
			values, _ := required.Values()
			note(found, values)
		}
		if key == api.LabelCapacityReservationID {
			found[offering.ReservationID] = true
		}
	}
}

// labelOf is the label of a node, or of one in flight.
func labelOf(node *plan.Node, key string) string {
	if node.Node != nil {
		return node.Node.Labels[key]
	}
	if node.NodeClaim != nil {
		return node.NodeClaim.Labels[key]
	}
	return ""
}
