package attempt

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// MaximumMessage is the length, in bytes, to which messages of events and conditions are cut. The
// API server takes 1,024 bytes of an event's message.
const MaximumMessage = 1024

// Cut shortens a message to MaximumMessage.
func Cut(message string) string {
	if len(message) > MaximumMessage {
		message = message[:MaximumMessage-3] + "..."
	}
	return message
}

// Hold is the patch that gives the claim its finalizer, before EC2 is asked for an instance. It
// returns nil for a claim that has the finalizer. A claim that a person wrote has none.
func Hold(claim *api.NodeClaim) map[string]any {
	if slices.Contains(claim.Finalizers, api.TerminationFinalizer) {
		return nil
	}
	return metadata(claim, "finalizers", append(slices.Clone(claim.Finalizers), api.TerminationFinalizer))
}

// Release is the patch that takes the finalizer from a claim that has no instance.
func Release(claim *api.NodeClaim) map[string]any {
	return metadata(claim, "finalizers", slices.DeleteFunc(slices.Clone(claim.Finalizers), func(finalizer string) bool {
		return finalizer == api.TerminationFinalizer
	}))
}

// Memory is what a claim remembers of an attempt.
type Memory struct {
	// NextToken gives the claim another token, because EC2 would give the same answer to this one.
	NextToken bool
	// LeaveBatch takes the claim out of its batch, because not all of it is left. The size of a
	// batch is part of its request.
	LeaveBatch bool
	// Failed counts the attempt as one that EC2 refused.
	Failed bool
	// Unseen is the time since which EC2 does not say what became of the attempt. Zero leaves it.
	Unseen time.Time
}

// Patch is the patch that writes the memory on the claim.
func (m Memory) Patch(claim *api.NodeClaim) map[string]any {
	annotations := map[string]any{}
	if m.NextToken {
		annotations[api.AttemptAnnotationKey] = strconv.Itoa(Number(claim) + 1)
		annotations[api.UnseenSinceAnnotationKey] = nil
	}
	if m.LeaveBatch {
		annotations[api.BatchAnnotationKey] = nil
	}
	if m.Failed {
		annotations[api.FailedAttemptsAnnotationKey] = strconv.Itoa(failedAttempts(claim) + 1)
	}
	if !m.Unseen.IsZero() {
		annotations[api.UnseenSinceAnnotationKey] = m.Unseen.UTC().Format(time.RFC3339)
	}
	return metadata(claim, "annotations", annotations)
}

// FailureStatus is the patch that reports a failed attempt on the claim. The condition Launched is
// Unknown, because another attempt may succeed. It returns nil when the claim reports the same.
func FailureStatus(claim *api.NodeClaim, reason, message string, now time.Time) map[string]any {
	conditions := slices.Clone(claim.Status.Conditions)
	unknown := metav1.Condition{
		Type: api.ConditionTypeLaunched, Status: metav1.ConditionUnknown,
		Reason: reason, Message: Cut(message), ObservedGeneration: claim.Generation,
	}
	if !api.SetCondition(&conditions, unknown, now) {
		return nil
	}
	api.SetReady(&conditions, api.NodeClaimReadyDependents(), claim.Generation, now)
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": claim.ResourceVersion},
		"status":   map[string]any{"conditions": conditions},
	}
}

// metadata is a patch that fails with a conflict when the claim has changed since it was read.
func metadata(claim *api.NodeClaim, field string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"resourceVersion": claim.ResourceVersion, field: value}}
}
