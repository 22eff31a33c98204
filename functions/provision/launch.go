package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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
	parallel = 4
	// joinAfter is when lifecycle first looks for the nodes of new instances.
	joinAfter = 5 * time.Second
	// unseenFor is how long, since a claim was written, EC2 may not show the instance of an
	// earlier launch for it before the claim is given up and its pods are planned for anew.
	unseenFor = launch.SettledAfter
)

// launchAll asks EC2 for the groups' instances and writes down what came of it. It
// tells whether EC2 was short of capacity for any of them.
func (r *run) launchAll(ctx context.Context, snapshot *plan.Snapshot, groups []launch.Group) (short bool, err error) {
	if len(groups) == 0 {
		return false, nil
	}
	r.refreshAddresses(ctx, snapshot.NodeClasses)
	pass := &launching{run: r, snapshot: snapshot, owned: owned(snapshot)}
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range groups {
		// What there is no time for is found unlaunched by the next invocation, and so is
		// what comes after EC2 has asked for less: it would only be refused too.
		if stop := pass.stopped(ctx); stop != nil {
			pass.failed(fmt.Errorf("%d of %d launches are left: %w", len(groups)-i, len(groups), stop))
			break
		}
		group.Go(func() error {
			pass.launch(ctx, groups[i], true)
			return nil
		})
	}
	_ = group.Wait() // the failures are gathered: one group's does not stop another's
	r.measure(pass.launched)
	for _, stored := range pass.launched {
		r.launchedClaims[stored.Name] = stored
		replaceClaim(snapshot, stored)
	}
	if len(pass.marks.Until) > 0 {
		// In the reserve, if need be: who comes next must not ask for the same.
		pass.failed(inventory.MarkUnavailable(context.WithoutCancel(ctx), r.client, &pass.marks, r.now()))
	}
	return pass.short, pass.failures
}

// join reads what every node must know of the cluster.
func join(ctx context.Context, client *cluster.Client) (nodeclass.Cluster, error) {
	dns, err := client.ClusterDNS(ctx)
	if err != nil {
		return nodeclass.Cluster{}, err
	}
	endpoint := client.Endpoint
	return nodeclass.Cluster{
		Name: endpoint.Name, Endpoint: endpoint.URL, CertificateAuthority: endpoint.CertificateAuthority, ServiceCIDR: endpoint.ServiceCIDR, DNS: dns,
	}, nil
}

// owned are the instances, by id, that are some claim's already.
func owned(snapshot *plan.Snapshot) map[string]bool {
	ids := map[string]bool{}
	for i := range snapshot.Nodes {
		if claim := snapshot.Nodes[i].NodeClaim; claim != nil {
			if id, ok := api.InstanceID(claim.Status.ProviderID); ok {
				ids[id] = true
			}
		}
	}
	return ids
}

// launch makes a group's request and gives its claims their instances, or says on them
// why they have none. Once more is for a group that can be launched anew at once.
func (l *launching) launch(ctx context.Context, group launch.Group, onceMore bool) {
	r := l.run
	if !r.due(&group.Waiting[0]) {
		return
	}
	class := classOf(group.Waiting[0].Spec.NodeClassRef, l.snapshot.NodeClasses)
	if class == nil || !nodeclass.Launchable(class) {
		l.giveUp(ctx, group.Waiting, api.ReasonNodeClassNotReady, "its EC2NodeClass does not exist or is not ready", r.isFresh(group.Token))
		return
	}
	types := r.typesFor(l.snapshot, &group.Waiting[0])
	if !group.Whole() {
		l.settle(ctx, group, class, types)
		return
	}
	request, err := r.addresses.build(launch.Input{
		Claim: group.Claim(), Class: class, Types: types, Cluster: r.joined, Unavailable: l.unavailable(), Now: r.now(),
	})
	if errors.Is(err, launch.ErrNoOffering) {
		l.noOffering(ctx, group, class, types, err)
		return
	}
	if err != nil {
		l.unbuilt(ctx, group.Waiting, err)
		return
	}
	if group.Waiting, err = l.hold(ctx, group.Waiting); err != nil || len(group.Waiting) == 0 {
		l.failed(err)
		r.addresses.settle(&request, nil)
		return
	}
	r.asked(group.Token)
	outcome, err := r.fleet.Launch(ctx, request)
	r.addresses.settle(&request, subnetsOf(outcome.Instances))
	if err != nil && ctx.Err() != nil {
		l.failed(err)
		return
	}
	// What EC2 has answered is written down in the reserve, whatever the time.
	again := l.outcome(context.WithoutCancel(ctx), group, class, types, outcome, err)
	if failure := fleet.FailureIn(err); onceMore && failure != nil && failure.Reason == "LaunchTemplateNotFound" {
		for _, group := range again {
			l.launch(ctx, group, false)
		}
	}
}

// noOffering gives up claims for which nothing can be asked now. What was asked for them
// before, when there was something, comes first.
func (l *launching) noOffering(ctx context.Context, group launch.Group, class *api.EC2NodeClass, types []catalog.InstanceType, why error) {
	fresh := l.run.isFresh(group.Token)
	if !fresh {
		if l.found(ctx, group, class, types) || l.run.now().Sub(group.Waiting[0].CreationTimestamp.Time) < unseenFor {
			return // EC2 may come to show some: a later pass looks again
		}
	}
	l.giveUp(ctx, group.Waiting, reasonInsufficientCapacity, why.Error(), fresh)
	l.isShort()
}

// found looks for the instances of an earlier request for the group, gives them to its
// claims, and tells whether there were any, or EC2 could not be asked.
func (l *launching) found(ctx context.Context, group launch.Group, class *api.EC2NodeClass, types []catalog.InstanceType) bool {
	found, err := l.run.fleet.InstancesOf(ctx, &group.Waiting[0])
	if err != nil {
		l.failed(err)
		return true
	}
	if len(found) == 0 {
		return false
	}
	running := slices.DeleteFunc(found, func(i fleet.Instance) bool { return i.State == "shutting-down" })
	var unseen error
	if len(running) < len(group.Waiting) {
		unseen = fmt.Errorf("%s: %w", group.Token, fleet.ErrUnseen)
	}
	l.outcome(context.WithoutCancel(ctx), group, class, types, fleet.Outcome{Instances: running, Earlier: true}, unseen)
	return true
}

// settle deals with a batch that is not to be asked for as it is: its writing was cut
// off before, or some of its claims were deleted. Whether it was asked for is seen by
// its instances.
func (l *launching) settle(ctx context.Context, group launch.Group, class *api.EC2NodeClass, types []catalog.InstanceType) {
	r := l.run
	if !r.isFresh(group.Token) {
		if l.found(ctx, group, class, types) || !group.Deleted.IsZero() && r.now().Sub(group.Deleted) < launch.SettledAfter {
			return // EC2 may come to show some: a later pass looks again
		}
	}
	groups, err := r.apart(ctx, group)
	l.failed(err)
	for _, one := range groups {
		if l.stopped(ctx) != nil {
			return
		}
		l.launch(ctx, one, true)
	}
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

func subnetsOf(instances []fleet.Instance) map[string]int {
	counts := map[string]int{}
	for _, instance := range instances {
		counts[instance.SubnetID]++
	}
	return counts
}
