// Package spread is default topology spread. It gives pods without topology spread constraints those
// of a setting, as kube-scheduler does with podTopologySpread.defaultConstraints. EKS does not show
// the scheduler's configuration, so that the setting repeats it.
// https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
//
// Its place: the stack and the functions parse the setting. Package observe reads what Needs names,
// and calls Apply before a plan or a simulation is made. The planner then treats the constraints as
// the pods' own.
//
// Invariants:
//   - A pod with a constraint of its own is not changed. Others get all default constraints or none.
//   - Pods of one workload share their constraints. Nobody may change them in place.
//   - Only the configured list counts. The scheduler's built-in defaults, which prefer and never
//     require, are not assumed.
package spread
