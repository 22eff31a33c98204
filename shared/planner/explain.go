package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// explainUnplaced notes the pods without a place, with a reason for each NodePool. Pools that get no
// nodes come last.
func (p *planning) explainUnplaced() {
	for _, left := range p.refused {
		switch {
		case left.Demand == nil:
			p.addUnplaced(left.Pods, []plan.Reason{{Message: left.Reason}})
		case len(p.offers.Pools)+len(p.work.Snapshot.UnusablePools) == 0:
			p.addUnplaced(left.Pods, []plan.Reason{{Message: "there is no node pool: create a NodePool and an EC2NodeClass"}})
		default:
			var reasons []plan.Reason
			for _, variants := range p.offers.ByNodePool() {
				pool := p.nearest(variants, left.Demand)
				reasons = append(reasons, plan.Reason{NodePool: pool.Name(), Message: p.explain(pool, left.Demand)})
			}
			for _, pool := range p.work.Snapshot.UnusablePools {
				reasons = append(reasons, plan.Reason(pool))
			}
			p.addUnplaced(left.Pods, reasons)
		}
	}
	slices.SortFunc(p.plan.Unplaced, func(a, b plan.Unplaced) int { return plan.CompareRefs(a.Pod, b.Pod) })
}

func (p *planning) addUnplaced(pods []*corev1.Pod, reasons []plan.Reason) {
	for _, pod := range pods {
		p.plan.Unplaced = append(p.plan.Unplaced, plan.Unplaced{Pod: plan.RefOf(pod), Reasons: reasons})
	}
}

// nearest is the variant of a NodePool that explains best why it has no place for a demand: one with
// room, or else one that allows its labels.
func (p *planning) nearest(variants []*offering.Pool, d *placement.Demand) *offering.Pool {
	best, most := variants[0], 0
	if len(variants) == 1 {
		return best
	}
	for _, pool := range variants {
		for _, alternative := range d.Alternatives.List() {
			set, _ := p.offers.Feasibilities.Meeting(pool, alternative)
			if set == nil {
				continue
			}
			rank := 1
			if p.offers.KeepRoom(set, d.Need); !set.Empty() {
				rank = 2
			}
			if rank > most {
				best, most = pool, rank
			}
		}
	}
	return best
}

// explain names the first thing that keeps a demand from a pool's nodes: the pool itself, taints,
// labels, instance types, host ports, size, limits, reservations or minValues. It also names the remedy.
func (p *planning) explain(pool *offering.Pool, d *placement.Demand) string {
	if pool.Problem != "" {
		return pool.Problem
	}
	if err := scheduling.Tolerates(pool.NodePool.Spec.Template.Spec.Taints, d.Group.Tolerations); err != nil {
		text := fmt.Sprintf("%v: add a toleration to the pod, or remove the taint from spec.template.spec.taints", err)
		if further := p.explainNodes(pool, d); further != "" && len(pool.MinValues) == 0 {
			text += "; a toleration alone would not do: " + further
		}
		return text
	}
	if text := p.explainNodes(pool, d); text != "" {
		return text
	}
	return "its nodes were given to other pods first; it is tried again"
}

// problemsNamed is the most problems with node terms that a reason names.
const problemsNamed = 8

// explainNodes is explain for pods that tolerate the pool's taints. It is empty if nothing keeps
// them from its nodes.
func (p *planning) explainNodes(pool *offering.Pool, d *placement.Demand) string {
	var problems []string
	for _, alternative := range d.Alternatives.List() {
		if len(problems) >= problemsNamed && !pool.Requirements.IsCompatible(alternative, p.offers.Undefined) {
			continue
		}
		if err := pool.Template.Compatible(alternative, p.offers.Undefined); err != nil {
			problems = append(problems, fmt.Sprintf("%v; change the pod's nodeSelector or node affinity, "+
				"or what the pool's spec.template sets (metadata.labels, spec.requirements)", err))
			continue
		}
		set, _ := p.offers.Feasibilities.Meeting(pool, alternative)
		if set == nil {
			continue // Another variant of the NodePool is for this alternative.
		}
		if set.Empty() && len(problems) >= problemsNamed {
			continue
		}
		if set.Empty() {
			problems = append(problems, p.explainTypes(pool, alternative)+p.orCrowded(pool, d, alternative))
			continue
		}
		if problem := p.explainSize(pool, d, set); problem != "" {
			problems = append(problems, problem+p.orCrowded(pool, d, alternative))
			continue
		}
		// This alternative has nodes that are large enough, so the others do not matter.
		return p.explainFitting(pool, d, set)
	}
	slices.Sort(problems)
	return strings.Join(slices.Compact(problems), "; or ")
}

// orCrowded adds to a reason that types with room for the demand have none for their daemon sets.
func (p *planning) orCrowded(pool *offering.Pool, d *placement.Demand, alternative scheduling.Requirements) string {
	if text := p.offers.ExplainCrowded(pool, alternative, d.Need); text != "" {
		return "; of types that would do, " + text
	}
	return ""
}

// explainFitting names what keeps the demand from nodes with the right labels and enough room: host
// ports, limits, full reservations or minValues.
func (p *planning) explainFitting(pool *offering.Pool, d *placement.Demand, set dense.Set) string {
	fitting := set.Clone()
	p.offers.KeepFitting(fitting, pool, d.Group, d.Need)
	if fitting.Empty() {
		return p.explainDaemons(pool, d.Group)
	}
	if text := p.explainLimits(pool, fitting); text != "" {
		return text
	}
	if text := p.explainReservations(fitting); text != "" {
		return text
	}
	if len(pool.MinValues) > 0 {
		return p.explainMinValues(pool, d, fitting)
	}
	return ""
}

// explainDaemons names the daemon set that keeps the group's pods from every node of the pool.
func (p *planning) explainDaemons(pool *offering.Pool, g *workload.Group) string {
	for _, i := range g.Beside.Avoided {
		if p.offers.RunsDaemonSet(pool, i) {
			set := &p.work.Snapshot.DaemonSets[i]
			return fmt.Sprintf("anti-affinity keeps the pod off every node, because daemon set %s/%s runs there: "+
				"change the labels that the anti-affinity selects, or the daemon set's node selector", set.Namespace, set.Name)
		}
	}
	for _, sets := range g.Beside.Wanted {
		if !slices.ContainsFunc(sets, func(i int) bool { return p.offers.RunsDaemonSet(pool, i) }) {
			set := &p.work.Snapshot.DaemonSets[sets[0]]
			return fmt.Sprintf("pod affinity wants pods of daemon set %s/%s on the node, which does not run there: "+
				"change the pod's affinity, or the daemon set's node selector", set.Namespace, set.Name)
		}
	}
	return "a host port of the pod is taken by a daemon set on every node: change hostPort"
}

// explainMinValues says why no claim for the demand meets minValues. The reason is a limit, which
// counts a claim with the greatest of its types, or a lack of types.
func (p *planning) explainMinValues(pool *offering.Pool, d *placement.Demand, fitting dense.Set) string {
	met := p.offers.MeetsMinValues(pool, fitting.All())
	for _, i := range p.offers.LimitsOf(pool) {
		l := &p.offers.Limits[i]
		planned := p.plannedUse(i)
		for j := range fitting.All() {
			if offering.UseOf(p.offers.LimitUse(j), i) > l.Most-l.Used-planned {
				fitting.Remove(j)
			}
		}
		if met && !p.offers.MeetsMinValues(pool, fitting.All()) {
			return fmt.Sprintf("minValues %s cannot be met within the limit of %s: %s; "+
				"%s, or lower minValues in spec.template.spec.requirements",
				minValuesText(pool), limitText(l), usedText(l, planned), l.Owner.Remedy())
		}
	}
	text := fmt.Sprintf("minValues %s cannot be met by the instance types that hold the pod", minValuesText(pool))
	for _, key := range dense.SortedKeys(d.Domains) {
		text += fmt.Sprintf(" in %s %s", key, d.Domains[key])
	}
	return text + ": lower minValues in spec.template.spec.requirements"
}

func minValuesText(pool *offering.Pool) string {
	var parts []string
	for _, key := range dense.SortedKeys(pool.MinValues) {
		parts = append(parts, fmt.Sprintf("%d of %s", pool.MinValues[key], key))
	}
	return strings.Join(parts, ", ")
}

// explainTypes says why no offering of the pool meets the requirements although its template does.
func (p *planning) explainTypes(pool *offering.Pool, requirements scheduling.Requirements) string {
	none := noneOf(pool.EndType - pool.FirstType)
	for _, key := range requirements.Keys() {
		set := pool.Offerings.Clone()
		set.And(p.offers.Feasibilities.Allowing(requirements[key]))
		if set.Empty() {
			return fmt.Sprintf("%s has %s in an offering available now%s: "+
				"change the pod, or allow other types in spec.template.spec.requirements",
				none, requirements[key], p.existingValues(pool, key))
		}
	}
	return fmt.Sprintf("%s has all of %s in an offering available now: "+
		"change the pod, or allow other types in spec.template.spec.requirements", none, requirements)
}

// valuesNamed is the most values of a label that a reason names.
const valuesNamed = 8

// existingValues names the values of a label that the pool's nodes can have. It is empty if there
// are none, or many.
func (p *planning) existingValues(pool *offering.Pool, key string) string {
	if len(p.offers.Feasibilities.Domains(key)) == 0 {
		return ""
	}
	var values []string
	for j := range pool.Offerings.All() {
		for _, value := range p.offers.ValuesOf(pool, j, key) {
			if !slices.Contains(values, value) {
				values = append(values, value)
			}
			if len(values) > valuesNamed {
				return ""
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	slices.Sort(values)
	return " (there is " + strings.Join(values, ", ") + ")"
}

// noneOf is the subject of a sentence about so many instance types.
func noneOf(types int) string {
	if types == 1 {
		return "not even its one instance type"
	}
	return fmt.Sprintf("none of its %d instance types", types)
}

// explainLimits names the limit that even the smallest fitting node exceeds, or the limits of which
// each fitting node exceeds one. It is empty if there is none.
func (p *planning) explainLimits(pool *offering.Pool, fitting dense.Set) string {
	left := p.offers.LimitsLeft()
	for i := range left {
		left[i] -= p.plannedUse(i)
	}
	for _, i := range p.offers.LimitsOf(pool) {
		if smallest, all := p.offers.LeastLimitUse(i, fitting); all && smallest > left[i] {
			return p.reachedText(i, smallest)
		}
	}
	if !p.offers.UsesDiffer {
		return ""
	}
	return p.explainSeveral(pool, fitting, left)
}

// explainSeveral is explainLimits for several limits.
func (p *planning) explainSeveral(pool *offering.Pool, fitting dense.Set, left []int64) string {
	within := fitting.Clone()
	if p.offers.KeepWithin(within, left); !within.Empty() {
		return ""
	}
	var texts []string
	for _, i := range p.offers.LimitsOf(pool) {
		smallest := int64(-1)
		for j := range fitting.All() {
			for _, use := range p.offers.LimitUse(j) {
				if use.Limit == i && use.Amount > left[i] && (smallest < 0 || use.Amount < smallest) {
					smallest = use.Amount
				}
			}
		}
		if smallest >= 0 {
			texts = append(texts, p.reachedText(i, smallest))
		}
	}
	return strings.Join(texts, "; and ")
}

// reachedText says that the limit has no room for a node that takes this amount.
func (p *planning) reachedText(i int, smallest int64) string {
	l, kind := &p.offers.Limits[i], "smallest"
	if l.Name == api.ResourceDollarsPerHour {
		kind = "cheapest"
	}
	return fmt.Sprintf("limit of %s reached: %s, and the %s node for the pod needs %s: %s",
		limitText(l), usedText(l, p.plannedUse(i)), kind, resource.Text(l.Name, smallest), l.Owner.Remedy())
}

func limitText(l *offering.Limit) string {
	return fmt.Sprintf("%s %s%s", l.Name, resource.Text(l.Name, l.Most), l.Owner.Owner())
}

func usedText(l *offering.Limit, planned int64) string {
	text := "its nodes have " + resource.Text(l.Name, l.Used)
	if planned > 0 {
		text += fmt.Sprintf(", this plan's %s", resource.Text(l.Name, planned))
	}
	return text
}

// plannedUse is the most that the plan's nodes can take of limit i: each claim counts with the
// greatest of its choices.
func (p *planning) plannedUse(i int) int64 {
	if p.state.LimitsLeft == nil {
		return 0
	}
	l := &p.offers.Limits[i]
	return l.Most - l.Used - p.state.LimitsLeft[i]
}
