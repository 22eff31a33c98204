package planner

import (
	"fmt"
	"slices"
	"strconv"
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
				amountText(name, d.Need[r]))
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
			needs = append(needs, text+" "+amountText(name, d.Need[r]))
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
		return fmt.Sprintf("requires %s %s, of which %s has any: %s", name, amountText(name, need), noneOf(types),
			remedyOf(name, "allow types that do in spec.template.spec.requirements"))
	}
	largest, beside := "its one instance type", ""
	if types > 1 {
		largest = fmt.Sprintf("the largest of its %d instance types", types)
	}
	if len(best.DaemonRequests) > 0 {
		beside = " beside its daemon sets"
	}
	return fmt.Sprintf("requires %s %s, %s offers %s (%s)%s: %s", name, amountText(name, need), largest,
		amountText(name, max(free, 0)), best.Type.Name, beside,
		remedyOf(name, "lower the request or allow larger types in spec.template.spec.requirements"))
}

// remedyOf is what a person can do about a resource of which nodes have too little. Of some the EC2NodeClass
// decides, whatever the type.
func remedyOf(name corev1.ResourceName, otherwise string) string {
	switch name {
	case corev1.ResourceEphemeralStorage:
		return "lower the request, or raise spec.blockDeviceMappings[].ebs.volumeSize of the root volume in its " +
			"EC2NodeClass, or set spec.instanceStorePolicy: RAID0 there and allow types with disks of their own"
	case corev1.ResourcePods:
		return "raise spec.kubelet.maxPods or spec.kubelet.podsPerCore of its EC2NodeClass, or allow types with more " +
			"network interfaces in spec.template.spec.requirements"
	}
	return otherwise
}

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
