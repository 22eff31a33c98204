package planning

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// spreadLimit is how many instances of a spread placement group EC2 runs in a zone.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html#placement-groups-limitations-spread
const spreadLimit = 7

// placementGroup is a placement group with a bound, and what is known of its nodes.
type placementGroup struct {
	*api.PlacementGroup
	pools map[string]bool
	// nodes counts the group's nodes by zone.
	nodes map[string]int
	// zone is the one zone of a cluster group, once it is known.
	zone string
	// full is true once the group's bound kept a node away.
	full bool
}

// within returns a solver whose plans hold to the bounds of placement groups. A cluster group has one
// zone: that of its nodes, else the one in which most pods have a place, at the least price. A spread group
// has seven nodes in a zone. Nodes of other clusters in the group are not known, and EC2 refuses a launch
// then. The solver is asked once more for each zone of a cluster group without nodes.
func within(solve func(*plan.Snapshot) *plan.Plan) func(*plan.Snapshot) *plan.Plan {
	return func(s *plan.Snapshot) *plan.Plan {
		groups := placementGroupsOf(s)
		if len(groups) == 0 {
			return solve(s)
		}
		for _, g := range groups {
			s = g.leaveOut(s)
		}
		decided := solve(s)
		for _, g := range groups {
			switch g.Strategy {
			case api.PlacementGroupStrategyCluster:
				s, decided = g.settle(solve, s, decided)
			case api.PlacementGroupStrategySpread:
				g.fit(s, decided)
			}
		}
		for _, g := range groups {
			g.explain(decided)
		}
		return decided
	}
}

// placementGroupsOf returns the cluster and spread groups of the snapshot's NodePools by their ids.
func placementGroupsOf(s *plan.Snapshot) []*placementGroup {
	byID := map[string]*placementGroup{}
	for pool, types := range s.InstanceTypes {
		if len(types) == 0 || types[0].PlacementGroup == nil ||
			types[0].PlacementGroup.Strategy == api.PlacementGroupStrategyPartition {
			continue // all types of a pool have the group of its class
		}
		of := types[0].PlacementGroup
		if byID[of.ID] == nil {
			byID[of.ID] = &placementGroup{PlacementGroup: of, pools: map[string]bool{}, nodes: map[string]int{}}
		}
		byID[of.ID].pools[pool] = true
	}
	if len(byID) == 0 {
		return nil
	}
	for i := range s.Nodes {
		g, zone := byID[s.Nodes[i].Label(api.LabelPlacementGroupID)], s.Nodes[i].Label(corev1.LabelTopologyZone)
		if g == nil || zone == "" {
			continue
		}
		if g.nodes[zone]++; g.Strategy == api.PlacementGroupStrategyCluster {
			g.zone = zone
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b *placementGroup) int { return strings.Compare(a.ID, b.ID) })
}

// room returns how many more nodes the group may have in the zone.
func (g *placementGroup) room(zone string) int {
	switch {
	case g.Strategy == api.PlacementGroupStrategySpread:
		return spreadLimit - g.nodes[zone]
	case g.zone != "" && zone != g.zone:
		return 0
	}
	return 1 // or more
}

// leaveOut returns the snapshot without the offerings in zones where the group has no room.
func (g *placementGroup) leaveOut(s *plan.Snapshot) *plan.Snapshot {
	narrowed := *s
	narrowed.InstanceTypes = maps.Clone(s.InstanceTypes)
	for pool := range g.pools {
		types := slices.Clone(s.InstanceTypes[pool])
		for i := range types {
			closed := func(o catalog.Offering) bool { return o.Available && g.room(o.Zone) <= 0 }
			if !slices.ContainsFunc(types[i].Offerings, closed) {
				continue
			}
			g.full = true
			types[i].Offerings = slices.Clone(types[i].Offerings)
			for j := range types[i].Offerings {
				if closed(types[i].Offerings[j]) {
					types[i].Offerings[j].Available = false
				}
			}
		}
		narrowed.InstanceTypes[pool] = types
	}
	return &narrowed
}

// claims are the numbers of the plan's claims in the group.
func (g *placementGroup) claims(decided *plan.Plan) []int {
	var numbers []int
	for i := range decided.NodeClaims {
		if g.pools[decided.NodeClaims[i].NodeClaim.Labels[api.NodePoolLabelKey]] {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// zonesOf returns the zones in which the claim may be launched.
func zonesOf(claim *plan.PlannedNodeClaim) []string {
	var zones []string
	for _, choice := range claim.Offerings {
		if !slices.Contains(zones, choice.Zone) {
			zones = append(zones, choice.Zone)
		}
	}
	return zones
}

// settle returns a plan with the nodes of a cluster group in one zone, and the snapshot without the
// group's other zones.
func (g *placementGroup) settle(
	solve func(*plan.Snapshot) *plan.Plan, s *plan.Snapshot, decided *plan.Plan,
) (*plan.Snapshot, *plan.Plan) {
	numbers := g.claims(decided)
	var zones []string
	for _, i := range numbers {
		zones = append(zones, zonesOf(&decided.NodeClaims[i])...)
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	if g.zone != "" || len(numbers) < 2 || len(zones) < 2 {
		return s, decided
	}
	var best *plan.Plan
	var narrowed *plan.Snapshot
	chosen := ""
	for _, zone := range zones {
		g.zone = zone
		in := g.leaveOut(s)
		attempt := solve(in)
		if best == nil || cmp.Or(cmp.Compare(len(attempt.Unplaced), len(best.Unplaced)),
			cmp.Compare(attempt.PricePerHour, best.PricePerHour)) < 0 {
			best, narrowed, chosen = attempt, in, zone
		}
	}
	g.zone = chosen
	return narrowed, best
}

// fit gives each claim of a spread group a zone with room, the most important claims first, where the
// claims could be more than a zone takes. Claims without one leave the plan, and their pods have no place.
func (g *placementGroup) fit(s *plan.Snapshot, decided *plan.Plan) {
	numbers, wanted, tight := g.claims(decided), map[string]int{}, false
	for _, i := range numbers {
		for _, zone := range zonesOf(&decided.NodeClaims[i]) {
			wanted[zone]++
			tight = tight || wanted[zone] > g.room(zone)
		}
	}
	if !tight {
		return
	}
	important := importance(s, decided)
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(important[b], important[a]) })
	m := matching{g, decided, map[string][]int{}}
	leaving := map[int]bool{}
	for _, i := range numbers {
		leaving[i] = !m.place(i, map[string]bool{})
	}
	for zone, there := range m.in {
		for _, i := range there {
			narrow(decided, i, zone)
		}
	}
	g.withdraw(decided, leaving)
}

// importance returns the greatest priority of a pod of each claim.
func importance(s *plan.Snapshot, decided *plan.Plan) []int32 {
	priorities := map[plan.PodRef]int32{}
	for i := range s.Pods {
		if priority := s.Pods[i].Spec.Priority; priority != nil {
			priorities[plan.RefOf(&s.Pods[i])] = *priority
		}
	}
	most := make([]int32, len(decided.NodeClaims))
	for i := range most {
		for j, pod := range decided.NodeClaims[i].Pods {
			if j == 0 || priorities[pod] > most[i] {
				most[i] = priorities[pod]
			}
		}
	}
	return most
}

// matching gives claims zones with room.
type matching struct {
	group   *placementGroup
	decided *plan.Plan
	in      map[string][]int // the claims of each zone
}

// place finds a zone for the claim, if need be by moving another claim to another zone.
func (m *matching) place(claim int, tried map[string]bool) bool {
	zones := zonesOf(&m.decided.NodeClaims[claim])
	for _, zone := range zones {
		if len(m.in[zone]) < m.group.room(zone) {
			m.in[zone] = append(m.in[zone], claim)
			return true
		}
	}
	for _, zone := range zones {
		if tried[zone] {
			continue
		}
		tried[zone] = true
		for at, other := range m.in[zone] {
			if m.place(other, tried) {
				m.in[zone][at] = claim
				return true
			}
		}
	}
	return false
}

// narrow leaves the claim its offerings in the zone.
func narrow(decided *plan.Plan, number int, zone string) {
	claim := &decided.NodeClaims[number]
	if len(zonesOf(claim)) == 1 {
		return
	}
	elsewhere := func(choice plan.Choice) bool { return choice.Zone != zone }
	claim.Offerings = slices.DeleteFunc(slices.Clone(claim.Offerings), elsewhere)
	claim.InstanceTypes = slices.DeleteFunc(slices.Clone(claim.InstanceTypes), func(name string) bool {
		return !slices.ContainsFunc(claim.Offerings, func(choice plan.Choice) bool { return choice.InstanceType == name })
	})
	spec := &claim.NodeClaim.Spec
	spec.Requirements = append(slices.Clone(spec.Requirements), api.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
	})
	decided.AddPrices(claim, -1)
	claim.TakePrices()
	decided.AddPrices(claim, 1)
}

// withdraw takes claims out of the plan.
func (g *placementGroup) withdraw(decided *plan.Plan, leaving map[int]bool) {
	var kept []plan.PlannedNodeClaim
	for i := range decided.NodeClaims {
		claim := decided.NodeClaims[i]
		if !leaving[i] {
			kept = append(kept, claim)
			continue
		}
		g.full = true
		decided.AddPrices(&claim, -1)
		for _, pod := range claim.Pods {
			decided.Unplaced = append(decided.Unplaced, plan.Unplaced{Pod: pod, Reasons: []plan.Reason{{
				NodePool: claim.NodeClaim.Labels[api.NodePoolLabelKey], Message: "its placement group is full in this plan",
			}}})
		}
	}
	decided.NodeClaims = kept
	decided.LowerBoundPerHour = min(decided.LowerBoundPerHour, decided.PricePerHour)
	slices.SortFunc(decided.Unplaced, func(a, b plan.Unplaced) int { return plan.CompareRefs(a.Pod, b.Pod) })
}

// explain adds the group's bound to the reasons of its pools, where it kept a node away.
func (g *placementGroup) explain(decided *plan.Plan) {
	if !g.full {
		return
	}
	text := fmt.Sprintf("; the spread placement group %q has %d instances in a zone: select subnets of more zones, or "+
		"use another group", g.Name, spreadLimit)
	if g.Strategy == api.PlacementGroupStrategyCluster {
		text = fmt.Sprintf("; the cluster placement group %q has one zone, %s: pin that zone in the NodePool, or use "+
			"another group for others", g.Name, g.zone)
	}
	for i := range decided.Unplaced {
		reasons := decided.Unplaced[i].Reasons
		for j := range reasons {
			if g.pools[reasons[j].NodePool] {
				decided.Unplaced[i].Reasons = slices.Clone(reasons)
				decided.Unplaced[i].Reasons[j].Message += text
			}
		}
	}
}
