// Package release decides how far a new release of a NodePool's nodes may go. A release is what the
// claims of the pool would be made from now: its template, its class and the class's images. Drift
// brings it to the nodes. People who change the stages, what counts as worse, or how a person
// overrides a verdict need it.
//
// The stages are one node of the pool, one node in each further zone, and then as many as the
// budgets let go. The first two end once their nodes have been healthy for the time to bake. New
// nodes that do worse than the nodes before halt the release, at every stage.
//
// Its place: disrupt judges each pool before it replaces drifted nodes, and keeps a Record of it.
// `whittle release` shows the verdict and writes the orders. The package is pure.
//
// Invariants:
//   - The verdict follows from the objects, the Record and the orders. A pass that dies, comes twice or comes
//     late decides the same.
//   - A halt stays in the Record, because the node that failed does not stay. Only an order or another release
//     ends it.
//   - A pool whose nodes are few in number or short-lived still gets its release, one node at a time.
package release
