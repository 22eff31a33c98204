package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodecost"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/sight"
)

var (
	// errNotEmpty ends a task whose node has got a pod since the snapshot.
	errNotEmpty = errors.New("the node is not empty any more")
	// errRestartForbidden ends a task whose namespace does not let disrupt restart Deployments.
	errRestartForbidden = errors.New("the deployment may not be restarted")
)

// errFrozen ends a task whose node a person has frozen since the snapshot.
var errFrozen = errors.New("disruption is frozen")

// performer carries out tasks and keeps the fleet up to date with them. It decides nothing.
type performer struct {
	client  kubernetes
	metrics *metrics.Recorder
	now     func() time.Time
	fleet   *sight.Fleet

	forLifecycle bool      // whether claims were deleted, or reboots ordered
	again        time.Time // when the next pass is due; zero: at the next tick
	unjudged     bool      // whether nodes have drifted, and nothing is known of their releases
	frozen       string    // the last freeze that held something in this pass, in words
	prices       *catalog.Catalog
	cluster      string
	// events wait until the Lease is released, because each is a call.
	events    cluster.PendingEvents
	published publish.Pending // for EventBridge
}

// do carries out the task's steps in their order, up to the first that fails.
func (p *performer) do(ctx context.Context, task decide.Task) error {
	for i, step := range task.Steps {
		if task.Voluntary() && (i == 0 || decide.TakesEffect(step)) {
			if err := p.requireUnstopped(ctx, task.Node, task.Reason); err != nil {
				return err
			}
		}
		if err := p.step(ctx, task.Node, step); err != nil {
			p.assumeMarked(task)
			if errors.Is(err, errNotEmpty) {
				// The next pass finds the taint on a node that is not empty, and removes it.
				p.lookAgain(p.now().Add(disruption.EmptyAfter))
				return nil
			}
			return err
		}
	}
	return nil
}

// requireUnfrozen reads once more what people have frozen, and returns errFrozen where a freeze
// holds the node. Where it cannot be read nothing is disrupted.
func (p *performer) requireUnfrozen(ctx context.Context, node *disruption.Node) error {
	frozen, err := p.client.Freezes(ctx)
	if err != nil {
		return err
	}
	if held := p.holds(ctx, frozen, node); held != nil {
		return fmt.Errorf("%w: %s", errFrozen, held)
	}
	return nil
}

// holds is the freeze that holds the node, or nil. The log tells of it once in a pass.
func (p *performer) holds(ctx context.Context, frozen *freeze.Freezes, node *disruption.Node) *freeze.Freeze {
	pool := node.Claim.Labels[api.NodePoolLabelKey]
	held := frozen.Of(freeze.Disruptions, pool, p.now())
	if held != nil && p.frozen != held.String() {
		p.frozen = held.String()
		slog.InfoContext(ctx, "a freeze keeps nodes that were chosen", "NodeClaim", node.Claim.Name, "NodePool", pool,
			"because", p.frozen)
	}
	return held
}

// assumeMarked shows the conditions of a task that failed, as if all were written. A step before
// the failure marked the node perhaps, and an answer that was lost hides a write. The next pass
// goes on with a marked node, so that the budgets of this pass have to count it.
func (p *performer) assumeMarked(task decide.Task) {
	for _, step := range task.Steps {
		if set, isCondition := step.(decide.SetCondition); isCondition {
			shown := task.Node.Claim.DeepCopy()
			api.SetCondition(&shown.Status.Conditions, set.Condition, p.now())
			task.Node.Claim = shown
		}
	}
}

// lookAgain makes the next pass due at the time, unless it is due earlier. A zero time changes
// nothing.
func (p *performer) lookAgain(at time.Time) {
	if !at.IsZero() && (p.again.IsZero() || at.Before(p.again)) {
		p.again = at
	}
}

// ofNode names the claim in the error. It returns nil for a stale object: the next pass reads the
// objects again. A person's order is no failure either: the next pass takes back what the task has begun.
func ofNode(node *disruption.Node, err error) error {
	if err == nil || cluster.IsStale(err) || errors.Is(err, errFrozen) || errors.Is(err, errStopped) {
		return nil
	}
	return fmt.Errorf("nodeclaim %q: %w", node.Claim.Name, err)
}

func (p *performer) step(ctx context.Context, node *disruption.Node, step decide.Step) error {
	switch step := step.(type) {
	case decide.PatchClaim:
		return p.patchClaim(ctx, node, step)
	case decide.SetCondition:
		return p.setCondition(ctx, node, step.Condition)
	case decide.RemoveCondition:
		conditions := slices.Clone(node.Claim.Status.Conditions)
		return p.writeConditions(ctx, node, conditions, api.RemoveCondition(&conditions, step.Type))
	case decide.ShowPodEvent:
		return p.writeStatus(ctx, node, map[string]any{"lastPodEventTime": metav1.NewTime(step.At)})
	case decide.PatchNode:
		return p.client.PatchNode(ctx, node.Node.Name, step.Patch)
	case decide.RequireEmpty:
		return p.requireEmpty(ctx, node)
	case decide.RestartDeployment:
		err := p.client.AnnotatePodTemplate(ctx, step.Deployment, disruption.RestartedAtAnnotationKey, step.At)
		if cluster.IsForbidden(err) {
			return fmt.Errorf("%w: %w", errRestartForbidden, err)
		}
		return err
	case decide.DeleteClaim:
		return p.deleteClaim(ctx, node, step.Claim)
	case decide.ShowDeleted:
		shown := node.Claim.DeepCopy()
		shown.DeletionTimestamp = &metav1.Time{Time: p.now()}
		node.Claim = shown
	case decide.CountSavings:
		p.countSavings(ctx, node, step.Reason)
	case decide.Record:
		p.record(step)
	case decide.Log:
		level := slog.LevelInfo
		if step.Warning {
			level = slog.LevelWarn
		}
		slog.Log(ctx, level, step.Message, step.Attributes...)
	}
	return nil
}

// deleteClaim deletes the claim as it is known, after the task's own patches of it.
func (p *performer) deleteClaim(ctx context.Context, node *disruption.Node, claim *api.NodeClaim) error {
	if claim.UID == node.Claim.UID {
		claim = node.Claim
	}
	err := p.client.DeleteUnchangedNodeClaim(ctx, claim)
	if err == nil {
		p.forLifecycle = true
	}
	return err
}

func (p *performer) patchClaim(ctx context.Context, node *disruption.Node, step decide.PatchClaim) error {
	stored, err := p.client.PatchNodeClaim(ctx, node.Claim.Name, step.Patch)
	if err == nil && !step.Unseen {
		node.Claim = stored
	}
	return err
}

func (p *performer) setCondition(ctx context.Context, node *disruption.Node, condition metav1.Condition) error {
	condition.ObservedGeneration = node.Claim.Generation
	conditions := slices.Clone(node.Claim.Status.Conditions)
	changed := api.SetCondition(&conditions, condition, p.now())
	return p.writeConditions(ctx, node, conditions, changed)
}

func (p *performer) writeConditions(
	ctx context.Context, node *disruption.Node, conditions []metav1.Condition, changed bool,
) error {
	if !changed {
		return nil
	}
	return p.writeStatus(ctx, node, map[string]any{"conditions": conditions})
}

// writeStatus merges the patch into the status of the node's claim.
func (p *performer) writeStatus(ctx context.Context, node *disruption.Node, patch map[string]any) error {
	stored, err := p.client.PatchNodeClaimStatus(ctx, node.Claim.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": node.Claim.ResourceVersion},
		"status":   patch,
	})
	if err == nil {
		node.Claim = stored
	}
	return err
}

func (p *performer) requireEmpty(ctx context.Context, node *disruption.Node) error {
	pods, err := p.client.PodsOnNode(ctx, node.Node.Name, "")
	if err != nil {
		return err
	}
	came := slices.IndexFunc(pods, disruption.Counts)
	if came < 0 {
		return nil
	}
	slog.InfoContext(ctx, "a pod came to an empty node",
		"Node", node.Node.Name, "Pod", pods[came].Namespace+"/"+pods[came].Name)
	return errNotEmpty
}

// create creates the claim and adds it to the fleet, so that later stages count on it. A claim that
// exists already counts as created: an earlier pass died after it had created it.
func (p *performer) create(ctx context.Context, created disruption.Created) error {
	stored, err := p.client.CreateNodeClaim(ctx, &created.Claim)
	if err != nil && !cluster.IsConflict(err) {
		return fmt.Errorf("creating nodeclaim %q: %w", created.Claim.Name, err)
	}
	if err == nil {
		p.fleet.Objects.NodeClaims = append(p.fleet.Objects.NodeClaims, *stored)
	}
	slog.InfoContext(ctx, "created nodeclaim", "NodeClaim", created.Claim.Name,
		"NodePool", created.Claim.Labels[api.NodePoolLabelKey], "replaces", created.Replaces)
	return nil
}

// record keeps events until the end of the pass.
func (p *performer) record(events ...decide.Record) {
	for _, event := range events {
		p.events.Add(cluster.Event(event))
	}
}

// countSavings writes what the node's end saves. Without prices the metric counts the node with no
// savings.
func (p *performer) countSavings(ctx context.Context, node *disruption.Node, reason string) {
	if p.metrics == nil {
		return
	}
	if p.prices == nil {
		known, err := p.fleet.Catalog(ctx)
		if err != nil {
			slog.WarnContext(ctx, "prices of nodes not read", "error", err)
			known = &catalog.Catalog{}
		}
		p.prices = known
	}
	costs := nodecost.Of(p.prices, p.fleet.Objects.NodeClasses, p.fleet.Objects.NodePools)
	saved := p.fleet.Seen.Saved(node, costs.PriceOfClaim)
	p.metrics.Write(metrics.CountOf(metrics.DisruptionSavedDollars, reason, saved))
	found := own.SavingsFound{Head: own.HeadOf(p.cluster), Reason: reason, SavedPerHour: saved}
	if claim := node.Claim; claim != nil {
		id, _ := api.InstanceID(claim.Status.ProviderID)
		found.Node = own.Node{
			NodeClaim: claim.Name, NodePool: claim.Labels[api.NodePoolLabelKey],
			NodeName: claim.Status.NodeName, InstanceID: id,
		}
	}
	p.published.Add(found)
}
