package lifecycle

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclass"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// kubernetes is what lifecycle reads and writes in the cluster.
//
// A patch that carries a resourceVersion returns a conflict (cluster.IsConflict) when the object
// has changed. A patch returns not found (cluster.IsGone) when the object has gone; a deletion
// succeeds then. Any call may be throttled; the next pass repeats it.
type kubernetes interface {
	NodeClaims(context.Context) ([]api.NodeClaim, error)
	Nodes(context.Context) ([]corev1.Node, error)
	// NodeNow returns cluster.IsGone when there is no such node.
	NodeNow(ctx context.Context, name string) (*corev1.Node, error)
	NodePools(context.Context) ([]api.NodePool, error)
	NodeClasses(context.Context) ([]api.EC2NodeClass, error)
	Pods(context.Context) ([]corev1.Pod, error)
	UnboundPods(context.Context) ([]corev1.Pod, error)
	// Nominate returns a conflict when the pod has changed since it was read.
	Nominate(ctx context.Context, pod *corev1.Pod, node string) error
	// Bind returns a conflict when the pod has changed since it was read.
	Bind(ctx context.Context, pod *corev1.Pod, node string) error
	DaemonSets(context.Context) ([]appsv1.DaemonSet, error)
	PodsVersion(context.Context) (string, error)
	PodsOnNode(ctx context.Context, node, version string) ([]corev1.Pod, error)
	PodsSelected(ctx context.Context, namespace, selector string) ([]corev1.Pod, error)
	NodeLeases(context.Context) ([]coordinationv1.Lease, error)
	DeleteNodeLease(ctx context.Context, name string, uid types.UID) error
	CertificateAuthority() []byte
	VolumeAttachments(context.Context) ([]storagev1.VolumeAttachment, error)
	// VolumeName returns "" for a claim that is not bound, or has gone.
	VolumeName(ctx context.Context, namespace, claim string) (string, error)
	PatchNode(ctx context.Context, name string, patch map[string]any) error
	// PatchNodeVersion returns the node's resourceVersion afterwards.
	PatchNodeVersion(ctx context.Context, name string, patch map[string]any) (string, error)
	DeleteNode(ctx context.Context, name string, uid types.UID) error
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	PatchNodeClaimStatus(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	// DeleteUnchangedNodeClaim returns a conflict when the claim has changed since it was read.
	DeleteUnchangedNodeClaim(ctx context.Context, claim *api.NodeClaim) error
	PatchNodeClass(ctx context.Context, name string, patch map[string]any) error
	PatchNodeClassStatus(ctx context.Context, name string, patch map[string]any) (*api.EC2NodeClass, error)
	PatchNodePool(ctx context.Context, name string, patch map[string]any) error
	PatchNodePoolStatus(ctx context.Context, name string, patch map[string]any) error
	// Provisioners and AWSNodeTemplates return none for a cluster without the kind.
	Provisioners(context.Context) ([]legacy.Provisioner, error)
	AWSNodeTemplates(context.Context) ([]legacy.AWSNodeTemplate, error)
	PatchProvisionerStatus(ctx context.Context, name string, patch map[string]any) error
	PatchAWSNodeTemplateStatus(ctx context.Context, name string, patch map[string]any) error
	// WriteNodePool and WriteNodeClass create, or replace by the resourceVersion.
	WriteNodePool(context.Context, *api.NodePool) error
	WriteNodeClass(context.Context, *api.EC2NodeClass) error
	KubernetesVersion() string
	PodDisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error)
	// Evict returns cluster.IsEvictionRefused when a disruption budget forbids the eviction now.
	Evict(ctx context.Context, pod *corev1.Pod) error
	DeletePod(ctx context.Context, pod *corev1.Pod, graceSeconds *int64) error
	Record(ctx context.Context, event cluster.Event, now time.Time) error
	// AcquireLease returns nil, and no error, while another invocation has the Lease.
	AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (*cluster.Lease, error)
	LeaseHeld(ctx context.Context, name string, now time.Time) (bool, error)
	// AskHolder asks the holder of the Lease, if there is one, for another pass.
	AskHolder(ctx context.Context, name string, now time.Time) error
	inventory.Store
}

// consistent returns the client as lifecycle uses it: past the API server's watch cache, because
// lifecycle deletes, evicts and terminates.
func consistent(client *cluster.Client, err error) (kubernetes, error) {
	if err != nil {
		return nil, err
	}
	return client.Consistent(), nil
}

// instances is what lifecycle does with EC2 instances. EC2 may throttle any call; the next pass
// repeats it.
type instances interface {
	// Instances lists the instances with the cluster's tags that have not ended. It proves nothing of
	// an instance that it leaves out.
	Instances(context.Context) ([]fleet.Instance, error)
	// Describe tells of the instances with the ids, whatever their tags and states. With an error its
	// answer is right for a part of the ids.
	Describe(ctx context.Context, ids ...string) (fleet.Described, error)
	// Statuses lists, by id, the instances that fail a status check or have work announced.
	Statuses(context.Context) (map[string]fleet.Status, error)
	// Reboot returns fleet.ErrNoReboot where another call would not help.
	Reboot(ctx context.Context, id string) error
	// Terminate and Tag succeed for an instance that has ended.
	Terminate(ctx context.Context, id string) error
	Tag(ctx context.Context, id string, tags map[string]string) error
}

// resolve gives a class its status, by what EC2 returns now.
type resolve func(context.Context, api.EC2NodeClass) (api.EC2NodeClass, error)

// shifts returns the shifted zones by id. With announce it writes them to the cluster, and returns
// what has changed; a change is returned once. It is nil where zonal shifts are off.
type shifts func(ctx context.Context, announce bool) (map[string]time.Time, zonalshift.Change)

// leftovers is what was made in AWS for node classes. AWS may throttle any call; a later sweep
// repeats it. Deletions succeed for what has gone.
type leftovers interface {
	LaunchTemplates(context.Context) ([]nodeclass.Template, error)
	DeleteLaunchTemplate(ctx context.Context, id string) error
	Profiles(context.Context) ([]nodeclass.Profile, error)
	ProfileName(*api.EC2NodeClass) string
	ProfileUnusedSince(ctx context.Context, name string) (since time.Time, own bool, err error)
	MarkProfileUnused(ctx context.Context, name string, since time.Time) error
	DeleteProfile(ctx context.Context, name string) error
}

// awsLeftovers joins EC2's launch templates and IAM's instance profiles.
type awsLeftovers struct {
	*fleet.Client
	profiles fleet.Profiles
}

func (l awsLeftovers) LaunchTemplates(ctx context.Context) ([]nodeclass.Template, error) {
	listed, err := l.Client.LaunchTemplates(ctx)
	var templates []nodeclass.Template
	for _, template := range listed {
		templates = append(templates, nodeclass.Template(template))
	}
	return templates, err
}

func (l awsLeftovers) Profiles(ctx context.Context) ([]nodeclass.Profile, error) {
	listed, err := l.profiles.List(ctx)
	var profiles []nodeclass.Profile
	for _, profile := range listed {
		profiles = append(profiles, nodeclass.Profile(profile))
	}
	return profiles, err
}

func (l awsLeftovers) ProfileName(class *api.EC2NodeClass) string { return l.profiles.Name(class) }

func (l awsLeftovers) ProfileUnusedSince(ctx context.Context, name string) (time.Time, bool, error) {
	return l.profiles.UnusedSince(ctx, name)
}

func (l awsLeftovers) MarkProfileUnused(ctx context.Context, name string, since time.Time) error {
	return l.profiles.MarkUnused(ctx, name, since)
}

func (l awsLeftovers) DeleteProfile(ctx context.Context, name string) error {
	return l.profiles.Delete(ctx, name)
}
