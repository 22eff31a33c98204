package planning

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/gang"
	"github.com/whittle-dev/whittle/shared/planner/isolate"
)

// Solve plans a place for every pod of the snapshot that can have one. Pods that need what nobody has
// read wait. Gangs are placed as a whole. Pods that the planner panics on are left out, with that as
// their reason, and Plan.Panic tells it for the log. It does not change the snapshot.
func Solve(s *plan.Snapshot) *plan.Plan { return solveWith(planner.Solve, s) }

// solveWith is Solve with any planner, such as one that panics.
func solveWith(solve func(*plan.Snapshot) *plan.Plan, s *plan.Snapshot) *plan.Plan {
	known, held, lacking := holdUnread(s)
	decided, panicked := isolate.Plan(known, gang.Whole(within(solve)))
	if panicked != nil {
		decided.Panic = panicked.Error()
	}
	if len(held) > 0 {
		decided.Unread = lacking
		decided.Unplaced = append(decided.Unplaced, held...)
		slices.SortFunc(decided.Unplaced, func(a, b plan.Unplaced) int { return plan.CompareRefs(a.Pod, b.Pod) })
	}
	return decided
}

// holdUnread takes the pods out of the snapshot that need a detail which was not read. A running pod
// may keep pods of any namespace away, so that all pods wait where namespaces are unread.
func holdUnread(s *plan.Snapshot) (known *plan.Snapshot, held []plan.Unplaced, lacking plan.Details) {
	if s.Unread == (plan.Details{}) {
		return s, nil, lacking
	}
	lacking = plan.NeedsOf(s.Pods, s.Nodes).And(s.Unread)
	if lacking == (plan.Details{}) {
		return s, nil, lacking
	}
	rest := *s
	rest.Pods = nil
	for i := range s.Pods {
		if pod := &s.Pods[i]; lacking.Namespaces || plan.MountsClaim(pod) {
			held = append(held, unread(pod, lacking))
		} else {
			rest.Pods = append(rest.Pods, *pod)
		}
	}
	return &rest, held, lacking
}

func unread(pod *corev1.Pod, lacking plan.Details) plan.Unplaced {
	return plan.Unplaced{Pod: plan.RefOf(pod), Reasons: []plan.Reason{{Message: fmt.Sprintf(
		"the cluster's %s were not read, and a plan for the pod needs them: it waits for the next plan; report this as a "+
			"defect if it lasts", lacking)}}}
}
