// Package workload reads the waiting pods of a snapshot. It is the planner's first stage.
//
// Read groups pods that are equal for scheduling. A pod group has one vector of needs, one list of
// node requirements, and one set of constraints, so the planner's work depends on the number of
// groups and not on the number of pods. A group never changes after Read. Relax returns a further
// group that has given up one preference.
//
// Terms:
//
//   - pod group (Group): pods that are equal for scheduling.
//   - alternatives: label requirements of which a node has to meet one.
//   - pod selector: the namespaces and labels by which a constraint selects pods.
//   - selector class: pods that no selector of the snapshot can tell apart.
package workload
