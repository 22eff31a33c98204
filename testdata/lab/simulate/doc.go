// Package simulate runs all of Whittle in virtual time, in an order that one seed decides.
//
// The handlers of the functions are the real ones, which package product makes with the clock and the network
// of their containers. Their calls end at models in the same process: package apiserver for Kubernetes, the
// local EC2, IAM, SSM, EKS and price list for AWS, and small models of SQS, EventBridge and Lambda in this
// package. Machines, kubelets, the scheduler and the controllers of a cluster take a few lines each.
//
// A Run is one simulation. Package engine decides what happens when. The weather decides what goes wrong:
// lost calls, late calls, killed functions, clocks that are off, lists that lag, machines that fail.
// The invariants are checked after every step, and others when everything has become quiet.
package simulate
