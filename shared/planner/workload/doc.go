// Package workload reads the waiting pods of a snapshot. It is the planner's first stage.
//
// Read takes a plan.Snapshot and returns a Workload: groups of equal pods, and what their
// constraints say. The planner's work then depends on the number of groups and not on the number of
// pods. All later stages read the Workload. The planner calls Relax when a group finds no place; it
// returns a further group that has given up one preference.
//
// # Invariants
//
//   - Pods of one group are equal for scheduling: every node that can hold one can hold each other.
//   - The order of the snapshot's pods changes neither the groups nor their order. Groups are
//     sorted by size and then by content, the pods of a group by age and then by name.
//   - A group never changes after Read or Relax returned it, except for its list of pods.
//   - Groups with equal node terms share one pointer to their requirements. Terms that select the
//     same pods share one PodSelector. Later stages compare such pointers instead of contents.
//   - A constraint that cannot be read, or that no node can meet, is no error of Read. The group's
//     Problem then says why its pods have no place.
//
// # Terms
//
//   - pod group (Group): pods that are equal for scheduling.
//   - group key: bytes that are equal for pods of one group.
//   - node terms (NodeTerms): a pod's node selector and required node affinity.
//   - alternatives (Alternatives): label requirements, of which a node has to meet one.
//   - pod selector (PodSelector): the namespaces and labels by which a constraint selects pods.
//   - selector class (Classes): pods that no selector of the snapshot can tell apart.
//   - preference: a preferred affinity term, a ScheduleAnyway spread, or the wish to avoid taints
//     of effect PreferNoSchedule. A group treats preferences as required until Relax drops them.
package workload
