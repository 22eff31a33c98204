// Package provision gives pending pods the nodes that they need, and NodePools with spec.replicas
// their number of nodes.
//
// The handler turns a message into one pass under a Lease (handler.go). A pass reads the cluster
// through package sight, with what it knows better itself (reader.go), and runs its stages in a fixed
// order (pass.go): it deletes surplus claims, launches claims that wait, and plans, writes and
// launches new ones. The packages planning, intent and attempt, and decide.go, take the decisions.
// The package launching and perform.go carry them out and decide nothing.
//
// Every call may be the last one of an invocation. A claim is written before EC2 is asked for its
// instance, and its token finds the instance after a crash.
package provision
