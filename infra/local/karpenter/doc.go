// Package karpenter runs Karpenter itself in the local world: its AWS controller, built from its Go module, with the
// rights in AWS and in the cluster that its guide and its chart give it, and its own custom resource definitions.
package karpenter
