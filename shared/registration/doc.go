// Package registration tells whether the nodes of a NodePool join the cluster, from the last
// launches that the pool's condition NodeRegistrationHealthy remembers. A pool whose nodes do not
// join gets one node at a time, with a pause between them, so that no money goes into nodes that
// serve nobody.
//
// Its place: lifecycle writes the condition. Package snapshot leaves the pools out that wait.
// Package disruption replaces no nodes of theirs. It is a deciding package.
package registration
