package planner

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// unlikelyCPU is more cpu, in thousandths of a core, than a request can mean.
const unlikelyCPU = 1_000_000 * 1000

// explainSize names the first resource that no pool type of the offerings has enough of, and the
// type that comes closest. It is empty if an offering has room for the demand's unit.
func (p *planning) explainSize(pool *offering.Pool, d *placement.Demand, set dense.Set) string {
	fitting := set.Clone()
	if p.offers.KeepRoom(fitting, d.Need); !fitting.Empty() {
		return ""
	}
	types, largest := p.largestTypes(pool, set)
	for r, name := range p.work.Axes.Names {
		if name == corev1.ResourceCPU && d.Need[r] >= unlikelyCPU {
			return fmt.Sprintf("requires cpu %s, which no machine has: "+
				"is M (mega) written where m (thousandths of a core) is meant?",
				resource.Text(name, d.Need[r]))
		}
		if best := &p.offers.PoolTypes[largest[r]]; d.Need[r] > max(best.Free[r], 0) {
			return lacksText(name, d.Need[r], best, types, best.Free[r])
		}
	}
	var needs []string
	for r, name := range p.work.Axes.Names {
		if d.Need[r] > 0 && name != corev1.ResourcePods {
			text := string(name)
			if name == workload.VolumesAxis {
				text = "EBS volumes"
			}
			needs = append(needs, text+" "+resource.Text(name, d.Need[r]))
		}
	}
	return fmt.Sprintf("requires %s together, which none of its %d instance types offers: "+
		"lower a request or allow larger types in spec.template.spec.requirements", strings.Join(needs, ", "), types)
}

// largestTypes counts the pool types of the offerings, and finds for each resource the number of the
// one that has most of it.
func (p *planning) largestTypes(pool *offering.Pool, set dense.Set) (types int, largest []int) {
	largest = slices.Repeat([]int{-1}, len(p.work.Axes.Names))
	for i := pool.FirstType; i < pool.EndType; i++ {
		poolType := &p.offers.PoolTypes[i]
		if !slices.ContainsFunc(poolType.Offerings, set.Has) {
			continue
		}
		types++
		for r := range largest {
			if largest[r] < 0 || poolType.Free[r] > p.offers.PoolTypes[largest[r]].Free[r] {
				largest[r] = i
			}
		}
	}
	return types, largest
}

// lacksText says that the best of so many pool types has too little of a resource.
func lacksText(name corev1.ResourceName, need int64, best *offering.PoolType, types int, free int64) string {
	if name == workload.VolumesAxis {
		return fmt.Sprintf("has %d EBS volumes, and nodes of its instance types attach %d at most (%s): use fewer and "+
			"larger volumes, or allow types that attach more in spec.template.spec.requirements", need, free, best.Type.Name)
	}
	if has := best.Type.Allocatable[name]; has.Sign() <= 0 {
		return fmt.Sprintf("requires %s %s, of which %s has any: %s", name, resource.Text(name, need), noneOf(types),
			offering.Remedy(name, "allow types that do in spec.template.spec.requirements"))
	}
	largest, beside := "its one instance type", ""
	if types > 1 {
		largest = fmt.Sprintf("the largest of its %d instance types", types)
	}
	if len(best.DaemonRequests) > 0 {
		beside = " beside its daemon sets"
	}
	return fmt.Sprintf("requires %s %s, %s offers %s (%s)%s: %s", name, resource.Text(name, need), largest,
		resource.Text(name, max(free, 0)), best.Type.Name, beside,
		offering.Remedy(name, "lower the request or allow larger types in spec.template.spec.requirements"))
}
