package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

// countReplicasEvery is how often a container counts the nodes of pools with
// spec.replicas when no pod waits: Karpenter's period.
const countReplicasEvery = time.Minute

// anyReplicasOff tells whether a pool with spec.replicas has another number of nodes,
// or a claim that is not launched. Without such a pool it costs one small list, once in
// countReplicasEvery.
func (h *handler) anyReplicasOff(ctx context.Context, client *cluster.Client) (bool, error) {
	if !h.counted.due(h.now(), countReplicasEvery) {
		return false, nil
	}
	pools, err := client.NodePools(ctx)
	if err != nil {
		return false, err
	}
	var claims []api.NodeClaim
	for i := range pools {
		pool := &pools[i]
		if pool.Spec.Replicas == nil || pool.DeletionTimestamp != nil || !pool.Spec.Template.Spec.NodeClassRef.IsEC2NodeClass() {
			continue
		}
		if claims == nil {
			if claims, err = client.CachedNodeClaims(ctx); err != nil {
				return false, err
			}
		}
		var nodes []disruption.Node
		for j := range claims {
			claim := &claims[j]
			if claim.Labels[api.NodePoolLabelKey] != pool.Name {
				continue
			}
			if claim.Status.ProviderID == "" && claim.DeletionTimestamp == nil {
				return true, nil
			}
			nodes = append(nodes, disruption.Node{Claim: claim})
		}
		if off := disruption.Replicas(pool, nodes, h.now()); off.Create > 0 || len(off.Delete) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// shrink deletes the claims that pools with spec.replicas have too many of. In the
// snapshot they leave from now on. It counts what the API server has each time, so that
// one who dies in between leaves nothing to undo.
func (r *run) shrink(ctx context.Context, snapshot *plan.Snapshot) error {
	var failures error
	for i := range r.static {
		pool := &r.static[i]
		for _, surplus := range disruption.Replicas(pool, nodesOf(snapshot, pool.Name), r.now()).Delete {
			slog.InfoContext(ctx, "deleting nodeclaim to satisfy replica count", "NodeClaim", surplus.Claim.Name, "NodePool", pool.Name, "replicas", *pool.Spec.Replicas)
			if err := r.client.DeleteNodeClaim(ctx, surplus.Claim.Name, surplus.Claim.UID); err != nil {
				failures = errors.Join(failures, err)
				continue
			}
			leaving := surplus.Claim.DeepCopy()
			leaving.DeletionTimestamp = &metav1.Time{Time: r.now()}
			replaceClaim(snapshot, leaving)
		}
	}
	return failures
}

// grow makes and launches the claims that pools with spec.replicas lack, and adds them
// to the snapshot's nodes. It tells whether EC2 was short of capacity.
func (r *run) grow(ctx context.Context, snapshot *plan.Snapshot) (short bool, err error) {
	var failures error
	for i := range r.static {
		pool := &r.static[i]
		missing := disruption.Replicas(pool, nodesOf(snapshot, pool.Name), r.now()).Create
		if missing == 0 {
			continue
		}
		written, err := r.replicate(ctx, snapshot, pool, missing)
		failures = errors.Join(failures, err)
		for j := range written {
			snapshot.Nodes = append(snapshot.Nodes, plan.Node{NodeClaim: &written[j]})
		}
		starved, err := r.launchAll(ctx, snapshot, launch.Groups(written))
		failures = errors.Join(failures, err)
		short = short || starved
	}
	return short, failures
}

// replaceClaim puts the claim as it is now into the place of what was read of it.
func replaceClaim(snapshot *plan.Snapshot, claim *api.NodeClaim) {
	for i := range snapshot.Nodes {
		if node := &snapshot.Nodes[i]; node.NodeClaim != nil && node.NodeClaim.Name == claim.Name {
			node.NodeClaim = claim
		}
	}
}

// nodesOf are the pool's claims with their nodes and pods.
func nodesOf(snapshot *plan.Snapshot, pool string) []disruption.Node {
	var nodes []disruption.Node
	for i := range snapshot.Nodes {
		joined := &snapshot.Nodes[i]
		if joined.NodeClaim == nil || joined.NodeClaim.Labels[api.NodePoolLabelKey] != pool {
			continue
		}
		node := disruption.Node{Claim: joined.NodeClaim, Node: joined.Node}
		for j := range joined.Pods {
			node.Pods = append(node.Pods, &joined.Pods[j])
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// replicate writes new claims of a pool. Where none of its offerings is to be had it
// writes none: each would only be given up again.
func (r *run) replicate(ctx context.Context, snapshot *plan.Snapshot, pool *api.NodePool, count int) ([]api.NodeClaim, error) {
	types, usable := snapshot.InstanceTypes[pool.Name]
	if !usable {
		return nil, nil // an event on the pool says why
	}
	claim, requirements, err := disruption.Replica(pool)
	if err == nil {
		if _, _, found := catalog.Cheapest(types, launch.OfType(requirements)); !found {
			err = fmt.Errorf("no offering is available for %d missing nodes: %s", count, requirements)
		}
	}
	if err != nil {
		slog.WarnContext(ctx, "nodepool lacks nodes", "NodePool", pool.Name, "missing", count, "error", err)
		r.record(disruption.AboutPool(pool), corev1.EventTypeWarning, reasonInsufficientCapacity, err.Error())
		return nil, nil
	}
	claims := make([]api.NodeClaim, count)
	for i := range claims {
		claims[i] = *claim.DeepCopy()
	}
	stored, failures := r.write(ctx, snapshot, claims)
	written := present(stored)
	for i := range written {
		slog.InfoContext(ctx, "created nodeclaim", "NodeClaim", written[i].Name, "NodePool", pool.Name, "replicas", *pool.Spec.Replicas)
	}
	return written, failures
}
