package lifecycle

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/reaction"
)

func isDeleted(claim api.NodeClaim) bool { return claim.DeletionTimestamp != nil }

// isInFlight reports whether the claim is Whittle's and is starting, ending or being rebooted.
func isInFlight(claim api.NodeClaim) bool {
	initialized := api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized)
	return claim.Spec.NodeClassRef.IsEC2NodeClass() &&
		(claim.DeletionTimestamp != nil || !initialized || reboot.InProgress(&claim))
}

// hasRecentWork reports whether a claim or a node began to start or to end so short a time ago that
// more will follow soon.
func (s *seen) hasRecentWork(watch *reaction.Starter, now time.Time) bool {
	recent := func(meta *metav1.ObjectMeta, inFlight bool) bool {
		if meta.DeletionTimestamp != nil {
			return watch.IsRecent(meta.DeletionTimestamp.Time, now)
		}
		return inFlight && watch.IsRecent(meta.CreationTimestamp.Time, now)
	}
	return slices.ContainsFunc(s.claims, func(claim api.NodeClaim) bool {
		return recent(&claim.ObjectMeta, isInFlight(claim))
	}) || slices.ContainsFunc(s.nodes, func(node corev1.Node) bool { return recent(&node.ObjectMeta, false) })
}

// hasInstance reports whether the claim is Whittle's and has been launched.
func hasInstance(claim api.NodeClaim) bool {
	return claim.Spec.NodeClassRef.IsEC2NodeClass() && claim.Status.ProviderID != ""
}

// isForeignPool reports whether the pool's nodes are made by another provider.
func isForeignPool(pool api.NodePool) bool {
	reference := pool.Spec.Template.Spec.NodeClassRef
	return reference != nil && !reference.IsEC2NodeClass()
}

// isUnlaunchedEnding reports whether the claim is Whittle's and ends without a provider id. Only a tag
// tells which instance was launched for it.
func isUnlaunchedEnding(claim api.NodeClaim) bool {
	return isInFlight(claim) && claim.DeletionTimestamp != nil && claim.Status.ProviderID == ""
}

// instancesToDescribe are the ids of the instances whose state decides something, and of which EC2's
// list does not tell it. They belong to claims that end, or their partition in a placement group is
// not known. On a tick they are also those that the list leaves out, or shows as not running.
func instancesToDescribe(in scope, claims []api.NodeClaim, listed listing) []string {
	running := map[string]bool{}
	for _, instance := range listed.instances {
		running[instance.ID] = instance.State == "pending" || instance.State == "running"
	}
	ids := map[string]bool{}
	for i := range claims {
		claim := &claims[i]
		id, launched := api.InstanceID(claim.Status.ProviderID)
		decides := claim.DeletionTimestamp != nil || nodeclaim.InPartition(claim) && isInFlight(*claim) ||
			in.tick && listed.answered
		if launched && decides && hasInstance(*claim) && !running[id] {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// facts are what the views of claims are made of.
type facts struct {
	claims    []api.NodeClaim
	nodes     []corev1.Node
	listed    listing
	described description
	// origins are by pool. They are nil unless originsKnown.
	origins      map[string]*drift.Origin
	originsKnown bool
	// shifted are the zones that zonal shifts move traffic away from, by id.
	shifted map[string]time.Time
}

// buildViews puts together what belongs to each claim of the scope, in the order in which the pass
// works on the claims.
func buildViews(in scope, from facts) []nodeclaim.View {
	members := membership.Join(from.claims, from.nodes)
	byID, byClaim := map[string][]nodeclaim.Instance{}, map[string][]nodeclaim.Instance{}
	for _, instance := range from.listed.instances {
		byID[instance.ID] = append(byID[instance.ID], instance)
		name := instance.Tags[api.NodeClaimTagKey]
		byClaim[name] = append(byClaim[name], instance)
	}
	leftovers := nodeclaim.Leftovers(from.listed.instances, from.claims)
	var views []nodeclaim.View
	for i := range from.claims {
		claim := &from.claims[i]
		if !in.includes(claim) {
			continue
		}
		view := nodeclaim.View{
			Claim: claim, Cluster: in.cluster, Tick: in.tick, Report: in.report, Watched: in.watched,
			Binds:           in.binds,
			InstancesListed: from.listed.answered,
		}
		if claim.Status.ProviderID == "" {
			view.Instances = slices.Concat(byClaim[claim.Name], leftovers[claim.Name])
		} else {
			id, _ := api.InstanceID(claim.Status.ProviderID)
			view.Instances, view.Absent = byID[id], from.described.absent[id]
			if instance, described := from.described.found[id]; described {
				view.Instances = []nodeclaim.Instance{instance}
			} else if view.Absent {
				view.Instances = nil
			}
			if instance := view.Instance(); instance != nil {
				view.HostName = instance.HostName
			}
			view.Nodes, view.Others = members.Nodes(claim, view.HostName)
		}
		view.ShiftedUntil = from.shifted[claim.Labels[api.LabelTopologyZoneID]]
		if pool := claim.Labels[api.NodePoolLabelKey]; pool != "" {
			view.Origin = from.origins[pool]
			view.ExpiryWaits = !from.originsKnown || view.Origin != nil &&
				(disruption.ExpiresWithinBudgets(view.Origin.Pool) || view.Origin.Pool.Maintenance(in.now).Closed)
		}
		views = append(views, view)
	}
	slices.SortStableFunc(views, nodeclaim.View.Compare)
	takeTurns(views, in.now)
	return views
}

// instancesThatJoin are the ids of the instances whose nodes have joined and are not registered, and of
// which EC2 has not told the host name.
func instancesThatJoin(in scope, from facts) []string {
	told := map[string]bool{}
	for _, instance := range from.listed.instances {
		told[instance.ID] = instance.HostName != ""
	}
	for id, instance := range from.described.found {
		told[id] = instance.HostName != ""
	}
	joined := map[string]bool{}
	for i := range from.nodes {
		joined[from.nodes[i].Spec.ProviderID] = true
	}
	var ids []string
	for i := range from.claims {
		claim := &from.claims[i]
		id, launched := api.InstanceID(claim.Status.ProviderID)
		if launched && in.includes(claim) && claim.Status.NodeName == "" && joined[claim.Status.ProviderID] && !told[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// takeTurns puts the drains that go on in another order in each pass, which may come to a part of them
// only. Drains that wait for pods then keep none of the others waiting for long.
func takeTurns(views []nodeclaim.View, now time.Time) {
	first := slices.IndexFunc(views, func(view nodeclaim.View) bool { return view.GoesOn() })
	if first < 0 {
		return
	}
	end := first
	for end < len(views) && views[end].GoesOn() {
		end++
	}
	drains, random := views[first:end], rand.New(rand.NewPCG(uint64(now.UnixNano()), 0))
	random.Shuffle(len(drains), func(i, j int) { drains[i], drains[j] = drains[j], drains[i] })
}

// includes reports whether the pass works on the claim.
func (s scope) includes(claim *api.NodeClaim) bool {
	switch {
	case !claim.Spec.NodeClassRef.IsEC2NodeClass(), !s.tick && !isInFlight(*claim):
		return false
	case s.skipDrains && claim.DeletionTimestamp != nil:
		return false
	}
	return true
}

// examine returns the views with, on a tick, which unhealthy nodes are repaired, and for which
// instances EC2 has announced work. Blocked are the pools with too many unhealthy nodes for a repair.
// The statuses are by instance id, and nil unless EC2 was asked.
func examine(
	in scope, views []nodeclaim.View, statuses map[string]fleet.Status, now time.Time,
) (examined []nodeclaim.View, blocked []repair.PoolHealth) {
	if !in.tick {
		return views, nil
	}
	examined = slices.Clone(views)
	var nodes []repair.NodeHealth
	for i := range examined {
		view := &examined[i]
		id, _ := api.InstanceID(view.Claim.Status.ProviderID)
		status := statuses[id]
		view.StatusRead = statuses != nil
		for _, event := range status.Events {
			view.Departures = append(view.Departures, disruption.Departure{At: event.NotBefore, Because: event.ID})
		}
		if len(view.Nodes) == 1 {
			nodes = append(nodes, repair.NodeHealth{
				Claim: view.Claim, Node: view.Nodes[0], Impairment: impairment(status),
			})
		}
	}
	due, blocked := repair.Due(nodes, now)
	for i := range examined {
		claim := examined[i].Claim
		condition, unhealthy := due[claim.Name]
		// Disrupt replaces the other ones, because a budget paces that and a replacement comes first.
		initialized := api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized)
		if unhealthy && (condition.ByEC2 || !initialized && !doesNotRepair(examined[i].Nodes[0])) {
			examined[i].Unhealthy = &condition
		}
	}
	return examined, blocked
}

// addExpected returns the views with the pods that each claim was planned for.
func addExpected(views []nodeclaim.View, pods map[string][]*corev1.Pod) []nodeclaim.View {
	views = slices.Clone(views)
	for i := range views {
		views[i].Expected = pods[views[i].Claim.Name]
	}
	return views
}

// doesNotRepair reports whether a person keeps the node although it is unhealthy.
func doesNotRepair(node *corev1.Node) bool {
	return node.Annotations[api.DoNotRepairAnnotationKey] == "true"
}

// impairment is the status check that has failed for longest, or nil.
func impairment(status fleet.Status) *repair.Impairment {
	system := &repair.Impairment{Check: "SystemStatus", Since: status.SystemImpaired}
	instance := &repair.Impairment{Check: "InstanceStatus", Since: status.InstanceImpaired}
	switch {
	case !system.Since.IsZero() && (instance.Since.IsZero() || !instance.Since.Before(system.Since)):
		return system
	case !instance.Since.IsZero():
		return instance
	}
	return nil
}

// maximumBlockedClaims bounds the claims of a pool with events about their blocked repair. Each
// event is a call, and a pool may have hundreds of unhealthy nodes.
const maximumBlockedClaims = 10

// blockedEvents say that too many nodes of a pool are unhealthy for a repair. They are about the
// pool, and about the first claims and nodes whose repair is due.
func blockedEvents(all []repair.PoolHealth, pools []api.NodePool, views []nodeclaim.View) []cluster.Event {
	var events []cluster.Event
	for _, blocked := range all {
		warn := func(about corev1.ObjectReference) {
			events = append(events, cluster.Event{
				About: about, Type: corev1.EventTypeWarning,
				Reason: api.ConditionTypeNodeRepairBlocked, Message: blocked.String(),
			})
		}
		for i := range pools {
			if pool := &pools[i]; pool.Name == blocked.Pool {
				warn(disruption.AboutPool(pool))
			}
		}
		waiting := slices.Sorted(slices.Values(blocked.Waiting))
		waiting = waiting[:min(len(waiting), maximumBlockedClaims)]
		for i := range views {
			if view := &views[i]; slices.Contains(waiting, view.Claim.Name) {
				warn(disruption.AboutClaim(view.Claim))
				warn(disruption.AboutNode(view.Nodes[0]))
			}
		}
	}
	return events
}

// defect is the event about an object that Whittle panics on. The pass leaves the object alone.
func defect(about corev1.ObjectReference, err error) cluster.Event {
	return cluster.Event{
		About: about, Type: corev1.EventTypeWarning, Reason: api.EventReasonInternalError, Message: err.Error(),
	}
}

// nodesOf are the nodes of the instance, which has no claim.
func nodesOf(instance nodeclaim.Instance, all []corev1.Node) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range all {
		other := instance.HostName != "" && instance.HostName != all[i].Name
		if all[i].Spec.ProviderID == api.ProviderID(instance.Zone, instance.ID) && !other {
			nodes = append(nodes, &all[i])
		}
	}
	return nodes
}

// split divides the views, which are in their order, at the first one that is not urgent. In a
// storm of interruptions drains begin without end. The pass therefore works on the other views
// beside them, because evicted pods wait for nodes that join.
func split(views []nodeclaim.View) (urgent, others []nodeclaim.View) {
	at := slices.IndexFunc(views, func(view nodeclaim.View) bool { return view.Urgency() > 0 })
	if at < 0 {
		at = len(views)
	}
	return views[:at], views[at:]
}
