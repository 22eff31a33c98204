// Package world is a whole Whittle on one machine: a real Kubernetes control
// plane, a local AWS, and in it the real stack, deployed by the real cdk from
// the synthesized template. Only EC2's machines are simulated.
package world
