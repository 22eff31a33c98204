package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func (p *planning) unplaced(pods []*corev1.Pod, reasons []plan.Reason) {
	for _, pod := range pods {
		p.plan.Unplaced = append(p.plan.Unplaced, plan.Unplaced{Pod: plan.RefOf(pod), Reasons: reasons})
	}
}

// explain says what keeps a demand from a pool, by the first of these that does: the pool itself, taints, labels, instance types, host ports, size, limits.
func (p *planning) explain(pool *offering.Pool, d *placement.Demand) string {
	if pool.Problem != "" {
		return pool.Problem
	}
	if err := scheduling.Tolerates(pool.NodePool.Spec.Template.Spec.Taints, d.Group.Tolerations); err != nil {
		text := fmt.Sprintf("%v: add a toleration to the pod, or remove the taint from spec.template.spec.taints", err)
		if rest := p.explainNodes(pool, d); rest != "" && len(pool.MinValues) == 0 {
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
func (p *planning) explainNodes(pool *offering.Pool, d *placement.Demand) string {
	var problems []string
	for _, alternative := range d.Alternatives.List() {
		if err := pool.Requirements.Compatible(alternative, p.offers.Undefined); err != nil {
			problems = append(problems, fmt.Sprintf("%v; change the pod's nodeSelector or node affinity, or what the pool's spec.template sets (metadata.labels, spec.requirements)", err))
			continue
		}
		set, _ := p.offers.Feasibilities.Meeting(pool, alternative)
		if set.Empty() {
			problems = append(problems, p.explainTypes(pool, alternative))
			continue
		}
		fitting := set.Clone()
		p.offers.KeepFitting(fitting, pool, &workload.Group{}, d.Need)
		if fitting.Empty() {
			problems = append(problems, p.explainSize(pool, d, set))
			continue
		}
		p.offers.KeepFitting(fitting, pool, d.Group, d.Need)
		if fitting.Empty() {
			return "a host port of the pod is taken by a daemon set on every node: change hostPort"
		}
		if text := p.explainLimits(pool, fitting); text != "" {
			return text
		}
		if len(pool.MinValues) > 0 {
			return p.explainMinValues(pool, d, fitting)
		}
		return ""
	}
	slices.Sort(problems)
	return strings.Join(slices.Compact(problems), "; or ")
}

// explainMinValues says what keeps minValues from being met by a claim for the demand: a limit, which counts a claim with the greatest of its types, or the lack of types.
func (p *planning) explainMinValues(pool *offering.Pool, d *placement.Demand, fitting dense.Set) string {
	met := p.offers.MeetsMinValues(pool, fitting.All())
	for i, l := range pool.Limits {
		planned := p.plannedOf(pool, i)
		for j := range fitting.All() {
			if p.offers.PoolTypeOf(j).LimitUse[i] > l.Most-l.Used-planned {
				fitting.Remove(j)
			}
		}
		if met && !p.offers.MeetsMinValues(pool, fitting.All()) {
			return fmt.Sprintf("minValues %s cannot be met within the limit of %s %s: %s; raise spec.limits, or lower minValues in spec.template.spec.requirements",
				minValuesText(pool), l.Name, amountText(l.Name, l.Most), usedText(l, planned))
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

// explainTypes says why none of the pool's columns meets the requirements although its template does.
func (p *planning) explainTypes(pool *offering.Pool, requirements scheduling.Requirements) string {
	for _, key := range requirements.Keys() {
		set := dense.NewSet(len(p.offers.Offerings))
		set.Or(pool.Offerings)
		set.And(p.offers.Feasibilities.Allowing(requirements[key]))
		if set.Empty() {
			return fmt.Sprintf("%s has %s in an offering available now%s: change the pod, or allow other types in spec.template.spec.requirements",
				noneOf(pool.EndType-pool.FirstType), requirements[key], p.thereAre(pool, key))
		}
	}
	return fmt.Sprintf("%s has all of %s in an offering available now: change the pod, or allow other types in spec.template.spec.requirements",
		noneOf(pool.EndType-pool.FirstType), requirements)
}

// valuesNamed is how many values a reason names.
const valuesNamed = 8

// thereAre says which values of a label the pool's nodes can have; empty if there are none or many.
func (p *planning) thereAre(pool *offering.Pool, key string) string {
	var values []string
	for j := range pool.Offerings.All() {
		for _, value := range p.offers.ValuesOf(pool, j, key) {
			if values = claims.WithValue(values, value); len(values) > valuesNamed {
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
func (p *planning) explainSize(pool *offering.Pool, d *placement.Demand, set dense.Set) string {
	types, largest := 0, make([]int, len(p.work.Axes.Names))
	for r := range largest {
		largest[r] = -1
	}
	for i := pool.FirstType; i < pool.EndType; i++ {
		if !p.anyColumn(set, i) {
			continue
		}
		types++
		for r := range largest {
			if largest[r] < 0 || p.offers.PoolTypes[i].Free[r] > p.offers.PoolTypes[largest[r]].Free[r] {
				largest[r] = i
			}
		}
	}
	for r, name := range p.work.Axes.Names {
		if name == corev1.ResourceCPU && d.Need[r] >= million*1000 {
			return fmt.Sprintf("requires cpu %s, which no machine has: is M (mega) written where m (thousandths of a core) is meant?", amountText(name, d.Need[r]))
		}
		if best := &p.offers.PoolTypes[largest[r]]; d.Need[r] > max(best.Free[r], 0) {
			largest := "its one instance type"
			if types > 1 {
				largest = fmt.Sprintf("the largest of its %d instance types", types)
			}
			if has := best.Type.Allocatable[name]; has.Sign() <= 0 {
				return fmt.Sprintf("requires %s %s, of which %s has any: allow types that do in spec.template.spec.requirements", name, amountText(name, d.Need[r]), noneOf(types))
			}
			return fmt.Sprintf("requires %s %s, %s offers %s (%s)%s: lower the request or allow larger types in spec.template.spec.requirements",
				name, amountText(name, d.Need[r]), largest, amountText(name, max(best.Free[r], 0)), best.Type.Name, p.daemonText(best))
		}
	}
	var needs []string
	for r, name := range p.work.Axes.Names {
		if d.Need[r] > 0 && name != corev1.ResourcePods {
			needs = append(needs, fmt.Sprintf("%s %s", name, amountText(name, d.Need[r])))
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
		return resource.QuantityOf(name, amount).String()
	case amount < 1<<30:
		return decimal(float64(amount)/(1<<20), 1) + "Mi"
	}
	return decimal(float64(amount)/(1<<30), 1) + "Gi"
}

func (p *planning) anyColumn(set dense.Set, config int) bool {
	return slices.ContainsFunc(p.offers.PoolTypes[config].Offerings, set.Has)
}

func (p *planning) daemonText(c *offering.PoolType) string {
	if len(c.DaemonRequests) == 0 {
		return ""
	}
	return " beside its daemon sets"
}

// explainLimits names the limit that even the smallest node which would do exceeds; empty if there is none.
func (p *planning) explainLimits(pool *offering.Pool, fitting dense.Set) string {
	left := pool.Left()
	for i, l := range pool.Limits {
		planned, smallest := p.plannedOf(pool, i), int64(-1)
		for j := range fitting.All() {
			if use := p.offers.PoolTypes[p.offers.Offerings[j].PoolType].LimitUse[i]; smallest < 0 || use < smallest {
				smallest = use
			}
		}
		if smallest > left[i]-planned {
			return fmt.Sprintf("limit of %s %s reached: %s, and the smallest node for the pod needs %s: raise spec.limits",
				l.Name, amountText(l.Name, l.Most), usedText(l, planned), amountText(l.Name, smallest))
		}
	}
	return ""
}

func usedText(l offering.Limit, planned int64) string {
	text := "its nodes have " + amountText(l.Name, l.Used)
	if planned > 0 {
		text += fmt.Sprintf(", this plan's %s", amountText(l.Name, planned))
	}
	return text
}

// plannedOf is the most that the plan's nodes can take of the pool's limit i.
func (p *planning) plannedOf(pool *offering.Pool, i int) int64 {
	planned := int64(0)
	for _, claim := range p.plan.NodeClaims {
		if claim.NodeClaim.Labels[api.NodePoolLabelKey] == pool.Name() {
			planned += p.plannedUse(pool, &claim, i)
		}
	}
	return planned
}

// plannedUse is the most that a planned node can take of the pool's limit i.
func (p *planning) plannedUse(pool *offering.Pool, claim *plan.PlannedNodeClaim, i int) int64 {
	most := int64(0)
	for j := pool.FirstType; j < pool.EndType; j++ {
		if slices.Contains(claim.InstanceTypes, p.offers.PoolTypes[j].Type.Name) {
			most = max(most, p.offers.PoolTypes[j].LimitUse[i])
		}
	}
	return most
}

// explainUnplaced notes the pods without a place, and for each node pool why.
func (p *planning) explainUnplaced() {
	for _, left := range p.refused {
		switch {
		case left.Demand == nil:
			p.unplaced(left.Pods, []plan.Reason{{Message: left.Reason}})
		case len(p.offers.Pools) == 0:
			p.unplaced(left.Pods, []plan.Reason{{Message: "there is no node pool: create a NodePool and an EC2NodeClass"}})
		default:
			var reasons []plan.Reason
			for _, pool := range p.offers.Pools {
				reasons = append(reasons, plan.Reason{NodePool: pool.Name(), Message: p.explain(pool, left.Demand)})
			}
			p.unplaced(left.Pods, reasons)
		}
	}
}
