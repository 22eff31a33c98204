// Package evaluation evaluates the expressions in a class's kubelet settings for every instance type
// of the catalogue, as Karpenter does behind its gate NodeClassCEL.
//
// Its place: lifecycle calls it and stores the values, and the command line calls it for manifests.
//
// Invariants: the same class and catalogue give the same evaluation. Its work is bounded, and so is
// the length of its messages.
package evaluation
