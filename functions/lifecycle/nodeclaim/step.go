package nodeclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/events/own"
)

// Step is one action: one of the types of this file.
type Step interface{ step() }

type (
	// PatchNode merges the patch, which names the resourceVersion that it is for.
	PatchNode struct {
		Name  string
		Patch map[string]any
	}
	// Nominate tells the scheduler to try the node first for the pods. A failure is logged, and the
	// steps go on.
	Nominate struct {
		Node string
		Pods []*corev1.Pod
	}
	// Bind binds the pods to the node. Where one has changed since it was read, the steps after it do not follow,
	// unless this is the Last attempt: the next pass reads the pods again. Another failure is logged, and the steps
	// go on, because the scheduler has the pods.
	Bind struct {
		Node *corev1.Node
		// Patch is merged into the node first. It names the resourceVersion that it is for. PatchNode steps that
		// follow go on from the node as it is then.
		Patch map[string]any
		Pods  []*corev1.Pod
		Last  bool
	}
	// PatchClaim merges the patch into the claim's metadata. The performer adds the resourceVersion,
	// which earlier steps may have moved on.
	PatchClaim struct{ Patch map[string]any }
	// PatchClaimStatus merges the patch into the claim's status in the same way.
	PatchClaimStatus struct{ Patch map[string]any }
	// DeleteClaim deletes the claim; its finalizer holds it.
	DeleteClaim struct{ Hold Hold }
	// DeleteNode deletes the node; its finalizer holds it.
	DeleteNode struct {
		Name string
		UID  types.UID
	}
	// Evict evicts the pod under its disruption budgets.
	Evict struct {
		Pod  *corev1.Pod
		Node *corev1.Node // its node, for the event when a budget forbids the eviction
		Why  string       // the reason for which the node leaves, or "", for the pod's event
		Hold Hold
	}
	// DeletePod deletes the pod, whatever its disruption budgets allow.
	DeletePod struct {
		Pod          *corev1.Pod
		GraceSeconds int64
		Hold         Hold
	}
	// RequireHalted asks EC2 for the instance by its id. The steps after it follow only if nothing
	// runs on the instance: it is stopped or terminated, or EC2 does not know it.
	RequireHalted struct{ InstanceID string }
	// Terminate terminates the instance.
	Terminate struct {
		InstanceID string
		Hold       Hold
	}
	// Reboot reboots the instance. If EC2 refuses for good, the steps of Refused follow, and those
	// after it do not.
	Reboot struct {
		InstanceID string
		Refused    []Step
	}
	// Publish publishes an event on EventBridge, where a bus is set.
	Publish struct{ Detail own.Detail }
	// Tag writes tags on the instance.
	Tag struct {
		InstanceID string
		Tags       map[string]string
	}
	// RefuseClass writes on the EC2NodeClass that instances of it end, unless its spec has changed since
	// the claim's launch. Nothing new is planned with the class for ten minutes. A failure is logged,
	// and the steps go on.
	RefuseClass struct{ Class, Message string }
	// Record writes an event. A failure is logged, and the steps go on.
	Record struct {
		About   corev1.ObjectReference
		Type    string
		Reason  string
		Message string
	}
	// Log writes a log line about the steps before it.
	Log struct {
		Message    string
		Attributes []any
	}
)

// Destroys reports whether one of the steps ends something, or interrupts an instance.
func (o Outcome) Destroys() bool {
	return slices.ContainsFunc(o.Steps, func(step Step) bool {
		switch step.(type) {
		case DeleteClaim, DeleteNode, Evict, DeletePod, Terminate, Reboot:
			return true
		}
		return false
	})
}

func (PatchNode) step()        {}
func (Nominate) step()         {}
func (Bind) step()             {}
func (PatchClaim) step()       {}
func (PatchClaimStatus) step() {}
func (DeleteClaim) step()      {}
func (DeleteNode) step()       {}
func (Evict) step()            {}
func (DeletePod) step()        {}
func (RequireHalted) step()    {}
func (Terminate) step()        {}
func (Reboot) step()           {}
func (Tag) step()              {}
func (RefuseClass) step()      {}
func (Record) step()           {}
func (Log) step()              {}
func (Publish) step()          {}
