package attempt

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Step is one thing to do for a group: one of the types of this file.
type Step interface{ step() }

type (
	// Request builds the group's request and sends it to EC2.
	Request struct{}
	// Find lists the instances of an earlier request for the group. Found instances are an answer.
	// Without any, NotFound has the steps. When EC2 cannot be asked, the next pass tries again.
	Find struct{ NotFound []Step }
	// Separate makes each claim of the batch a group of its own, which is launched with another
	// token.
	Separate struct{}
	// LeaveOut leaves offerings out of the launches that follow, in this round too.
	LeaveOut struct{ Short []Shortage }
	// ClearRefusal takes back what RefuseClass wrote, because a launch with the class succeeded.
	ClearRefusal struct{}
	// RefuseClass writes on the EC2NodeClass which of its conditions is not true. Nothing new is
	// planned with the class until a launch with it succeeds or the class changes.
	RefuseClass struct{ Condition, Reason, Message string }
	// WriteInstances writes instances on their claims.
	WriteInstances struct{ Assignments []Assignment }
	// ReportFailure writes the condition Launched of the claims, which is Unknown while another
	// attempt may succeed, and an event about the first claim. It stores in Claims what it wrote.
	ReportFailure struct {
		Claims          []api.NodeClaim
		Reason, Message string
		// Expected is a failure that passes by itself within seconds. It is no event, and counts in
		// no metric.
		Expected bool
	}
	// Remember writes on the claims what the next pass must know of the attempt.
	Remember struct {
		Claims []api.NodeClaim
		Memory
		// AtOnce makes the next attempt in this pass.
		AtOnce bool
	}
	// GiveUp deletes the claims and says why, in an event about the first of them.
	GiveUp struct {
		Claims          []api.NodeClaim
		Reason, Message string
		// Certain means that no instance was launched for the claims. Without it their finalizer
		// holds them until lifecycle has made sure of that.
		Certain bool
	}
	// Fail makes the failure of the answer an error of the pass, so that its message comes back.
	Fail struct{}
	// PlanAgain means that EC2 was short of capacity: the pass plans again without the offerings.
	PlanAgain struct{}
	// Record writes an event when the pass is done.
	Record struct {
		About   corev1.ObjectReference
		Type    string
		Reason  string
		Message string
	}
)

func (Request) step()        {}
func (Find) step()           {}
func (Separate) step()       {}
func (LeaveOut) step()       {}
func (ClearRefusal) step()   {}
func (RefuseClass) step()    {}
func (WriteInstances) step() {}
func (ReportFailure) step()  {}
func (Remember) step()       {}
func (GiveUp) step()         {}
func (Fail) step()           {}
func (PlanAgain) step()      {}
func (Record) step()         {}
