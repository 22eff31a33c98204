// Package disruption decides which nodes may be taken away of Whittle's own
// accord, and when: what protects a pod or a node, how many nodes a pool's
// budgets let go at once, and since when a node has been empty. It is pure: it
// gets the cluster as values and gives its decisions as values.
package disruption
