package report

import (
	"github.com/whittle-dev/whittle/shared/planning"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// PoolProblem says why a NodePool can open no node.
type PoolProblem struct {
	NodePool string `json:"nodePool"`
	Problem  string `json:"problem"`
}

// PoolProblems finds the NodePools that can open no node for any pod: no type meets their
// requirements, they are not ready, or they are being deleted. Used-up limits do not count, nor do
// pools with a fixed number of nodes.
//
// It plans for each pool alone, with a pod that requests nothing and tolerates everything.
func PoolProblems(s *plan.Snapshot) []PoolProblem {
	var probe corev1.Pod
	probe.Namespace, probe.Name, probe.UID = "default", "probe", "probe"
	probe.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	var problems []PoolProblem
	for i := range s.NodePools {
		pool := &s.NodePools[i]
		if pool.Spec.Replicas != nil {
			continue
		}
		alone := plan.Snapshot{
			NodePools: s.NodePools[i : i+1], Pods: []corev1.Pod{probe}, NodeClasses: s.NodeClasses, DaemonSets: s.DaemonSets,
			InstanceTypes: s.InstanceTypes, WellKnownLabels: s.WellKnownLabels, MinValuesPolicy: s.MinValuesPolicy,
		}
		for _, unplaced := range planning.Solve(&alone).Unplaced {
			for _, reason := range unplaced.Reasons {
				problems = append(problems, PoolProblem{NodePool: pool.Name, Problem: reason.Message})
			}
		}
	}
	for _, pool := range s.UnusablePools {
		problems = append(problems, PoolProblem{NodePool: pool.NodePool, Problem: pool.Message})
	}
	return problems
}
