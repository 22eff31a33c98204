// Package cost shares the bill of a cluster's nodes among those who use them: NodePools, namespaces, or
// the values of a label of pods.
//
// Its place: the command `whittle cost` reads the cluster as `whittle status` does, and writes what this
// package returns.
//
// Invariants:
//   - The rows' prices add up to the bill, to a millionth of a dollar. What no pod requests is a row of
//     its own.
//   - The result depends on the arguments only.
package cost
