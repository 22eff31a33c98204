// Package decide turns what disrupt has read into tasks: the steps for one node, in their order.
// It is pure. The packages disruption and consolidation choose the nodes; this package says which
// objects are written for each choice, and which events and log lines tell people about it.
//
// The order of the steps makes a task safe to interrupt. A function that dies in the middle of a
// task leaves marks on the objects, and the next pass goes on from them or takes them back.
package decide
