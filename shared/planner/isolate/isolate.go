// Package isolate keeps a pod that the planner panics on from stopping the plan for all others.
//
// Its place: functions plan through it. The planner itself knows nothing of it.
package isolate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/plan"
)

// isolatingPlans bounds the plans that look for the pods that a plan panics on.
const isolatingPlans = 64

// Divide divides the pods into those that a plan can be made for, and the others, for each of which
// it returns the error at the same index. It plans for halves, so that few plans find one pod among
// thousands. Try returns the error of a plan for the pods. When its calls are used up, pods that
// were not told apart count as bad together.
func Divide(pods []corev1.Pod, try func([]corev1.Pod) error) (good, bad []corev1.Pod, failures []error) {
	search := isolation{try: try, left: isolatingPlans}
	good = search.divide(pods)
	return good, search.bad, search.failures
}

type isolation struct {
	try      func([]corev1.Pod) error
	left     int
	bad      []corev1.Pod
	failures []error
}

// divide returns the pods that a plan can be made for together, and notes the others.
func (s *isolation) divide(pods []corev1.Pod) []corev1.Pod {
	if len(pods) == 0 {
		return nil
	}
	s.left--
	err := s.try(pods)
	if err == nil {
		return pods
	}
	if len(pods) == 1 || s.left <= 0 {
		s.note(pods, err)
		return nil
	}
	found := len(s.bad)
	first, second := s.divide(pods[:len(pods)/2]), s.divide(pods[len(pods)/2:])
	good := append(append(make([]corev1.Pod, 0, len(first)+len(second)), first...), second...)
	if len(good) == 0 {
		return nil
	}
	// Either half may be good alone and not with the other.
	if len(s.bad) > found {
		s.left--
		if err = s.try(good); err == nil {
			return good
		}
	}
	s.note(second, err)
	return first
}

func (s *isolation) note(pods []corev1.Pod, err error) {
	for i := range pods {
		s.bad, s.failures = append(s.bad, pods[i]), append(s.failures, err)
	}
}

// Plan solves the snapshot. Pods that the solver panics on are unplaced with that as their reason,
// and the plan is made for all others. The error is the panic, for the log.
func Plan(snapshot *plan.Snapshot, solve func(*plan.Snapshot) *plan.Plan) (*plan.Plan, error) {
	decided, panicked := confined(snapshot, solve)
	if panicked == nil {
		return decided, nil
	}
	// The search needs no good plans, and a plan without improvement may do where a good one fails.
	quick := *snapshot
	quick.SkipImprovement = true
	good, bad, failures := Divide(snapshot.Pods, func(pods []corev1.Pod) (err error) {
		some := quick
		some.Pods = pods
		_, err = confined(&some, solve)
		return err
	})
	rest := *snapshot
	rest.Pods, quick.Pods = good, good
	decided, err := confined(&rest, solve)
	if err != nil {
		decided, err = confined(&quick, solve)
	}
	if err != nil {
		decided, bad, failures = &plan.Plan{}, snapshot.Pods, slices.Repeat([]error{err}, len(snapshot.Pods))
	}
	for i := range bad {
		decided.Unplaced = append(decided.Unplaced, plan.Unplaced{
			Pod: plan.RefOf(&bad[i]), Reasons: []plan.Reason{{Message: failures[i].Error()}},
		})
	}
	slices.SortFunc(decided.Unplaced, func(a, b plan.Unplaced) int { return plan.CompareRefs(a.Pod, b.Pod) })
	return decided, panicked
}

// confined solves the snapshot, and returns a panic as an error.
func confined(snapshot *plan.Snapshot, solve func(*plan.Snapshot) *plan.Plan) (decided *plan.Plan, err error) {
	err = guard.Run(func() error {
		decided = solve(snapshot)
		return nil
	})
	return decided, err
}
