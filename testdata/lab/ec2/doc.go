// Package ec2 is the EC2 of the local AWS: query form in, XML out, API version 2016-11-15.
//
// It behaves as EC2 does towards a node autoscaler. Instance types are the real ones. Fleets run
// short of capacity and say so in EC2's error codes. Client tokens make launches idempotent.
// Instances take their time from state to state, and EventBridge gets an event of each change. The
// package does not know what runs on an instance: a Machines implementation learns of every change
// of state.
//
// The package refuses by name an action, parameter or filter that it does not hold. It ignores
// nothing, so that no program can rely on work that was never done.
//
// The request and answer types are generated from AWS's service model. types.txt lists the types
// and the members that the package holds.
package ec2

//go:generate go run ../servicemodel/generate ec2 types.txt types_generated.go
