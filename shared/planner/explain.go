package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func (p *problem) unplaced(pods []*corev1.Pod, reasons []plan.Reason) {
	for _, pod := range pods {
		p.plan.Unplaced = append(p.plan.Unplaced, plan.Unplaced{Pod: plan.RefOf(pod), Reasons: reasons})
	}
}

// explain says what keeps a demand from a pool, by the first of these that does: the pool itself, taints, labels, instance types, host ports, size, limits.
func (p *problem) explain(pool *pool, d *demand) string {
	if pool.problem != "" {
		return pool.problem
	}
	if err := scheduling.Tolerates(pool.api.Spec.Template.Spec.Taints, d.shape.tolerations); err != nil {
		text := fmt.Sprintf("%v: add a toleration to the pod, or remove the taint from spec.template.spec.taints", err)
		if rest := p.explainNodes(pool, d); rest != "" && len(pool.minValues) == 0 {
			text += "; a toleration alone would not do: " + rest
		}
		return text
	}
	if text := p.explainNodes(pool, d); text != "" {
		return text
	}
	return "its nodes were given to other pods first; it is tried again"
}

// explainNodes is explain for pods that tolerate the pool's taints; empty if nothing keeps them from its nodes.
func (p *problem) explainNodes(pool *pool, d *demand) string {
	var problems []string
	for _, alternative := range d.alternatives {
		if err := pool.requirements.Compatible(alternative, p.offers.undefined); err != nil {
			problems = append(problems, fmt.Sprintf("%v; change the pod's nodeSelector or node affinity, or what the pool's spec.template sets (metadata.labels, spec.requirements)", err))
			continue
		}
		set, _ := p.offers.sets.meeting(pool, alternative)
		if set.empty() {
			problems = append(problems, p.explainTypes(pool, alternative))
			continue
		}
		fitting := set.clone()
		p.offers.keepFitting(fitting, pool, &shape{}, d.need)
		if fitting.empty() {
			problems = append(problems, p.explainSize(pool, d, set))
			continue
		}
		p.offers.keepFitting(fitting, pool, d.shape, d.need)
		if fitting.empty() {
			return "a host port of the pod is taken by a daemon set on every node: change hostPort"
		}
		if text := p.explainLimits(pool, fitting); text != "" {
			return text
		}
		if len(pool.minValues) > 0 {
			return p.explainMinValues(pool, d, fitting)
		}
		return ""
	}
	slices.Sort(problems)
	return strings.Join(slices.Compact(problems), "; or ")
}

// explainMinValues says what keeps minValues from being met by a claim for the demand: a limit, which counts a claim with the greatest of its types, or the lack of types.
func (p *problem) explainMinValues(pool *pool, d *demand, fitting bitset) string {
	met := p.offers.meetsMinValues(pool, fitting.all())
	for i, l := range pool.limits {
		planned := p.plannedOf(pool, i)
		for j := range fitting.all() {
			if p.offers.configOf(j).use[i] > l.most-l.used-planned {
				fitting.remove(j)
			}
		}
		if met && !p.offers.meetsMinValues(pool, fitting.all()) {
			return fmt.Sprintf("minValues %s cannot be met within the limit of %s %s: %s; raise spec.limits, or lower minValues in spec.template.spec.requirements",
				minValuesText(pool), l.name, amountText(l.name, l.most), usedText(l, planned))
		}
	}
	text := fmt.Sprintf("minValues %s cannot be met by the instance types that hold the pod", minValuesText(pool))
	for _, key := range sortedKeys(d.bound) {
		text += fmt.Sprintf(" in %s %s", key, d.bound[key])
	}
	return text + ": lower minValues in spec.template.spec.requirements"
}

func minValuesText(pool *pool) string {
	var parts []string
	for _, key := range sortedKeys(pool.minValues) {
		parts = append(parts, fmt.Sprintf("%d of %s", pool.minValues[key], key))
	}
	return strings.Join(parts, ", ")
}

// explainTypes says why none of the pool's columns meets the requirements although its template does.
func (p *problem) explainTypes(pool *pool, requirements scheduling.Requirements) string {
	for _, key := range requirements.Keys() {
		set := newBitset(len(p.offers.columns))
		set.or(pool.columns)
		set.and(p.offers.sets.allowing(requirements[key]))
		if set.empty() {
			return fmt.Sprintf("%s has %s in an offering available now%s: change the pod, or allow other types in spec.template.spec.requirements",
				noneOf(pool.endConfig-pool.firstConfig), requirements[key], p.thereAre(pool, key))
		}
	}
	return fmt.Sprintf("%s has all of %s in an offering available now: change the pod, or allow other types in spec.template.spec.requirements",
		noneOf(pool.endConfig-pool.firstConfig), requirements)
}

// valuesNamed is how many values a reason names.
const valuesNamed = 8

// thereAre says which values of a label the pool's nodes can have; empty if there are none or many.
func (p *problem) thereAre(pool *pool, key string) string {
	var values []string
	for j := range pool.columns.all() {
		for _, value := range p.offers.valuesOf(pool, j, key) {
			if values = withValue(values, value); len(values) > valuesNamed {
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

// noneOf is the subject of what no type of a pool does.
func noneOf(types int) string {
	if types == 1 {
		return "not even its one instance type"
	}
	return fmt.Sprintf("none of its %d instance types", types)
}

// explainSize names the first resource that no instance type has enough of, and the type that comes closest.
func (p *problem) explainSize(pool *pool, d *demand, set bitset) string {
	types, largest := 0, make([]int, len(p.work.axes.names))
	for r := range largest {
		largest[r] = -1
	}
	for i := pool.firstConfig; i < pool.endConfig; i++ {
		if !p.anyColumn(set, i) {
			continue
		}
		types++
		for r := range largest {
			if largest[r] < 0 || p.offers.configs[i].free[r] > p.offers.configs[largest[r]].free[r] {
				largest[r] = i
			}
		}
	}
	for r, name := range p.work.axes.names {
		if name == corev1.ResourceCPU && d.need[r] >= million*1000 {
			return fmt.Sprintf("requires cpu %s, which no machine has: is M (mega) written where m (thousandths of a core) is meant?", amountText(name, d.need[r]))
		}
		if best := &p.offers.configs[largest[r]]; d.need[r] > max(best.free[r], 0) {
			largest := "its one instance type"
			if types > 1 {
				largest = fmt.Sprintf("the largest of its %d instance types", types)
			}
			if has := best.typ.Allocatable[name]; has.Sign() <= 0 {
				return fmt.Sprintf("requires %s %s, of which %s has any: allow types that do in spec.template.spec.requirements", name, amountText(name, d.need[r]), noneOf(types))
			}
			return fmt.Sprintf("requires %s %s, %s offers %s (%s)%s: lower the request or allow larger types in spec.template.spec.requirements",
				name, amountText(name, d.need[r]), largest, amountText(name, max(best.free[r], 0)), best.typ.Name, p.daemonText(best))
		}
	}
	var needs []string
	for r, name := range p.work.axes.names {
		if d.need[r] > 0 && name != corev1.ResourcePods {
			needs = append(needs, fmt.Sprintf("%s %s", name, amountText(name, d.need[r])))
		}
	}
	return fmt.Sprintf("requires %s together, which none of its %d instance types offers: lower a request or allow larger types in spec.template.spec.requirements",
		strings.Join(needs, ", "), types)
}

// million cores is more than a request can mean.
const million = 1_000_000

// amountText is an amount as people write it: cores with decimals, bytes in Mi or Gi.
func amountText(name corev1.ResourceName, amount int64) string {
	decimal := func(n float64, digits int) string {
		text := strconv.FormatFloat(n, 'f', digits, 64)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	switch {
	case amount == 0:
		return "0"
	case name == corev1.ResourceCPU:
		return decimal(float64(amount)/1000, 3)
	case name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage || amount < 1<<20:
		return quantityOf(name, amount).String()
	case amount < 1<<30:
		return decimal(float64(amount)/(1<<20), 1) + "Mi"
	}
	return decimal(float64(amount)/(1<<30), 1) + "Gi"
}

func (p *problem) anyColumn(set bitset, config int) bool {
	return slices.ContainsFunc(p.offers.configs[config].columns, set.has)
}

func (p *problem) daemonText(c *config) string {
	if len(c.daemons) == 0 {
		return ""
	}
	return " beside its daemon sets"
}

// explainLimits names the limit that even the smallest node which would do exceeds; empty if there is none.
func (p *problem) explainLimits(pool *pool, fitting bitset) string {
	left := pool.left()
	for i, l := range pool.limits {
		planned, smallest := p.plannedOf(pool, i), int64(-1)
		for j := range fitting.all() {
			if use := p.offers.configs[p.offers.columns[j].config].use[i]; smallest < 0 || use < smallest {
				smallest = use
			}
		}
		if smallest > left[i]-planned {
			return fmt.Sprintf("limit of %s %s reached: %s, and the smallest node for the pod needs %s: raise spec.limits",
				l.name, amountText(l.name, l.most), usedText(l, planned), amountText(l.name, smallest))
		}
	}
	return ""
}

func usedText(l limit, planned int64) string {
	text := "its nodes have " + amountText(l.name, l.used)
	if planned > 0 {
		text += fmt.Sprintf(", this plan's %s", amountText(l.name, planned))
	}
	return text
}

// plannedOf is the most that the plan's nodes can take of the pool's limit i.
func (p *problem) plannedOf(pool *pool, i int) int64 {
	planned := int64(0)
	for _, claim := range p.plan.NodeClaims {
		if claim.NodeClaim.Labels[api.NodePoolLabelKey] == pool.name() {
			planned += p.plannedUse(pool, &claim, i)
		}
	}
	return planned
}

// plannedUse is the most that a planned node can take of the pool's limit i.
func (p *problem) plannedUse(pool *pool, claim *plan.PlannedNodeClaim, i int) int64 {
	most := int64(0)
	for j := pool.firstConfig; j < pool.endConfig; j++ {
		if slices.Contains(claim.InstanceTypes, p.offers.configs[j].typ.Name) {
			most = max(most, p.offers.configs[j].use[i])
		}
	}
	return most
}

// planUnplaced notes the pods without a place, and for each node pool why.
func (p *problem) planUnplaced() {
	for _, left := range p.refused {
		switch {
		case left.demand == nil:
			p.unplaced(left.pods, []plan.Reason{{Message: left.reason}})
		case len(p.offers.pools) == 0:
			p.unplaced(left.pods, []plan.Reason{{Message: "there is no node pool: create a NodePool and an EC2NodeClass"}})
		default:
			var reasons []plan.Reason
			for _, pool := range p.offers.pools {
				reasons = append(reasons, plan.Reason{NodePool: pool.name(), Message: p.explain(pool, left.demand)})
			}
			p.unplaced(left.pods, reasons)
		}
	}
}
