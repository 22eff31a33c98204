package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Task is what to do about one node. A step that fails ends the task, so that the steps after it
// may rely on it.
type Task struct {
	Node *disruption.Node
	// Reason is that for which the task disrupts its node. It is empty for a task that disrupts
	// none. A freeze holds the steps of voluntary reasons.
	Reason api.DisruptionReason
	Steps  []Step
}

// Voluntary reports whether a freeze holds the task.
func (t *Task) Voluntary() bool { return t.Reason.IsVoluntary() }

func (t *Task) add(steps ...Step) { t.Steps = append(t.Steps, steps...) }

// Step is one action: one of the types of this file.
type Step interface{ step() }

type (
	// PatchClaim merges the patch into the metadata of the task's claim.
	PatchClaim struct {
		Patch map[string]any
		// Unseen leaves the claim in the view as it was: later stages of this pass decide as if
		// the patch had not been written.
		Unseen bool
	}
	// SetCondition sets the condition in the status of the task's claim. It writes nothing when
	// the condition is set already.
	SetCondition struct{ Condition metav1.Condition }
	// RemoveCondition removes the condition of the type from the status of the task's claim. It
	// writes nothing when there is none.
	RemoveCondition struct{ Type string }
	// ShowPodEvent writes the time of the last pod event in the status of the task's claim.
	ShowPodEvent struct{ At time.Time }
	// PatchNode merges the patch into the task's node.
	PatchNode struct{ Patch map[string]any }
	// RequireEmpty reads the pods of the task's node from the API server. It ends the task, and
	// asks for another pass, if one of them counts (disruption.Counts).
	RequireEmpty struct{}
	// RestartDeployment writes the time on the Deployment's pod template, which rolls it out.
	RestartDeployment struct {
		Deployment *appsv1.Deployment
		At         time.Time
	}
	// DeleteClaim deletes the claim, of the task or another one.
	DeleteClaim struct{ Claim *api.NodeClaim }
	// ShowDeleted makes the task's claim a deleted one in the view, for later stages of this pass.
	ShowDeleted struct{}
	// CountSavings writes the metric of what the end of the task's node saves.
	CountSavings struct{ Reason string }
	// Record writes an event.
	Record struct {
		About   corev1.ObjectReference
		Type    string
		Reason  string
		Message string
	}
	// Log writes a log line of the level info, or warning.
	Log struct {
		Warning    bool
		Message    string
		Attributes []any
	}
)

// TakesEffect reports whether the step disrupts its node: it keeps pods off, moves a pod or ends
// the node. The marks before it are taken back by a later pass.
func TakesEffect(step Step) bool {
	switch step.(type) {
	case PatchNode, RestartDeployment, DeleteClaim:
		return true
	}
	return false
}

func (PatchClaim) step()        {}
func (SetCondition) step()      {}
func (RemoveCondition) step()   {}
func (ShowPodEvent) step()      {}
func (PatchNode) step()         {}
func (RequireEmpty) step()      {}
func (RestartDeployment) step() {}
func (DeleteClaim) step()       {}
func (ShowDeleted) step()       {}
func (CountSavings) step()      {}
func (Record) step()            {}
func (Log) step()               {}

// disruptionReason is the step that shows on the claim why its node is disrupted.
func disruptionReason(reason string) SetCondition {
	return SetCondition{metav1.Condition{
		Type: api.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: reason, Message: reason,
	}}
}

// normal is an event that reports progress.
func normal(about corev1.ObjectReference, reason, message string) Record {
	return Record{About: about, Type: corev1.EventTypeNormal, Reason: reason, Message: message}
}
