package intent

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// oneZoneFor is how long a gang waits for a zone with room for all of its nodes. EC2 launches all
// or none there. Over several zones it may launch a part, which costs money until it is given back.
const oneZoneFor = 10 * time.Minute

// KeepGangsInOneZone has the nodes of each gang of the plan come from one zone: the cheapest one in
// which every node can be had. A gang stays as planned if one of its pods has waited for
// oneZoneFor, if no zone has all of its nodes, or if a minimum of values is asked for. MarkGangs
// comes before it.
func KeepGangsInOneZone(snapshot *plan.Snapshot, decided *plan.Plan, now time.Time) {
	gangs := map[string][]*plan.PlannedNodeClaim{} // by the annotation of MarkGangs
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		if gang := planned.NodeClaim.Annotations[api.GangAnnotationKey]; gang != "" {
			gangs[gang] = append(gangs[gang], planned)
		}
	}
	if len(gangs) == 0 {
		return
	}
	created := map[plan.PodRef]time.Time{}
	for i := range snapshot.Pods {
		created[plan.RefOf(&snapshot.Pods[i])] = snapshot.Pods[i].CreationTimestamp.Time
	}
	for _, claims := range gangs {
		isOld := slices.ContainsFunc(claims, func(planned *plan.PlannedNodeClaim) bool {
			return slices.ContainsFunc(planned.Pods, func(pod plan.PodRef) bool {
				return now.Sub(created[pod]) >= oneZoneFor
			})
		})
		if zone := cheapestZone(claims); zone != "" && !isOld {
			for _, planned := range claims {
				keepIn(zone, planned)
			}
		}
	}
}

// cheapestZone is the zone in which the claims cost the least together, or "" where no zone has all
// of them. Zones of the same price are in the order of their names.
func cheapestZone(claims []*plan.PlannedNodeClaim) string {
	sums, count := map[string]float64{}, map[string]int{}
	for _, planned := range claims {
		if hasMinimum(planned) {
			return ""
		}
		seen := map[string]bool{}
		for _, offering := range planned.Offerings { // by price
			if !seen[offering.Zone] {
				seen[offering.Zone] = true
				sums[offering.Zone] += offering.Price
				count[offering.Zone]++
			}
		}
	}
	best := ""
	for zone, sum := range sums {
		if count[zone] == len(claims) && (best == "" || cmp.Or(cmp.Compare(sum, sums[best]), cmp.Compare(zone, best)) < 0) {
			best = zone
		}
	}
	return best
}

func hasMinimum(planned *plan.PlannedNodeClaim) bool {
	return slices.ContainsFunc(planned.NodeClaim.Spec.Requirements,
		func(term api.NodeSelectorRequirementWithMinValues) bool { return term.MinValues != nil })
}

// keepIn leaves the claim the offerings of the zone. The claims of a plan share their lists.
func keepIn(zone string, planned *plan.PlannedNodeClaim) {
	kept := []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
	}
	for _, term := range planned.NodeClaim.Spec.Requirements {
		if term.Key != corev1.LabelTopologyZone {
			kept = append(kept, term)
		}
	}
	planned.NodeClaim.Spec.Requirements = kept
	planned.Offerings = slices.DeleteFunc(slices.Clone(planned.Offerings), func(offering plan.Choice) bool {
		return offering.Zone != zone
	})
	planned.TakePrices()
	has := map[string]bool{}
	for _, offering := range planned.Offerings {
		has[offering.InstanceType] = true
	}
	planned.InstanceTypes = slices.DeleteFunc(slices.Clone(planned.InstanceTypes),
		func(name string) bool { return !has[name] })
}
