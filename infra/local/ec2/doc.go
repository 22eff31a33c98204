// Package ec2 is the EC2 of the local AWS: query form in, XML out, API version 2016-11-15.
//
// What it holds behaves as EC2 does as far as a node autoscaler can tell: instance types are the real ones, fleets fall short of capacity and say
// so in EC2's codes, tokens make launches idempotent, instances go through their states in their time and tell EventBridge of each. What runs on
// an instance is not its business: whoever implements Machines is told of every change of state.
//
// An action, parameter or filter that is not held here is refused by name. Nothing is ignored, so that a program cannot come to rely on something
// that was never done.
package ec2
