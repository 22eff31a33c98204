package provision

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fairness"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/status"
)

// The functions of this file are pure. They say what a pass tells people: events about pods,
// statuses of NodeOverlays, and the summary of the last plan. Package attempt decides about
// launches, and package intent about claims.

// maximumPodEvents bounds the events about pods that have no place, in one pass. A thousand pods that wait
// for the same reason are explained by the first, and each namespace has its turn.
const maximumPodEvents = 50

// maximumNominated bounds the events about pods that have a place: Karpenter's number for a moment
// (NominatePod in sigs.k8s.io/karpenter's pkg/controllers/provisioning/scheduling). Each is a request.
const maximumNominated = 10

// unplacedEvents explain to the owners of unplaced pods what keeps the pods out of each pool, and
// what to change.
func unplacedEvents(decided *plan.Plan) []cluster.Event {
	unplaced := fairness.InTurn(decided.Unplaced, func(u *plan.Unplaced) string { return u.Pod.Namespace })
	unplaced = unplaced[:min(len(unplaced), maximumPodEvents)]
	events := make([]cluster.Event, len(unplaced))
	for i := range unplaced {
		var reasons []string
		for _, reason := range unplaced[i].Reasons {
			reasons = append(reasons, reason.String())
		}
		events[i] = cluster.Event{
			About: aboutPod(unplaced[i].Pod), Type: corev1.EventTypeWarning, Reason: "FailedScheduling",
			Message: attempt.Cut(strings.Join(reasons, "; ")),
		}
	}
	return events
}

// nominatedEvent says where a pod will run.
func nominatedEvent(pod plan.PodRef, claim string) cluster.Event {
	return cluster.Event{
		About: aboutPod(pod), Type: corev1.EventTypeNormal, Reason: "Nominated",
		Message: "Pod should schedule on: nodeclaim/" + claim,
	}
}

// warning is an event about something that a person has to mend.
func warning(about corev1.ObjectReference, reason, message string) cluster.Event {
	return cluster.Event{About: about, Type: corev1.EventTypeWarning, Reason: reason, Message: attempt.Cut(message)}
}

func aboutPod(pod plan.PodRef) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: types.UID(pod.UID),
	}
}

// overlayStatus is the status to write on a NodeOverlay. The problem is empty where it counts.
type overlayStatus struct {
	name            string
	reason, problem string
	patch           map[string]any
}

// overlayStatuses are those of the overlays whose status does not say yet whether they count.
func overlayStatuses(overlays []api.NodeOverlay, problems []catalog.OverlayProblem, now time.Time) []overlayStatus {
	ignored := map[string]catalog.OverlayProblem{}
	for _, problem := range problems {
		ignored[problem.Overlay] = problem
	}
	var statuses []overlayStatus
	for i := range overlays {
		overlay := &overlays[i]
		valid := metav1.Condition{
			Type: api.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue, ObservedGeneration: overlay.Generation,
		}
		if problem, bad := ignored[overlay.Name]; bad {
			valid.Status, valid.Reason, valid.Message = metav1.ConditionFalse, problem.Reason, problem.Message
		}
		conditions := slices.Clone(overlay.Status.Conditions)
		changed := api.SetCondition(&conditions, valid, now)
		if api.SetReady(&conditions, api.NodeOverlayReadyDependents(), overlay.Generation, now) || changed {
			patch := map[string]any{"status": map[string]any{"conditions": conditions}}
			statuses = append(statuses, overlayStatus{overlay.Name, valid.Reason, valid.Message, patch})
		}
	}
	return statuses
}

// summary is the plan as people see it. Equal new nodes are one line.
func summary(decided *plan.Plan, pods int, now time.Time) *status.Plan {
	type line struct{ pool, instanceType, capacityType, zone string }
	groups := map[line]*status.Nodes{}
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		key := line{pool: planned.NodeClaim.Labels[api.NodePoolLabelKey]}
		if len(planned.Offerings) > 0 {
			first := planned.Offerings[0]
			key.instanceType, key.capacityType, key.zone = first.InstanceType, first.CapacityType, first.Zone
		}
		group := groups[key]
		if group == nil {
			group = &status.Nodes{
				NodePool: key.pool, InstanceType: key.instanceType, CapacityType: key.capacityType, Zone: key.zone,
			}
			groups[key] = group
		}
		group.Count++
		group.Pods += len(planned.Pods)
		group.PricePerHour += planned.BilledPerHour()
		group.RiskPerHour += planned.RiskPerHour
		group.ExtrasPerHour += planned.ExtrasPerHour
	}
	shown := &status.Plan{
		Time: now.UTC().Truncate(time.Second),
		Pods: pods, Existing: len(decided.Nominations), Unplaced: len(decided.Unplaced),
		Nodes:        make([]status.Nodes, 0, len(groups)),
		PricePerHour: decided.BilledPerHour(), ExtrasPerHour: decided.ExtrasPerHour, RiskPerHour: decided.RiskPerHour,
		LowerBoundPerHour: decided.LowerBoundPerHour,
	}
	for _, group := range groups {
		shown.Nodes = append(shown.Nodes, *group)
	}
	slices.SortFunc(shown.Nodes, func(a, b status.Nodes) int {
		return cmp.Or(cmp.Compare(b.PricePerHour, a.PricePerHour), cmp.Compare(a.NodePool, b.NodePool),
			cmp.Compare(a.InstanceType, b.InstanceType), cmp.Compare(a.CapacityType, b.CapacityType),
			cmp.Compare(a.Zone, b.Zone))
	})
	return shown
}

// claimsOf are all claims of the snapshot. Those that wait for an instance are launched with the
// other claims of their batch in view.
func claimsOf(snapshot *plan.Snapshot) []api.NodeClaim {
	var claims []api.NodeClaim
	for _, node := range snapshot.Nodes {
		if node.NodeClaim != nil {
			claims = append(claims, *node.NodeClaim)
		}
	}
	return claims
}

// poolOf is the claim's pool among those that may get nodes, or nil.
func poolOf(claim *api.NodeClaim, pools []api.NodePool) *api.NodePool {
	for i := range pools {
		if pools[i].Name == claim.Labels[api.NodePoolLabelKey] {
			return &pools[i]
		}
	}
	return nil
}

// typesFor are the instance types that the claim's node can be: those of its pool, with the
// NodeOverlays applied. A claim without a pool, or whose pool has another class by now, has those
// of its class.
func typesFor(
	claim *api.NodeClaim, snapshot *plan.Snapshot, ofClass map[string][]catalog.InstanceType,
) []catalog.InstanceType {
	class := claim.Spec.NodeClassRef.Name
	if pool := poolOf(claim, snapshot.NodePools); pool != nil && pool.Spec.Template.Spec.NodeClassRef.Name == class {
		return snapshot.InstanceTypes[pool.Name]
	}
	return ofClass[class]
}

// owned are the ids of the instances that claims of the snapshot have.
func owned(snapshot *plan.Snapshot) map[string]bool {
	ids := map[string]bool{}
	for i := range snapshot.Nodes {
		if claim := snapshot.Nodes[i].NodeClaim; claim != nil {
			if id, ok := api.InstanceID(claim.Status.ProviderID); ok {
				ids[id] = true
			}
		}
	}
	return ids
}

// replaceClaim replaces a claim of the snapshot by what it is now.
func replaceClaim(snapshot *plan.Snapshot, claim *api.NodeClaim) {
	for i := range snapshot.Nodes {
		if node := &snapshot.Nodes[i]; node.NodeClaim != nil && node.NodeClaim.Name == claim.Name {
			node.NodeClaim = claim
		}
	}
}

// present drops the claims that are nil.
func present(claims []*api.NodeClaim) []api.NodeClaim {
	var there []api.NodeClaim
	for _, claim := range claims {
		if claim != nil {
			there = append(there, *claim)
		}
	}
	return there
}
