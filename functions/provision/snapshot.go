package main

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// claimsOf are all claims of the snapshot: those that no instance has been asked for, or
// whose instance an invocation did not live to write down, and those beside them.
func claimsOf(snapshot *plan.Snapshot) []api.NodeClaim {
	var claims []api.NodeClaim
	for _, node := range snapshot.Nodes {
		if node.NodeClaim != nil {
			claims = append(claims, *node.NodeClaim)
		}
	}
	return claims
}

// classOf is the EC2NodeClass that the reference names, or nil.
func classOf(ref *api.NodeClassReference, classes []api.EC2NodeClass) *api.EC2NodeClass {
	for i := range classes {
		if ref.IsEC2NodeClass() && classes[i].Name == ref.Name {
			return &classes[i]
		}
	}
	return nil
}
