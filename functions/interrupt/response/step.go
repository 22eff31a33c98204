package response

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Step is one thing to do for a claim: one of the types of this file. The steps of a Response are
// carried out in their order, and a step that fails ends them.
type Step interface{ step() }

type (
	// PatchClaim merges a patch into the claim's metadata.
	PatchClaim struct {
		// Patch computes the patch from the claim as the step before has left it. It returns nil
		// when there is nothing to write.
		Patch func(*api.NodeClaim) map[string]any
		// Purpose says in errors what the patch is for.
		Purpose string
	}
	// End taints the claim's node and deletes the claim. Neither waits for the other, because the
	// time before an interruption is short.
	End struct {
		// DetailType and Reason are those of the first event, for the log.
		DetailType, Reason string
	}
)

func (PatchClaim) step() {}
func (End) step()        {}

// Record is an event to write about an object.
type Record struct {
	About   corev1.ObjectReference
	Type    string
	Reason  string
	Message string
}
