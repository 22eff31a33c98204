// Package gang plans groups of pods of which a part is of no use: all that a gang needs, or nothing.
//
// Its place: functions and the command line plan through it. The planner itself plans pod by pod and
// knows nothing of gangs.
package gang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// attempts bounds how many gangs without room for all are tried again by themselves. Each attempt is a
// plan.
const attempts = 4

// Whole returns a solver whose plans place at least the least number of pods of a gang, or none. The
// solver is asked once where every gang is whole. Otherwise the pods of the other gangs are left out,
// and the most important of these gangs are tried again, one at a time: where two gangs compete for
// room, neither may have all of it.
//
// All pods of a gang with a required topology ask for one value of its label, which settle chooses.
//
// The solver is asked at most ten times, and once for each value of a required label. Pods that run
// count. A plan that leaves a gang out says in Unplaced what the gang lacks. Gangs of other schedulers are
// planned pod by pod, and Unplaced says so.
func Whole(solve func(*plan.Snapshot) *plan.Plan) func(*plan.Snapshot) *plan.Plan {
	planned := whole(solve)
	return func(s *plan.Snapshot) *plan.Plan {
		decided := planned(s)
		nameForeign(s, decided)
		return decided
	}
}

func whole(solve func(*plan.Snapshot) *plan.Plan) func(*plan.Snapshot) *plan.Plan {
	return func(s *plan.Snapshot) *plan.Plan {
		all := gangsOf(s)
		s = settle(solve, s, all)
		decided := solve(s)
		left := all.short(decided, nil)
		if len(left) == 0 {
			return decided
		}
		why := decided
		decided = solve(all.without(s, left))
		for _, g := range hopeful(left) {
			others := slices.DeleteFunc(slices.Clone(left), func(other *gang) bool { return other == g })
			attempt := solve(all.without(s, others))
			if len(all.short(attempt, others)) > 0 {
				g.why = attempt
				continue
			}
			left, decided = others, attempt
		}
		// Among fewer pods a gang that was whole may be short, because pods come in another order. It waits as
		// well, and in the end all gangs do.
		for turn := range attempts {
			again := all.short(decided, left)
			if len(again) == 0 {
				break
			}
			if left = append(left, again...); turn == attempts-1 {
				left = all.list
			}
			decided = solve(all.without(s, left))
		}
		outcomes := map[*plan.Plan]map[*gang]outcome{}
		for _, g := range left {
			if g.why == nil {
				g.why = why
			}
			if outcomes[g.why] == nil {
				outcomes[g.why] = all.outcomes(g.why)
			}
			decided.Unplaced = append(decided.Unplaced, g.unplaced(outcomes[g.why][g])...)
		}
		slices.SortFunc(decided.Unplaced, func(a, b plan.Unplaced) int { return plan.CompareRefs(a.Pod, b.Pod) })
		return decided
	}
}

// gangs are the gangs with pods that wait, the most important first, and the gang of each such pod. One
// tenant may have thousands, so that nothing asks each gang about each pod.
type gangs struct {
	list []*gang
	of   map[plan.PodRef]*gang
}

// gang is a gang with the pods that wait for a place.
type gang struct {
	*plan.Gang
	pods     []plan.PodRef
	runs     int // pods that have a node and keep it
	priority int32
	oldest   time.Time
	// topology is the key of a node label of which all pods need one value, or empty. Domains
	// counts the pods that run by the values of their nodes, and value is the one chosen for the
	// others.
	topology string
	domains  map[string]int
	value    string
	// problem says why the gang can have no place, whatever the plan.
	problem string
	// why is the last plan in which the gang was too small.
	why *plan.Plan
}

// gangsOf returns the gangs with pods that wait, in the order of the greatest priority of a pod, then of
// age.
func gangsOf(s *plan.Snapshot) *gangs {
	all := &gangs{of: map[plan.PodRef]*gang{}}
	byName := map[plan.GangRef]*gang{}
	for i := range s.Gangs {
		byName[s.Gangs[i].GangRef] = &gang{Gang: &s.Gangs[i], domains: map[string]int{}}
	}
	if len(byName) == 0 {
		return all
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		g := byName[plan.GangOf(pod)]
		if g == nil {
			continue
		}
		priority, created := int32(0), pod.CreationTimestamp.Time
		if pod.Spec.Priority != nil {
			priority = *pod.Spec.Priority
		}
		if len(g.pods) == 0 {
			all.list = append(all.list, g)
			g.priority, g.oldest = priority, created
		}
		g.priority = max(g.priority, priority)
		if created.Before(g.oldest) {
			g.oldest = created
		}
		g.pods = append(g.pods, plan.RefOf(pod))
		all.of[plan.RefOf(pod)] = g
		g.topology = cmp.Or(g.topology, api.RequiredTopology(pod.Annotations))
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Pods {
			pod := &s.Nodes[i].Pods[j]
			if g := byName[plan.GangOf(pod)]; g != nil && all.of[plan.RefOf(pod)] != g && keepsItsNode(pod) {
				g.runs++
				g.domains[labelOf(&s.Nodes[i], g.topology)]++
			}
		}
	}
	slices.SortFunc(all.list, func(a, b *gang) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), a.oldest.Compare(b.oldest),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all
}

// keepsItsNode reports whether a pod on a node counts as running.
func keepsItsNode(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !scheduling.IsTerminal(pod)
}

// outcome is what a plan means for a gang: how many of its waiting pods it places, and why it places
// no more.
type outcome struct {
	placed  int
	reasons []plan.Reason
}

// outcomes are those of the plan for all gangs.
func (all *gangs) outcomes(decided *plan.Plan) map[*gang]outcome {
	found := make(map[*gang]outcome, len(all.list))
	for _, g := range all.list {
		found[g] = outcome{placed: len(g.pods)}
	}
	for i := range decided.Unplaced {
		g := all.of[decided.Unplaced[i].Pod]
		if g == nil {
			continue
		}
		of := found[g]
		if of.placed--; of.reasons == nil {
			of.reasons = decided.Unplaced[i].Reasons
		}
		found[g] = of
	}
	return found
}

// short returns the gangs of which the plan places too few pods, in their order. Except are gangs that the
// plan was not asked for.
func (all *gangs) short(decided *plan.Plan, except []*gang) []*gang {
	excepted, outcomes := setOf(except), all.outcomes(decided)
	var found []*gang
	for _, g := range all.list {
		if !excepted[g] && (g.problem != "" || g.runs+outcomes[g].placed < g.MinMember) {
			found = append(found, g)
		}
	}
	return found
}

func setOf(gangs []*gang) map[*gang]bool {
	set := make(map[*gang]bool, len(gangs))
	for _, g := range gangs {
		set[g] = true
	}
	return set
}

// hopeful are the first gangs that a plan by themselves may help.
func hopeful(left []*gang) []*gang {
	may := slices.DeleteFunc(slices.Clone(left), func(g *gang) bool { return g.problem != "" })
	return may[:min(len(may), attempts)]
}

// without is the snapshot without the waiting pods of these gangs.
func (all *gangs) without(s *plan.Snapshot, some []*gang) *plan.Snapshot {
	left := setOf(some)
	rest := *s
	rest.Pods = make([]corev1.Pod, 0, len(s.Pods))
	for i := range s.Pods {
		if g := all.of[plan.RefOf(&s.Pods[i])]; g == nil || !left[g] {
			rest.Pods = append(rest.Pods, s.Pods[i])
		}
	}
	return &rest
}

// unplaced says for each waiting pod of the gang what the gang lacks.
func (g *gang) unplaced(of outcome) []plan.Unplaced {
	where := ""
	if g.topology != "" {
		where = fmt.Sprintf(" on nodes with %s=%s", g.topology, g.value)
	}
	need := fmt.Sprintf("the gang %q needs %d pods at a time%s, of which %d run and %d more have a place: nothing is "+
		"launched for a part of it", g.Namespace+"/"+g.Name, g.MinMember, where, g.runs, of.placed)
	lacks := len(g.pods) + g.runs
	if lacks < g.MinMember {
		need = fmt.Sprintf("the gang %q needs %d pods at a time, and %d wait or run: create the others, or lower "+
			"spec.minMember of its PodGroup", g.Namespace+"/"+g.Name, g.MinMember, lacks)
	}
	if g.problem != "" {
		need = fmt.Sprintf("the gang %q %s", g.Namespace+"/"+g.Name, g.problem)
	}
	reasons := []plan.Reason{{Message: need}}
	if lacks >= g.MinMember && g.problem == "" {
		reasons = append(reasons, of.reasons...)
	}
	list := make([]plan.Unplaced, len(g.pods))
	for i, pod := range g.pods {
		list[i] = plan.Unplaced{Pod: pod, Reasons: reasons}
	}
	return list
}
