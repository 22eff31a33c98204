package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/aws/aws-lambda-go/cfn"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// admit refuses to create an installation that could not work in the cluster. An update gets a
// warning instead: its rollback is an update too, and must not fail.
func (h *Handler) admit(ctx context.Context, endpoint cluster.Endpoint, request cfn.RequestType) error {
	err := errors.Join(outOfReach(endpoint, h.inVPC), autoMode(endpoint, h.autoMode))
	if err == nil || request == cfn.RequestCreate {
		return err
	}
	slog.WarnContext(ctx, "a new installation would be refused", "cluster", h.cluster, "error", err)
	return nil
}

// outOfReach returns an error when the API server does not answer the functions. Functions outside
// a VPC have changing public addresses. Those inside may have a NAT gateway whose address is
// admitted, so that only a try can tell.
func outOfReach(endpoint cluster.Endpoint, inVPC bool) error {
	const mend = "deploy with the settings subnets and securityGroups"
	switch {
	case inVPC || !endpoint.Private && len(endpoint.PublicCIDRs) == 0: // the last when not read from EKS
		return nil
	case len(endpoint.PublicCIDRs) == 0:
		return fmt.Errorf("cluster %q: only its VPC reaches its endpoint, and the functions are outside: %s", endpoint.Name,
			mend)
	case slices.Contains(endpoint.PublicCIDRs, "0.0.0.0/0"):
		return nil
	case endpoint.Private:
		return fmt.Errorf("cluster %q: its public endpoint admits only %v, and functions outside its VPC have no fixed "+
			"address: %s", endpoint.Name, endpoint.PublicCIDRs, mend)
	}
	return fmt.Errorf("cluster %q: its public endpoint admits only %v, and functions outside its VPC have no fixed "+
		"address: enable its private endpoint, and %s", endpoint.Name, endpoint.PublicCIDRs, mend)
}

// autoMode returns an error when EKS launches nodes for the cluster's pods too. Its Karpenter is
// outside the cluster and has no Lease there, so that Whittle's standby does not see it.
func autoMode(endpoint cluster.Endpoint, allowed bool) error {
	if !endpoint.AutoMode || allowed {
		return nil
	}
	return fmt.Errorf("cluster %q: EKS Auto Mode is on, and both would launch nodes for the same pods: disable it, or "+
		"let taints or labels separate the NodePools of both and deploy with allowAutoMode=true", endpoint.Name)
}
