package simulate

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// stirred notes when something last changed that may make a node superfluous. It tells the late
// workload and its pool, which share nothing with others, from the rest.
func (r *Run) stirred(change apiserver.Change) {
	object := change.After
	if object == nil {
		object = change.Before
	}
	stirs, late := false, false
	switch object.Kind {
	case apiserver.Pods:
		pod, _ := object.Typed.(*corev1.Pod)
		stirs, late = podStirs(change, pod), pod.Labels["app"] == lateName
	case apiserver.NodeClaims:
		claim, _ := object.Typed.(*api.NodeClaim)
		replaces := change.Before == nil && claim.Annotations[api.ReplacesAnnotationKey] != ""
		stirs, late = change.After == nil || claim.DeletionTimestamp != nil || replaces, isLate(claim)
	case apiserver.NodePools:
		stirs = change.Before == nil || change.After == nil ||
			change.Before.Meta.GetGeneration() != change.After.Meta.GetGeneration()
		late = object.Meta.GetName() == lateName
	case apiserver.Nodes:
		stirs, late = fallsSilent(change), object.Meta.GetLabels()[api.NodePoolLabelKey] == lateName
	}
	if stirs {
		r.stirredAt[late] = time.Now()
	}
}

// podStirs reports whether a pod of a workload comes, goes or begins to leave.
func podStirs(change apiserver.Change, pod *corev1.Pod) bool {
	moves := change.Before == nil || change.After == nil || pod.DeletionTimestamp != nil
	return moves && pod.Labels["app"] != "" && !isDaemon(pod)
}

// fallsSilent reports whether a node that was ready is so no more.
func fallsSilent(change apiserver.Change) bool {
	if change.Before == nil || change.After == nil {
		return false
	}
	before, _ := change.Before.Typed.(*corev1.Node)
	after, _ := change.After.Typed.(*corev1.Node)
	return readiness(before) == corev1.ConditionTrue && readiness(after) != corev1.ConditionTrue
}

// checkUndone holds that consolidation does not remove without a replacement what was launched for
// pods, while nothing else has changed.
func (r *Run) checkUndone(claim *api.NodeClaim) {
	reason := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	nominated := claim.Annotations[api.NominatedPodsAnnotationKey]
	if reason == nil || reason.Reason != string(api.DisruptionReasonUnderutilized) || nominated == "" ||
		claim.Annotations[api.ReplacedByAnnotationKey] != "" || r.weather.bad() {
		return
	}
	if r.stirredAt[isLate(claim)].Before(claim.CreationTimestamp.Time) {
		r.breaks("nothing-undone",
			"consolidation ends the nodeclaim %s, which was launched %s ago for pods %s, and nothing has changed since",
			claim.Name, time.Since(claim.CreationTimestamp.Time).Truncate(time.Second), nominated)
	}
}

// inVain is how many proposals to consolidate a node may be rejected one after another.
const inVain = 6

// proposed holds that consolidation does not propose again and again what it rejects. A rejection does not
// count where pods have come or gone since the proposal, as those of a job that comes each minute.
func (r *Run) proposed(change apiserver.Change) {
	if change.Before == nil || change.After == nil || change.After.Kind != apiserver.NodeClaims || r.weather.bad() {
		return
	}
	before, _ := change.Before.Typed.(*api.NodeClaim)
	after, _ := change.After.Typed.(*api.NodeClaim)
	if _, begun := after.Annotations[api.ReplacedByAnnotationKey]; begun {
		delete(r.proposals, after.Name)
		return
	}
	proposal, stands := before.Annotations[api.ProposedAnnotationKey], after.Annotations[api.ProposedAnnotationKey] != ""
	if proposal != "" && !stands && r.podsMovedSince(proposal) {
		r.proposals[after.Name] = max(r.proposals[after.Name]-1, 0)
	}
	if proposal != "" || !stands {
		return
	}
	if r.proposals[after.Name]++; r.proposals[after.Name] > inVain {
		r.breaks("proposals-succeed",
			"%d proposals to consolidate nodeclaim %s were rejected one after another", inVain, after.Name)
	}
}

// podsMovedSince reports whether a pod has come to a node of the proposal, or has gone from it, since the
// proposal was made.
func (r *Run) podsMovedSince(proposal string) bool {
	names := strings.Split(proposal, ",")
	at, err := time.Parse(time.RFC3339, names[0])
	return err == nil && slices.ContainsFunc(names[1:], func(name string) bool {
		object := r.store.Get(apiserver.NodeClaims, "", name)
		if object == nil {
			return false
		}
		claim, _ := object.Typed.(*api.NodeClaim)
		return claim.Status.LastPodEventTime.After(at)
	})
}

// isLate reports whether the claim is one of the late workload's pool.
func isLate(claim *api.NodeClaim) bool { return claim.Labels[api.NodePoolLabelKey] == lateName }
