// Package binding decides which pods Whittle may bind to a node in place of kube-scheduler. A binding looks at
// no taints, ports, volumes, spread or affinity, so that this package does. What it does not understand stays
// with the scheduler.
//
// Its place: lifecycle binds the pods that a node was launched for. It is a deciding package.
package binding
