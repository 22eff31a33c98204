package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/plan"
)

const (
	// parallel is how many fleets are asked for at a time: EC2 allows a few calls a second.
	parallel = 8
	// joinAfter is when lifecycle first looks for the nodes of new instances.
	joinAfter = 5 * time.Second
	// unseenFor is how long EC2 may not show the instance of an earlier launch
	// before the claim is given up and its pods are planned for anew.
	// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
	unseenFor = 30 * time.Second
)

// launchAll asks EC2 for an instance for each claim and writes down what came of
// it. It tells whether EC2 was short of capacity for any of them.
func (r *run) launchAll(ctx context.Context, snapshot *plan.Snapshot, claims []api.NodeClaim) (short bool, err error) {
	if len(claims) == 0 {
		return false, nil
	}
	join, err := r.join(ctx)
	if err != nil {
		return false, err
	}
	var mutex sync.Mutex
	var failures error
	marks := &catalog.Unavailable{}
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range claims {
		// What there is no time for is found unlaunched by the next invocation.
		if ctx.Err() != nil {
			failures = errors.Join(failures, fmt.Errorf("%d of %d nodeclaims are left to launch: %w", len(claims)-i, len(claims), ctx.Err()))
			break
		}
		group.Go(func() error {
			launched, missing, err := r.launch(ctx, snapshot, &claims[i], join)
			mutex.Lock()
			defer mutex.Unlock()
			failures = errors.Join(failures, err)
			marks.Merge(missing)
			short = short || missing != nil
			if launched != nil {
				r.launchedClaims[claims[i].Name] = launched
			}
			return nil
		})
	}
	_ = group.Wait() // the failures are gathered: one claim's does not stop another's
	for i := range claims {
		if stored := r.launchedClaims[claims[i].Name]; stored != nil {
			replaceClaim(snapshot, stored)
		}
	}
	if len(marks.Until) > 0 {
		r.unavailable.Merge(marks)
		failures = errors.Join(failures, inventory.MarkUnavailable(ctx, r.client, marks, r.now()))
	}
	return short, failures
}

// join is what every node must know of the cluster.
func (r *run) join(ctx context.Context) (nodeclass.Cluster, error) {
	dns, err := r.client.ClusterDNS(ctx)
	if err != nil {
		return nodeclass.Cluster{}, err
	}
	endpoint := r.client.Endpoint
	return nodeclass.Cluster{
		Name: endpoint.Name, Endpoint: endpoint.URL, CertificateAuthority: endpoint.CertificateAuthority, ServiceCIDR: endpoint.ServiceCIDR, DNS: dns,
	}, nil
}

// launch asks for one claim's instance and gives the claim as it is then. The
// offerings that EC2 had no room for are returned, and the claim is given up: its pods
// are planned for anew.
func (r *run) launch(ctx context.Context, snapshot *plan.Snapshot, claim *api.NodeClaim, join nodeclass.Cluster) (*api.NodeClaim, *catalog.Unavailable, error) {
	class := classOf(claim.Spec.NodeClassRef, snapshot.NodeClasses)
	if class == nil || !api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
		return nil, nil, r.abandon(ctx, claim, api.ReasonNodeClassNotReady, "its EC2NodeClass does not exist or is not ready", mayHaveInstance)
	}
	types := r.typesFor(snapshot, claim)
	request, err := launch.Build(launch.Input{Claim: claim, Class: class, Types: types, Cluster: join})
	if errors.Is(err, launch.ErrNoOffering) {
		return nil, &catalog.Unavailable{}, r.abandon(ctx, claim, reasonInsufficientCapacity, err.Error(), mayHaveInstance)
	}
	if err != nil {
		r.record(ctx, claimReference(claim), corev1.EventTypeWarning, api.ReasonLaunchFailed, err.Error())
		return nil, nil, err
	}
	claim, err = r.hold(ctx, claim)
	if err != nil || claim == nil {
		return nil, nil, err
	}
	outcome, err := r.fleet.Launch(ctx, request)
	if err != nil && ctx.Err() != nil {
		return nil, nil, err
	}
	// What EC2 has answered is written down in the reserve, whatever the time.
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		return nil, nil, r.failed(ctx, claim, err)
	}
	if outcome.Instance == nil {
		marks := &catalog.Unavailable{}
		for _, offering := range outcome.Short {
			marks.Mark(request.CapacityType, offering.InstanceType, offering.Zone, r.now())
		}
		return nil, marks, r.abandon(ctx, claim, reasonInsufficientCapacity,
			fmt.Sprintf("EC2 has no %s capacity now in %d offerings, the cheapest %s in %s", request.CapacityType, len(outcome.Short), outcome.Short[0].InstanceType, outcome.Short[0].Zone), hasNoInstance)
	}
	stored, err := r.launched(ctx, claim, outcome.Instance, types)
	return stored, nil, err
}

// typesFor are the instance types that the claim's node can be: those of its pool, as
// NodeOverlays make them. A claim without a pool, or of a class that its pool has left,
// has those of its class.
func (r *run) typesFor(snapshot *plan.Snapshot, claim *api.NodeClaim) []catalog.InstanceType {
	class := claim.Spec.NodeClassRef.Name
	for i := range snapshot.NodePools {
		pool := &snapshot.NodePools[i]
		if pool.Name == claim.Labels[api.NodePoolLabelKey] && pool.Spec.Template.Spec.NodeClassRef.Name == class {
			return snapshot.InstanceTypes[pool.Name]
		}
	}
	return r.types[class]
}

// hold makes sure that the claim cannot go before its instance: one that a person
// wrote has no finalizer yet. It is nil when the claim has changed or gone since it
// was read.
func (r *run) hold(ctx context.Context, claim *api.NodeClaim) (*api.NodeClaim, error) {
	if slices.Contains(claim.Finalizers, api.TerminationFinalizer) {
		return claim, nil
	}
	held, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion, "finalizers": append(slices.Clone(claim.Finalizers), api.TerminationFinalizer),
	}})
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil, nil
	}
	return held, err
}

// failed says on the claim why its launch failed, and makes way for another try.
func (r *run) failed(ctx context.Context, claim *api.NodeClaim, failure error) error {
	r.record(ctx, claimReference(claim), corev1.EventTypeWarning, api.ReasonLaunchFailed, failure.Error())
	switch {
	case errors.Is(failure, fleet.ErrRefused):
		// The same token would give the same answer for as long as EC2 remembers it.
		return errors.Join(failure, r.nextAttempt(ctx, claim))
	case errors.Is(failure, fleet.ErrUnseen) && r.now().Sub(claim.CreationTimestamp.Time) >= unseenFor:
		return r.abandon(ctx, claim, api.ReasonLaunchFailed, failure.Error(), mayHaveInstance)
	}
	return failure
}

// nextAttempt gives the claim's next launch another token.
func (r *run) nextAttempt(ctx context.Context, claim *api.NodeClaim) error {
	attempt, err := strconv.Atoi(claim.Annotations[api.AttemptAnnotationKey])
	if err != nil {
		attempt = 1 // a claim that a person wrote
	}
	_, err = r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion, "annotations": map[string]any{api.AttemptAnnotationKey: strconv.Itoa(attempt + 1)},
	}})
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil
	}
	return err
}

// launched writes the instance on its claim: labels first, then the status that
// says the launch is done. Killed in between, the next pass finds the claim
// without a providerID, asks EC2 with the same token, and writes both again.
func (r *run) launched(ctx context.Context, claim *api.NodeClaim, instance *fleet.Instance, types []catalog.InstanceType) (*api.NodeClaim, error) {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: instance.InstanceType,
		corev1.LabelTopologyZone:       instance.Zone,
		api.CapacityTypeLabelKey:       instance.CapacityType,
	}
	status := map[string]any{"providerID": instance.ProviderID(), "imageID": instance.ImageID}
	price := 0.0
	for i := range types {
		if types[i].Name != instance.InstanceType {
			continue
		}
		known := types[i].Requirements.Labels()
		maps.Copy(known, labels)
		labels = known
		status["capacity"], status["allocatable"] = types[i].Capacity, types[i].Allocatable
		price = priceOf(&types[i], instance, labels)
	}
	if _, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{"labels": labels}}); err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", instance.ID, claim.Name, err)
	}
	conditions := claim.Status.Conditions
	api.SetCondition(&conditions, metav1.Condition{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, ObservedGeneration: claim.Generation}, r.now())
	api.SetReady(&conditions, api.NodeClaimReadyDependents(), claim.Generation, r.now())
	status["conditions"] = conditions
	stored, err := r.client.PatchNodeClaimStatus(ctx, claim.Name, map[string]any{"status": status})
	if err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", instance.ID, claim.Name, err)
	}
	slog.InfoContext(ctx, "launched nodeclaim", "NodeClaim", claim.Name, "provider-id", instance.ProviderID(),
		"instance-type", instance.InstanceType, "zone", instance.Zone, "capacity-type", instance.CapacityType, "price", price)
	return stored, nil
}

// priceOf is the instance's price in dollars an hour; it fills in the zone's id.
func priceOf(instanceType *catalog.InstanceType, instance *fleet.Instance, labels map[string]string) float64 {
	for _, offering := range instanceType.Offerings {
		if offering.Zone == instance.Zone && offering.CapacityType == instance.CapacityType {
			if offering.ZoneID != "" {
				labels[api.LabelTopologyZoneID] = offering.ZoneID
			}
			return offering.Price
		}
	}
	return 0
}

// reasonInsufficientCapacity is Karpenter's reason for the event.
const reasonInsufficientCapacity = "InsufficientCapacityError"

// What is known of a claim that is given up.
const (
	// mayHaveInstance: an invocation before this one may have launched for it.
	mayHaveInstance = false
	// hasNoInstance: EC2 has answered to the claim's token that there is none.
	hasNoInstance = true
)

// abandon gives the claim up and says why. Its finalizer holds it until lifecycle
// has made sure that no instance was launched for it, unless that is certain.
func (r *run) abandon(ctx context.Context, claim *api.NodeClaim, reason, why string, certain bool) error {
	slog.WarnContext(ctx, "giving up nodeclaim", "NodeClaim", claim.Name, "reason", reason, "error", why)
	r.record(ctx, claimReference(claim), corev1.EventTypeWarning, reason, why)
	if certain {
		_, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
			"resourceVersion": claim.ResourceVersion,
			"finalizers":      slices.DeleteFunc(slices.Clone(claim.Finalizers), func(finalizer string) bool { return finalizer == api.TerminationFinalizer }),
		}})
		if err != nil && !cluster.IsConflict(err) && !cluster.IsGone(err) {
			return err
		}
	}
	return r.client.DeleteNodeClaim(ctx, claim.Name, claim.UID)
}
