// Package expression compiles and evaluates the expressions of kubelet settings. They are in the
// Common Expression Language (https://cel.dev) with Karpenter's variables and functions.
//
// Its place: package evaluation uses it for the types of the catalogue. Only lifecycle and the
// command line link it, because it adds a fifth to a function's size. The others read the values
// that lifecycle has written.
//
// Invariants: no text and no variables make it panic, and both have bounds for their work.
package expression
