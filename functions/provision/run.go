package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/queue"
)

// rounds is how often one invocation plans again when EC2 had no room for what
// it asked for. What is still short then waits for the next tick.
const rounds = 3

// run is one pass under the lease.
type run struct {
	*handler
	client *cluster.Client
	wake   queue.Message

	catalog        *catalog.Snapshot
	unavailable    *catalog.Unavailable
	types          map[string][]catalog.InstanceType // by EC2NodeClass
	launchedClaims map[string]bool // by name
	told           int             // events written on pods that have a place
}

// provision plans for the waiting pods and launches the plan. An error is what
// another try may mend; what a person must mend is an event on the object.
func (r *run) provision(ctx context.Context) error {
	r.launchedClaims = map[string]bool{}
	var err error
	if r.catalog, err = inventory.Catalog(ctx, r.client); err != nil {
		return err
	}
	if r.unavailable, err = inventory.Unavailable(ctx, r.client); err != nil {
		return err
	}
	var failures error
	for range rounds {
		snapshot, err := r.read(ctx)
		failures = errors.Join(failures, err)
		if snapshot == nil {
			return failures
		}
		// Claims that an invocation before this one wrote and did not launch come
		// first: their pods are not to be planned for twice.
		short, err := r.launchAll(ctx, snapshot, unlaunched(snapshot))
		failures = errors.Join(failures, err)
		if !short {
			short, err = r.plan(ctx, snapshot)
			failures = errors.Join(failures, err)
		}
		if !short {
			break
		}
	}
	if len(r.launchedClaims) > 0 {
		// A machine needs some seconds to boot before it can join.
		failures = errors.Join(failures, r.sender.Send(context.WithoutCancel(ctx), r.lifecycle, r.wake.Next(queue.ReasonLaunch, r.now().Add(joinAfter))))
	}
	return failures
}

// plan asks the planner, writes down its claims and launches them. It tells
// whether EC2 was short of capacity.
func (r *run) plan(ctx context.Context, snapshot *plan.Snapshot) (short bool, err error) {
	if len(snapshot.Pods) == 0 {
		return false, nil
	}
	start := r.now()
	decided := plan.Solve(snapshot)
	slog.InfoContext(ctx, "computed new nodeclaim(s) to fit pod(s)",
		"pods", len(snapshot.Pods), "nodeclaims", len(decided.NodeClaims), "nominations", len(decided.Nominations), "unplaced", len(decided.Unplaced),
		"price", decided.PricePerHour, "bound", decided.LowerBoundPerHour, "duration", r.now().Sub(start).String())
	var failures error
	var written []api.NodeClaim
	places := map[string][]plan.PodRef{} // by the claim's name
	for i := range decided.NodeClaims {
		claim, err := r.write(ctx, &decided.NodeClaims[i])
		if err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		written = append(written, *claim)
		places[claim.Name] = decided.NodeClaims[i].Pods
	}
	short, err = r.launchAll(ctx, snapshot, written)
	failures = errors.Join(failures, err)
	// Words after deeds: thousands of pods may have got a place.
	for i := range written {
		if name := written[i].Name; r.launchedClaims[name] {
			r.nominate(ctx, places[name], "nodeclaim/"+name)
		}
	}
	if !short {
		r.explain(ctx, decided)
	}
	return short, failures
}

// write stores a planned claim: the intent, before anything is asked of EC2.
func (r *run) write(ctx context.Context, planned *plan.PlannedNodeClaim) (*api.NodeClaim, error) {
	claim := planned.NodeClaim
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[api.AttemptAnnotationKey] = "1"
	stored, err := r.client.CreateNodeClaim(ctx, &claim)
	if err != nil {
		return nil, fmt.Errorf("creating a nodeclaim of nodepool %q: %w", claim.Labels[api.NodePoolLabelKey], err)
	}
	slog.InfoContext(ctx, "created nodeclaim", "NodeClaim", stored.Name, "NodePool", stored.Labels[api.NodePoolLabelKey],
		"instance-types", len(planned.InstanceTypes), "pods", len(planned.Pods), "price", planned.PricePerHour)
	return stored, nil
}

// read reads everything that the planner decides by. The snapshot comes with an
// error when it lacks something without which the rest can be planned.
func (r *run) read(ctx context.Context) (*plan.Snapshot, error) {
	pods, err := r.client.Pods(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := r.client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := r.client.NodeClaims(ctx)
	if err != nil {
		return nil, err
	}
	pools, err := r.client.NodePools(ctx)
	if err != nil {
		return nil, err
	}
	daemons, err := r.client.DaemonSets(ctx)
	if err != nil {
		return nil, err
	}
	budgets, err := r.client.PodDisruptionBudgets(ctx)
	if err != nil {
		return nil, err
	}
	listed, err := r.client.NodeClasses(ctx)
	if err != nil {
		return nil, err
	}
	snapshot := &plan.Snapshot{DaemonSets: daemons, InstanceTypes: map[string][]catalog.InstanceType{}}
	r.types = map[string][]catalog.InstanceType{}
	var failures error
	for _, class := range listed {
		if class.Default(); nodeclass.Stale(&class) {
			// A class that cannot be resolved now is as it was; it stops no other.
			class, err = r.classes.Resolve(ctx, r.client, class, r.now())
			failures = errors.Join(failures, err)
		}
		snapshot.NodeClasses = append(snapshot.NodeClasses, class)
		if api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
			r.types[class.Name] = catalog.Resolve(r.catalog, &class, r.unavailable, r.now())
		}
	}
	for _, pool := range pools {
		if r.usable(ctx, &pool, snapshot.NodeClasses) {
			snapshot.NodePools = append(snapshot.NodePools, pool)
			snapshot.InstanceTypes[pool.Name] = r.types[pool.Spec.Template.Spec.NodeClassRef.Name]
		}
	}
	assemble(snapshot, pods, nodes, claims, func(pod *corev1.Pod) bool { return disruption.Immovable(pod, budgets, r.now()) })
	return snapshot, failures
}

// usable tells whether a pool may get nodes; why not is an event on it. One pool
// that is broken does not stop the others.
func (r *run) usable(ctx context.Context, pool *api.NodePool, classes []api.EC2NodeClass) bool {
	pool.Default()
	ref := pool.Spec.Template.Spec.NodeClassRef
	if pool.DeletionTimestamp != nil || ref != nil && !ref.IsEC2NodeClass() {
		return false
	}
	reason, message := "", ""
	if err := pool.Validate(); err != nil {
		reason, message = api.ReasonNodePoolValidationFailed, err.Error()
	} else if found := classOf(ref, classes); found == nil {
		reason = api.ReasonNodeClassNotFound
		message = fmt.Sprintf("spec.template.spec.nodeClassRef names the EC2NodeClass %q, which does not exist: create it, or name one that does", ref.Name)
	} else if ready := api.GetCondition(found.Status.Conditions, api.ConditionReady); ready == nil || ready.Status != "True" {
		reason = api.ReasonNodeClassNotReady
		message = fmt.Sprintf("EC2NodeClass %q is not ready: %s", found.Name, notReady(found))
	}
	if reason == "" {
		return true
	}
	slog.WarnContext(ctx, "nodepool gets no nodes", "NodePool", pool.Name, "reason", reason, "error", message)
	r.record(ctx, reference("karpenter.sh/v1", "NodePool", "", pool.Name, pool.UID), corev1.EventTypeWarning, reason, message)
	return false
}
