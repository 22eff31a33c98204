package karpenter

import (
	"context"
	"errors"

	"github.com/awslabs/operatorpkg/status"
	kwok "sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// provider is a cloud that offers the instance types of a snapshot and launches nothing: what
// Karpenter decides is carried out by who drives it. Its node class is that of Karpenter's own
// simulated cloud, the only one that its core module has beside its tests.
type provider struct {
	instanceTypes map[string][]*cloudprovider.InstanceType
}

var errLaunchesNothing = errors.New("this provider launches and ends nothing")

func (p *provider) GetInstanceTypes(
	_ context.Context,
	pool *karpenterv1.NodePool,
) ([]*cloudprovider.InstanceType, error) {
	return p.instanceTypes[pool.Name], nil
}

func (p *provider) Create(context.Context, *karpenterv1.NodeClaim) (*karpenterv1.NodeClaim, error) {
	return nil, errLaunchesNothing
}

func (p *provider) Delete(context.Context, *karpenterv1.NodeClaim) error { return errLaunchesNothing }

func (p *provider) Get(context.Context, string) (*karpenterv1.NodeClaim, error) {
	return nil, errLaunchesNothing
}

func (p *provider) List(context.Context) ([]*karpenterv1.NodeClaim, error) { return nil, nil }

func (p *provider) IsDrifted(context.Context, *karpenterv1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

func (p *provider) RepairPolicies() []cloudprovider.RepairPolicy { return nil }

func (p *provider) Reboot(context.Context, *karpenterv1.NodeClaim, string) error {
	return errLaunchesNothing
}

func (p *provider) Name() string { return "snapshot" }

func (p *provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&kwok.KWOKNodeClass{}}
}
