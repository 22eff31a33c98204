// Package crash kills each of Whittle's functions at each call that it makes, and checks that the
// cluster and the account recover.
//
// A Scenario is an event in a cluster that one function acts on. A Matrix first runs a trial of it
// without a kill, and records the calls that the function makes to AWS and to Kubernetes. Then it
// runs trials until the function's process was killed twice at each of those calls: just before the
// call is sent, and after it was carried out but before the function sees the answer. One trial
// kills the function once in each of its invocations, or up to four times where the killed calls
// change nothing. After each kill the same event is delivered again. The functions go on with their
// ticks until the scenario has ended.
//
// Invariants that every trial checks:
//
// - No pod is evicted twice, and no disruption budget is violated.
// - At the end, NodeClaims, instances and Nodes belong together one to one.
// - Nothing is launched twice, and no finalizer holds an object.
// - Each kill happens at its call: its name, the kind of its arguments, its count in the invocation.
// - Each right of a function is used by a scenario.
//
// The tables of excuses.go name the exceptions with their reasons.
//
// A world is one of two kinds. Open makes one of the real programs, built with a clock that can be
// set, behind a Lambda Runtime API, with a real control plane. The functions' clock stands while
// they work, and the times in the answers of AWS and of the API server are translated into its
// times. OpenModel makes one of the functions' handlers, in this process and in virtual time, with
// the model of the API server of package simulate. Both run the same scenarios.
//
// A trial is deterministic. A read from the API server's watch cache shows the cluster as it was a
// round before. The package simulates the scheduler and the kubelets, so that scenarios need not
// wait for them. Each trial gets a new local AWS. The scenarios are in the files scenarios_*.go, a
// few lines each.
package crash
