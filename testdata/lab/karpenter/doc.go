// Package karpenter runs Karpenter itself in the local world. Its AWS controller is built from its
// Go module. It has the rights in AWS and in the cluster that its guide and its chart give it, and
// its own custom resource definitions.
package karpenter
