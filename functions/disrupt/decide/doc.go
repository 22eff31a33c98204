// Package decide turns what disrupt has read into tasks: the steps for one node, in their order. It
// is pure. The packages disruption and consolidation choose the nodes. This package decides which
// objects, events and log lines are written for each choice.
//
// The order of the steps makes a task safe to interrupt. A function that dies during a task leaves
// marks on the objects. The next pass continues from them, or removes them.
package decide
