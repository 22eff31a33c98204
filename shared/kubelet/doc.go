// Package kubelet holds the values of the expressions in classes' kubelet settings, for each instance
// type.
//
// Its place: package evaluation computes the values and lifecycle stores them. The catalogue and the
// launch look them up, so that provision needs no interpreter. Package expression is the interpreter.
//
// Invariants: values belong to the inputs that they were computed from. After a change of the class
// the old ones no longer apply.
package kubelet
