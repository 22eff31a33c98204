// Package disruption decides which nodes to take away although nobody deleted them, and when. It is
// pure: it gets the cluster as values, and gives its decisions as values. Callers write them.
//
// The flow of a pass, each step in a file or package:
//
//	cluster.go       what is known: NodePools, nodes with their pods, pending pods, budgets
//	   |
//	   |- empty.go      Empty: nodes without pods are noted, and removed at a second look
//	   |- candidates.go Candidates: nodes to replace, by the policies below, within budgets.go
//	   |     policy.go           the policies in the order of urgency
//	   |     unhealthy.go        the node has an unhealthy condition (package repair)
//	   |     asleep.go           the pool sleeps, and nothing replaces its nodes
//	   |     scheduledchange.go  AWS has announced the end of the instance (departure.go)
//	   |     rebalance.go        EC2 recommends to replace the spot instance
//	   |     drifted.go          the claim differs from its NodePool or EC2NodeClass (package drift)
//	   |     expired.go          the claim has reached expireAfter
//	   |- proposal.go   moves that package consolidation has proposed, until they are validated
//	   |
//	reboot.go        Reboots: unhealthy nodes that a reboot may repair, instead of a replacement
//	moves.go         Cluster.Moves: what a plan for the candidates' pods comes to
//	replicas.go      Replicas: pools with spec.replicas replace node by node
//	terminatefirst.go  TerminateFirst: nodes that may end before anything replaces them
//	   |
//	replacement.go   Replacing: replacements under way are finished or rolled back
//	restart.go       pods that are moved by restarting their Deployment
//	mark.go          the patches that mark a node for its removal, and the subjects of events
//
// Three files write for others and decide no disruption. podevents.go keeps status.lastPodEventTime,
// which consolidateAfter counts from. deletioncost.go orders the pods of ReplicaSets for deletion.
// saved.go tells what the end of a node saves.
//
// Leaves that need no snapshot: budget (what disruption budgets allow), protection (what keeps pods
// and nodes, and what an eviction costs), drift (what a claim was made from), repair (unhealthy
// nodes), and reboot (the conditions of a reboot). Imports go one way, from this package to the
// leaves.
//
// # Adding a disruption reason
//
// A reason to replace nodes is a policy: a reason, and a function that tells whether a node is to
// be replaced and since when. Three files change:
//
//  1. A new file beside drifted.go has the policy, its annotations and its reason.
//  2. policies in policy.go lists it at its place in the order of urgency.
//  3. candidates_test.go has a line for each case.
//
// Budgets, protection, replacement first, roll back, events and metrics then work as for the other
// reasons. Package functions/disrupt needs no change.
package disruption
