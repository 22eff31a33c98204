package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
)

// parallel is how many requests are under way at once.
const parallel = 16

// kubernetes is what lifecycle reads and writes in the cluster.
type kubernetes interface {
	NodeClaims(context.Context) ([]api.NodeClaim, error)
	Nodes(context.Context) ([]corev1.Node, error)
	NodePools(context.Context) ([]api.NodePool, error)
	NodeClasses(context.Context) ([]api.EC2NodeClass, error)
	PodsVersion(context.Context) (string, error)
	PodsOnNode(ctx context.Context, node, version string) ([]corev1.Pod, error)
	NodeLeases(context.Context) ([]coordinationv1.Lease, error)
	DeleteNodeLease(ctx context.Context, name string, uid types.UID) error
	CertificateAuthority() []byte
	VolumeAttachments(context.Context) ([]storagev1.VolumeAttachment, error)
	VolumeName(ctx context.Context, namespace, claim string) (string, error)
	PatchNode(ctx context.Context, name string, patch map[string]any) error
	DeleteNode(ctx context.Context, name string, uid types.UID) error
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	PatchNodeClaimStatus(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string, uid types.UID) error
	PatchNodeClass(ctx context.Context, name string, patch map[string]any) error
	PatchNodePoolStatus(ctx context.Context, name string, patch map[string]any) error
	Evict(ctx context.Context, pod *corev1.Pod) error
	DeletePod(ctx context.Context, pod *corev1.Pod, graceSeconds *int64) error
	Record(ctx context.Context, event cluster.Event, now time.Time) error
	AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (*cluster.Lease, error)
	LeaseHeld(ctx context.Context, name string, now time.Time) (bool, error)
	inventory.Store
}

// instances is what lifecycle does with EC2.
type instances interface {
	Instances(ctx context.Context, ids ...string) ([]fleet.Instance, error)
	Statuses(context.Context) (map[string]fleet.Status, error)
	Terminate(ctx context.Context, id string) error
	Tag(ctx context.Context, id string, tags map[string]string) error
}

// seen is the cluster at the beginning of a pass.
type seen struct {
	tick      bool
	left      bool // drains are left to the pass that was met
	listed    bool // whether EC2 was asked
	instances []nodeclaim.Instance
	claims    []api.NodeClaim
	nodes     []corev1.Node
	statuses  map[string]fleet.Status // by instance; nil unless EC2 was asked, on a tick
	views     []nodeclaim.View        // one a claim that is looked at
	blocked   []disruption.Ward       // pools that are too sick for their nodes to be repaired
	pools     []api.NodePool          // on a tick
	classes   []api.EC2NodeClass
	// classesListed tells that classes, and pools, are all there are.
	classesListed bool
	origins       map[string]*disruption.Origin // by pool, on a tick
	// failed is what could not be read and is done without: a node still registers
	// while EC2 refuses to list instances.
	failed error
}

// read lists what the pass decides about. A tick looks at everything; any other
// look only at claims on their way in or out, so that it costs one list where
// there are none.
func (h *handler) read(ctx context.Context, client kubernetes, wake queue.Message) (*seen, error) {
	s := &seen{tick: wake.Reason == queue.ReasonTick}
	// EC2 before the claims: an instance that is listed has its claim written already,
	// so that one without a claim is nobody's.
	if s.tick {
		s.listInstances(ctx, h.fleet)
	}
	var err error
	if s.claims, err = client.NodeClaims(ctx); err != nil {
		return nil, err
	}
	s.left = s.tick && slices.ContainsFunc(s.claims, ending) && h.meets(ctx, client)
	moving, asked := s.inFlight()
	if len(asked) > 0 && !s.tick {
		s.listInstances(ctx, h.fleet, asked...)
	}
	if moving || s.tick {
		if s.nodes, err = client.Nodes(ctx); err != nil {
			return nil, err
		}
	}
	if s.tick {
		s.checkInstances(ctx, h.fleet)
		s.listPools(ctx, client, h.resolve)
	}
	s.findOrigins(ctx, client, h.now())
	s.buildViews(h.cluster, wake.Hop == 0)
	s.examine(h.now())
	return s, nil
}

// inFlight tells whether any claim is on its way, and of which instances EC2's word is wanted.
// An empty id is one that nobody knows yet: it is looked for among all.
func (s *seen) inFlight() (moving bool, instances []string) {
	for i := range s.claims {
		claim := &s.claims[i]
		if !inFlight(claim) {
			continue
		}
		moving = true
		if claim.DeletionTimestamp != nil || nodeclaim.InPartition(claim) {
			id, _ := api.InstanceID(claim.Status.ProviderID)
			instances = append(instances, id)
		}
	}
	return moving, instances
}

func ending(claim api.NodeClaim) bool { return claim.DeletionTimestamp != nil }

// inFlight tells whether the claim is one of ours on its way in or out.
func inFlight(claim *api.NodeClaim) bool {
	return claim.Spec.NodeClassRef.IsEC2NodeClass() && (claim.DeletionTimestamp != nil || !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized))
}

// listInstances asks EC2 for the instances; for all of them where none or not all are known.
func (s *seen) listInstances(ctx context.Context, ec2 instances, ids ...string) {
	if slices.Contains(ids, "") {
		ids = nil
	}
	listed, err := ec2.Instances(ctx, ids...)
	if err != nil {
		s.failed = errors.Join(s.failed, err)
		return
	}
	s.listed = true
	for _, instance := range listed {
		s.instances = append(s.instances, nodeclaim.Instance{
			ID: instance.ID, Zone: instance.Zone, State: instance.State, LaunchTime: instance.LaunchTime, Partition: instance.Partition, Tags: instance.Tags,
			SubnetID: instance.SubnetID, SecurityGroupIDs: instance.SecurityGroupIDs, ReservationID: instance.ReservationID,
		})
	}
}

// listPools reads the pools and classes, and what the classes select now; without
// pools and classes no status is written.
func (s *seen) listPools(ctx context.Context, client kubernetes, resolve func(context.Context, api.EC2NodeClass) (api.EC2NodeClass, error)) {
	pools, poolsErr := client.NodePools(ctx)
	classes, classesErr := client.NodeClasses(ctx)
	if err := errors.Join(poolsErr, classesErr); err != nil {
		s.failed = errors.Join(s.failed, err)
		return
	}
	for i := range classes {
		classes[i].Default()
		resolved, err := resolve(ctx, classes[i])
		if err != nil {
			s.failed = errors.Join(s.failed, err)
			continue
		}
		classes[i] = resolved
	}
	for i := range pools {
		pools[i].Default()
	}
	s.pools = slices.DeleteFunc(pools, func(pool api.NodePool) bool {
		ref := pool.Spec.Template.Spec.NodeClassRef
		return ref != nil && !ref.IsEC2NodeClass()
	})
	s.classes, s.classesListed = classes, true
}

// typesEvery is how often, in minutes of the hour, claims' instance types are looked for
// in the catalogue: Karpenter's interval.
const typesEvery = 30

// findOrigins finds what the claims of the pools would be made from now.
func (s *seen) findOrigins(ctx context.Context, client kubernetes, now time.Time) {
	if !s.classesListed {
		return
	}
	var known *catalog.Snapshot
	if len(s.claims) > 0 && now.Minute()%typesEvery == 0 {
		var err error
		if known, err = inventory.Catalog(ctx, client); err != nil && !errors.Is(err, inventory.ErrNoCatalog) {
			s.failed = errors.Join(s.failed, err)
		}
	}
	var err error
	s.origins, err = disruption.Origins(s.pools, s.classes, client.CertificateAuthority(), known)
	s.failed = errors.Join(s.failed, err)
}

// resolver gives classes their statuses by what EC2 says now.
func resolver(config aws.Config, connection *function.Connection, h *handler) func(context.Context, api.EC2NodeClass) (api.EC2NodeClass, error) {
	reader := classes.NewResolver(config, h.cluster)
	return func(ctx context.Context, class api.EC2NodeClass) (api.EC2NodeClass, error) {
		client, err := connection.Client(ctx)
		if err != nil {
			return class, err
		}
		return reader.Resolve(ctx, client, class, h.now())
	}
}

// buildViews puts together what belongs to each claim, in the order in which it is done.
func (s *seen) buildViews(cluster string, tell bool) {
	nodes := map[string][]*corev1.Node{}
	for i := range s.nodes {
		if id := s.nodes[i].Spec.ProviderID; id != "" {
			nodes[id] = append(nodes[id], &s.nodes[i])
		}
	}
	byID, byClaim := map[string][]nodeclaim.Instance{}, map[string][]nodeclaim.Instance{}
	for _, instance := range s.instances {
		byID[instance.ID] = append(byID[instance.ID], instance)
		byClaim[instance.Tags[api.NodeClaimTagKey]] = append(byClaim[instance.Tags[api.NodeClaimTagKey]], instance)
	}
	for i := range s.claims {
		claim := &s.claims[i]
		if !claim.Spec.NodeClassRef.IsEC2NodeClass() || !s.tick && !inFlight(claim) {
			continue
		}
		if s.left && claim.DeletionTimestamp != nil {
			continue
		}
		view := nodeclaim.View{Claim: claim, Cluster: cluster, Tick: s.tick, Tell: tell, InstancesListed: s.listed}
		if claim.Status.ProviderID == "" {
			view.Instances = byClaim[claim.Name]
		} else {
			view.Nodes = nodes[claim.Status.ProviderID]
			id, _ := api.InstanceID(claim.Status.ProviderID)
			view.Instances = byID[id]
		}
		if pool := claim.Labels[api.NodePoolLabelKey]; pool != "" {
			view.Origin = s.origins[pool]
			view.ExpiryWaits = !s.classesListed || view.Origin != nil && disruption.ExpiresWithinBudgets(view.Origin.Pool)
		}
		s.views = append(s.views, view)
	}
	slices.SortStableFunc(s.views, nodeclaim.View.Compare)
}
