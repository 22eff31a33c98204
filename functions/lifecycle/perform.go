package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/functions/lifecycle/nodepool"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// afterConflict is how soon to look again at an object that has changed meanwhile, or had to wait.
const afterConflict = 2 * time.Second

// turn is when a pass leaves the rest to the next one, but for what ticks alone do: by then pods of other
// nodes may have to leave. It is half of the lease's time, so that two seldom do the same work.
const turn = leaseFor / 2

// beside is how many claims that have time are dealt with beside drains that begin.
const beside = parallel / 4

// performer carries steps out.
type performer struct {
	client    kubernetes
	fleet     instances
	leftovers leftovers
	now       func() time.Time
	tell      bool // whether hindrances that last are told in events
	leave     int  // how many pods of a node are asked to leave at once

	events cluster.PendingEvents // a drain may have little time, and causes an event for each eviction
}

// perform decides about everything seen and does it. It tells how soon to look
// again (zero: nothing is in flight), and whether pods lose their place.
func (p *performer) perform(ctx context.Context, s *seen) (again time.Duration, displaces bool, err error) {
	var mutex sync.Mutex
	var failed []error
	note := func(soon time.Duration, displaced bool, err error) {
		mutex.Lock()
		defer mutex.Unlock()
		if soon > 0 && (again == 0 || soon < again) {
			again = soon
		}
		displaces = displaces || displaced
		if err != nil {
			failed = append(failed, err)
		}
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	// First, since a pool counts the claims that are about to be given up.
	for i := range s.pools {
		group.Go(func() error {
			note(0, false, p.writeStatus(ctx, &s.pools[i], s))
			return nil
		})
	}
	_ = group.Wait() // each notes its own error
	if s.left {
		note(afterConflict, false, nil) // who was met may die over them
	}
	began := p.now()
	nodes := p.leaving(s.views)
	deal := func(view nodeclaim.View) {
		if over := p.now().Sub(began) > turn; over && (!s.tick || view.Claim.DeletionTimestamp != nil) {
			note(afterConflict, false, nil)
			return
		}
		if err := nodes.read(ctx, &view); err != nil {
			note(0, false, err)
			return
		}
		outcome := nodeclaim.Next(view, p.now())
		changed, err := p.run(ctx, view.Claim, outcome.Steps)
		if err != nil {
			err = fmt.Errorf("nodeclaim %q: %w", view.Claim.Name, err)
		}
		if changed || err != nil {
			note(afterConflict, false, nil)
		}
		note(outcome.Again, outcome.Displaces, err)
	}
	p.leave = max(1, parallel/max(1, nodes.count))
	urgent, rest := apart(s.views)
	var drains sync.WaitGroup
	drains.Go(func() { each(urgent, parallel, deal) })
	each(rest, max(beside, parallel-len(urgent)), deal)
	drains.Wait()
	if s.tick {
		if p.now().Minute()%sweepEvery == 0 {
			group.Go(func() error {
				note(0, false, p.sweepLeases(ctx, s))
				return nil
			})
		}
		p.collect(ctx, &group, s, note)
		group.Go(func() error {
			note(0, false, p.keepClasses(ctx, s))
			return nil
		})
		p.tellBlocked(ctx, s)
	}
	// The functions report through note, so that one that fails ends no other.
	_ = group.Wait()
	return again, displaces, errors.Join(failed...)
}

// apart divides views, which are in their order, at the first that has time. Those that have go on beside the
// others: in a storm drains begin without end, and the pods that have left wait for nodes that join.
func apart(views []nodeclaim.View) (urgent, rest []nodeclaim.View) {
	at := slices.IndexFunc(views, func(view nodeclaim.View) bool { return view.Urgency() > 0 })
	if at < 0 {
		at = len(views)
	}
	return views[:at], views[at:]
}

// each deals with the views, as many at once.
func each(views []nodeclaim.View, atOnce int, deal func(nodeclaim.View)) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, view := range views {
		group.Go(func() error {
			deal(view)
			return nil
		})
	}
	_ = group.Wait() // they return none
}

// collect ends what nobody stands for.
func (p *performer) collect(ctx context.Context, group *errgroup.Group, s *seen, note func(time.Duration, bool, error)) {
	for _, stray := range nodeclaim.Strays(s.instances, s.claims, p.now()) {
		var nodes []*corev1.Node
		for i := range s.nodes {
			if s.nodes[i].Spec.ProviderID == api.ProviderID(stray.Zone, stray.ID) {
				nodes = append(nodes, &s.nodes[i])
			}
		}
		group.Go(func() error {
			_, err := p.run(ctx, nil, nodeclaim.EndStray(stray, nodes))
			note(0, false, err)
			return nil
		})
	}
	for _, steps := range nodeclaim.ReleaseOrphans(s.nodes, s.claims) {
		group.Go(func() error {
			_, err := p.run(ctx, nil, steps)
			note(0, false, err)
			return nil
		})
	}
}

// sweepLeases deletes what nodes that are gone have left in kube-node-lease.
func (p *performer) sweepLeases(ctx context.Context, s *seen) error {
	leases, err := p.client.NodeLeases(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, stray := range nodeclaim.StrayLeases(leases, s.nodes, p.now()) {
		err := p.client.DeleteNodeLease(ctx, stray.Name, stray.UID)
		if err == nil {
			slog.InfoContext(ctx, "deleted the lease of a node that is gone", "Node", stray.Name)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (p *performer) writeStatus(ctx context.Context, pool *api.NodePool, s *seen) error {
	patch := nodepool.StatusPatch(pool, nodepool.Seen{Claims: s.claims, Nodes: s.nodes, Classes: s.classes, Blocked: s.blocked}, p.now())
	if patch == nil {
		return nil
	}
	err := p.client.PatchNodePoolStatus(ctx, pool.Name, patch)
	// The list may be a moment old; the next tick has the pool as it is.
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil
	}
	return err
}

// run does the steps of one claim (nil where there is none) in their order. It
// stops, without an error, at an object that has changed or gone since it was
// read. A pod that cannot be made to leave keeps no other on its node.
func (p *performer) run(ctx context.Context, claim *api.NodeClaim, steps []nodeclaim.Step) (changed bool, err error) {
	version := ""
	if claim != nil {
		version = claim.ResourceVersion
	}
	var stays []error
	for len(steps) > 0 {
		if count := evictions(steps); count > 0 {
			stays = append(stays, p.empty(ctx, claim, steps[:count]))
			steps = steps[count:]
			continue
		}
		err := p.do(ctx, claim, &version, steps[0])
		steps = steps[1:]
		if cluster.IsConflict(err) || cluster.IsGone(err) {
			slog.DebugContext(ctx, "changed since it was read", "error", err)
			return true, nil
		}
		if err != nil {
			return false, errors.Join(append(stays, err)...)
		}
	}
	return false, errors.Join(stays...)
}

// evictions are how many of the first steps move a pod off its node.
func evictions(steps []nodeclaim.Step) int {
	for i, step := range steps {
		switch step.(type) {
		case nodeclaim.Evict, nodeclaim.DeletePod:
		default:
			return i
		}
	}
	return len(steps)
}

// empty moves pods off a node, some at once: for each the API server makes sure of what budgets there
// are, which takes a tenth of a second.
func (p *performer) empty(ctx context.Context, claim *api.NodeClaim, steps []nodeclaim.Step) error {
	failed := make([]error, len(steps))
	var group errgroup.Group
	group.SetLimit(p.leave)
	for i, step := range steps {
		group.Go(func() error {
			failed[i] = p.do(ctx, claim, nil, step)
			return nil
		})
	}
	_ = group.Wait() // one that stays keeps no other on its node
	return errors.Join(failed...)
}

// do does one step. version is the claim's resourceVersion, moved on by patches of the claim.
func (p *performer) do(ctx context.Context, claim *api.NodeClaim, version *string, step nodeclaim.Step) error {
	switch step := step.(type) {
	case nodeclaim.PatchNode:
		return p.client.PatchNode(ctx, step.Name, step.Patch)
	case nodeclaim.PatchClaim:
		stored, err := p.client.PatchNodeClaim(ctx, claim.Name, at(*version, step.Patch))
		return moved(stored, err, version)
	case nodeclaim.PatchClaimStatus:
		stored, err := p.client.PatchNodeClaimStatus(ctx, claim.Name, at(*version, step.Patch))
		return moved(stored, err, version)
	case nodeclaim.DeleteClaim:
		return p.client.DeleteNodeClaim(ctx, claim.Name, claim.UID)
	case nodeclaim.DeleteNode:
		return p.client.DeleteNode(ctx, step.Name, step.UID)
	case nodeclaim.Evict:
		return p.evict(ctx, step)
	case nodeclaim.DeletePod:
		return p.client.DeletePod(ctx, step.Pod, &step.GraceSeconds)
	case nodeclaim.Terminate:
		return p.fleet.Terminate(ctx, step.InstanceID)
	case nodeclaim.Tag:
		return p.fleet.Tag(ctx, step.InstanceID, step.Tags)
	case nodeclaim.Record:
		p.events.Add(cluster.Event(step))
	case nodeclaim.Log:
		slog.InfoContext(ctx, step.Message, step.Attributes...)
	}
	return nil
}

// evict asks for an eviction. That a disruption budget forbids it now is no
// error: the next look asks again.
func (p *performer) evict(ctx context.Context, step nodeclaim.Evict) error {
	pod := step.Pod
	err := p.client.Evict(ctx, pod)
	switch {
	case err == nil:
		p.events.Add(cluster.Event{
			About: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Type:  corev1.EventTypeNormal, Reason: "Evicted", Message: "Evicted pod: its node is being taken away",
		})
		return nil
	// More than one budget for a pod is an internal error to the API server.
	case apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err) && strings.Contains(err.Error(), "PodDisruptionBudget"):
		if p.tell {
			p.events.Add(cluster.Event{
				About: disruption.AboutNode(step.Node), Type: corev1.EventTypeWarning, Reason: "FailedDraining",
				Message: fmt.Sprintf("Failed to drain node, evicting pod %s/%s: %v", pod.Namespace, pod.Name, err),
			})
		}
		return nil
	}
	return err
}

// at binds the patch to the resourceVersion.
func at(version string, patch map[string]any) map[string]any {
	bound := map[string]any{}
	for key, value := range patch {
		bound[key] = value
	}
	metadata := map[string]any{"resourceVersion": version}
	if given, ok := patch["metadata"].(map[string]any); ok {
		for key, value := range given {
			metadata[key] = value
		}
	}
	bound["metadata"] = metadata
	return bound
}

func moved(stored *api.NodeClaim, err error, version *string) error {
	if err == nil {
		*version = stored.ResourceVersion
	}
	return err
}
