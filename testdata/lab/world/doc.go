// Package world is a whole Whittle on one machine: a real Kubernetes control plane and a local AWS
// with the real stack. The real cdk deploys the stack from the synthesized template. Only EC2's
// machines are simulated.
//
// It puts the packages of the local AWS together, registers the cluster with them, and offers
// methods that disturb or measure the result. Package scenario and the end-to-end tests run on it.
package world
