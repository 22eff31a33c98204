package nodeclaim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Step is one thing to do: one of the types of this file.
type Step interface{ step() }

type (
	// PatchNode merges the patch, which names the resourceVersion that it is for.
	PatchNode struct {
		Name  string
		Patch map[string]any
	}
	// PatchClaim merges the patch into the claim's metadata. Who does it adds the
	// resourceVersion, which earlier steps may have moved on.
	PatchClaim struct{ Patch map[string]any }
	// PatchClaimStatus merges the patch into the claim's status, likewise.
	PatchClaimStatus struct{ Patch map[string]any }
	// DeleteClaim orders the claim's end.
	DeleteClaim struct{}
	// DeleteNode orders the node's end; its finalizer holds it.
	DeleteNode struct {
		Name string
		UID  types.UID
	}
	// Evict asks for the pod's eviction under its disruption budgets.
	Evict struct {
		Pod  *corev1.Pod
		Node *corev1.Node // where it runs, for the event when a budget forbids it
	}
	// DeletePod ends the pod past its disruption budgets.
	DeletePod struct {
		Pod          *corev1.Pod
		GraceSeconds int64
	}
	// Terminate ends the instance.
	Terminate struct{ InstanceID string }
	// Tag writes tags on the instance.
	Tag struct {
		InstanceID string
		Tags       map[string]string
	}
	// Record writes an event. One that fails costs a person a hint, and no more.
	Record struct {
		About   corev1.ObjectReference
		Type    string
		Reason  string
		Message string
	}
	// Log writes a line about what the steps before it have done.
	Log struct {
		Message    string
		Attributes []any
	}
)

func (PatchNode) step()        {}
func (PatchClaim) step()       {}
func (PatchClaimStatus) step() {}
func (DeleteClaim) step()      {}
func (DeleteNode) step()       {}
func (Evict) step()            {}
func (DeletePod) step()        {}
func (Terminate) step()        {}
func (Tag) step()              {}
func (Record) step()           {}
func (Log) step()              {}
