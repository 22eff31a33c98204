package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/publish"
)

const (
	// nominateWithin is the longest time that a node waits for the nominations of its pods, and bindWithin that for
	// their bindings. The pods that are left are the scheduler's.
	nominateWithin = time.Second
	bindWithin     = 2 * time.Second
	// schedulerLag is the time from the bindings until the scheduler may learn that it can use the
	// node. It learns of pods and of nodes by two watches, and would give the room of pods that it
	// has not seen to others. Where the API server took longer for the bindings, its watches may be
	// as late, so that the lag is as long, up to mostLag.
	schedulerLag = 300 * time.Millisecond
	mostLag      = time.Second
)

// errRuns ends the steps of a claim whose instance runs, contrary to what was read.
var errRuns = errors.New("the instance runs")

// errUnbound ends the steps of a claim of whose pods the next pass binds more.
var errUnbound = errors.New("pods of the node are not bound yet")

// errOver is an eviction that the next pass asks for.
var errOver = errors.New("the pass is over")

// performer carries out steps. It decides nothing.
type performer struct {
	client    kubernetes
	fleet     instances
	now       func() time.Time
	report    bool // whether events tell of evictions that a budget refuses
	evictions int  // the number of pods of one node that are evicted at a time
	evicting  *evictions
	frozen    freezes
	// nominations holds an element for each nomination or binding that is under way.
	nominations chan struct{}

	// events wait until the Lease is released: a drain may have little time, and causes an event
	// for each eviction.
	events    cluster.PendingEvents
	published publish.Pending // for EventBridge
}

// do carries out the steps of one claim (nil where there is none) in their order. It stops without
// an error at an object that has changed or gone since it was read, and reports that. It reports the
// same where the pass was over before all evictions. A pod that cannot be evicted keeps no other on
// its node.
func (p *performer) do(ctx context.Context, claim *api.NodeClaim, steps []nodeclaim.Step) (again bool, err error) {
	return p.carryOut(ctx, claim, steps, &done{})
}

// carryOut is do, and notes what was done to the node.
func (p *performer) carryOut(
	ctx context.Context, claim *api.NodeClaim, steps []nodeclaim.Step, did *done,
) (again bool, err error) {
	var now versions
	if claim != nil {
		now.claim = claim.ResourceVersion
	}
	var notEvicted []error
	for len(steps) > 0 {
		if count := leadingEvictions(steps); count > 0 {
			late, err := p.evictAll(ctx, steps[:count])
			again = again || late
			notEvicted = append(notEvicted, err)
			steps = steps[count:]
			continue
		}
		step := steps[0]
		err := p.step(ctx, claim, &now, step)
		steps = steps[1:]
		did.note(step, err)
		if reboot, is := step.(nodeclaim.Reboot); is && errors.Is(err, fleet.ErrNoReboot) {
			slog.WarnContext(ctx, "the reboot of an unhealthy node is refused", "NodeClaim", claim.Name, "error", err)
			steps, err = reboot.Refused, nil
		}
		if cluster.IsStale(err) || errors.Is(err, errRuns) || errors.Is(err, errUnbound) || errors.Is(err, errFrozen) {
			slog.DebugContext(ctx, "changed since it was read", "error", err)
			return true, nil
		}
		if err != nil {
			return false, errors.Join(append(notEvicted, err)...)
		}
	}
	return again, errors.Join(notEvicted...)
}

// leadingEvictions is the number of the first steps that move a pod off its node.
func leadingEvictions(steps []nodeclaim.Step) int {
	for i, step := range steps {
		switch step.(type) {
		case nodeclaim.Evict, nodeclaim.DeletePod:
		default:
			return i
		}
	}
	return len(steps)
}

// evictAll moves pods off a node, some at a time. The API server takes a tenth of a second to check
// the budgets of each, so that the pods of one budget may take longer than a pass has. It reports
// whether the next pass has to ask for some.
func (p *performer) evictAll(ctx context.Context, steps []nodeclaim.Step) (late bool, err error) {
	failed := make([]error, len(steps))
	var group errgroup.Group
	group.SetLimit(p.evictions)
	for i, step := range steps {
		group.Go(func() error {
			failed[i] = p.step(ctx, nil, nil, step)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	for i, err := range failed {
		if errors.Is(err, errOver) || errors.Is(err, errFrozen) {
			late, failed[i] = true, nil
		}
	}
	return late, errors.Join(failed...)
}

// done is what steps have done to a node.
type done struct {
	bound   bool // its pods, or as many as may be
	changed bool // it has changed since it was read, and the steps ended there
}

func (d *done) note(step nodeclaim.Step, err error) {
	switch step.(type) {
	case nodeclaim.Bind:
		d.bound, d.changed = err == nil, cluster.IsConflict(err)
	case nodeclaim.PatchNode:
		d.changed = cluster.IsConflict(err)
	}
}

// versions are the resourceVersions of a claim and its node, which the steps move on.
type versions struct {
	claim string
	node  string // empty before a step has changed the node
}

// step carries out one step.
func (p *performer) step(ctx context.Context, claim *api.NodeClaim, now *versions, step nodeclaim.Step) error {
	if nodeclaim.HoldOf(step).Voluntary {
		if err := p.frozen.require(ctx, step); err != nil {
			return err
		}
	}
	switch step := step.(type) {
	case nodeclaim.PatchNode:
		return p.client.PatchNode(ctx, step.Name, movedOn(step.Patch, now.node))
	case nodeclaim.PatchClaim:
		stored, err := p.client.PatchNodeClaim(ctx, claim.Name, withVersion(step.Patch, now.claim))
		return follow(&now.claim, stored, err)
	case nodeclaim.PatchClaimStatus:
		stored, err := p.client.PatchNodeClaimStatus(ctx, claim.Name, withVersion(step.Patch, now.claim))
		return follow(&now.claim, stored, err)
	case nodeclaim.DeleteClaim:
		unchanged := *claim
		unchanged.ResourceVersion = now.claim
		return p.client.DeleteUnchangedNodeClaim(ctx, &unchanged)
	case nodeclaim.DeleteNode:
		return p.client.DeleteNode(ctx, step.Name, step.UID)
	case nodeclaim.Evict:
		return p.evict(ctx, step)
	case nodeclaim.DeletePod:
		return p.client.DeletePod(ctx, step.Pod, &step.GraceSeconds)
	case nodeclaim.RequireHalted:
		return p.requireHalted(ctx, step.InstanceID)
	case nodeclaim.Bind:
		return p.bind(ctx, now, step)
	case nodeclaim.Terminate:
		return p.fleet.Terminate(ctx, step.InstanceID)
	case nodeclaim.Reboot:
		return p.fleet.Reboot(ctx, step.InstanceID)
	case nodeclaim.Tag:
		return p.fleet.Tag(ctx, step.InstanceID, step.Tags)
	default:
		p.stepWithoutFailure(ctx, claim, step)
	}
	return nil
}

// stepWithoutFailure carries out a step whose failure stops no other.
func (p *performer) stepWithoutFailure(ctx context.Context, claim *api.NodeClaim, step nodeclaim.Step) {
	switch step := step.(type) {
	case nodeclaim.Nominate:
		p.nominate(ctx, step)
	case nodeclaim.RefuseClass:
		p.refuseClass(ctx, claim, step)
	case nodeclaim.Record:
		p.events.Add(cluster.Event(step))
	case nodeclaim.Publish:
		p.published.Add(step.Detail)
	case nodeclaim.Log:
		slog.InfoContext(ctx, step.Message, step.Attributes...)
	}
}

// nominate writes the nominations of a node's pods. It stops after a while, because the node waits
// for its registration meanwhile. The next pass nominates the pods that are left.
func (p *performer) nominate(ctx context.Context, step nodeclaim.Nominate) {
	failed := p.eachPod(ctx, step.Pods, nominateWithin, func(ctx context.Context, pod *corev1.Pod) error {
		// A pod that has changed may have a node by now, or a nomination.
		return cluster.IgnoreStale(p.client.Nominate(ctx, pod, step.Node))
	})
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) > 0 {
		slog.WarnContext(ctx, "pods are not nominated for their node",
			"Node", step.Node, "pods", len(step.Pods), "failed", len(failed), "error", failed[0])
	}
}

// bind binds pods to a node, each at most once. A pod that has changed since it was read may have a node by now.
// Then it returns errUnbound, unless the step is the last attempt, and also where the time was too short.
func (p *performer) bind(ctx context.Context, now *versions, step nodeclaim.Bind) error {
	version, err := p.client.PatchNodeVersion(ctx, step.Node.Name, step.Patch)
	if err != nil {
		return err
	}
	now.node = version
	began := p.now()
	results := p.eachPod(ctx, step.Pods, bindWithin, func(ctx context.Context, pod *corev1.Pod) error {
		return p.client.Bind(ctx, pod, step.Node.Name)
	})
	bound, changed, late, failed := 0, 0, 0, 0
	var first error
	for _, err := range results {
		switch {
		case err == nil:
			bound++
		case cluster.IsStale(err):
			changed++
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			late++
		default:
			failed, first = failed+1, cmp.Or(first, err)
		}
	}
	slog.InfoContext(ctx, "bound pods", "Node", step.Node.Name, "pods", bound, "changed", changed, "late", late)
	if bound > 0 {
		p.events.Add(cluster.Event{
			About: disruption.AboutNode(step.Node), Type: corev1.EventTypeNormal, Reason: "Bound",
			Message: fmt.Sprintf("Bound %d pod(s) that the node was launched for", bound),
		})
	}
	if failed > 0 {
		slog.WarnContext(ctx, "pods are not bound to their node",
			"Node", step.Node.Name, "pods", len(step.Pods), "failed", failed, "error", first)
	}
	if !step.Last && changed+late > 0 {
		return errUnbound
	}
	if bound > 0 {
		select {
		case <-time.After(min(max(schedulerLag, p.now().Sub(began)), mostLag)):
		case <-ctx.Done():
		}
	}
	return nil
}

// eachPod writes something about each pod, some at a time in the whole pass. It begins nothing more after the time.
func (p *performer) eachPod(
	ctx context.Context, pods []*corev1.Pod, within time.Duration, write func(context.Context, *corev1.Pod) error,
) []error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	results := make([]error, len(pods))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, pod := range pods {
		group.Go(func() error {
			select {
			case p.nominations <- struct{}{}:
			case <-ctx.Done():
				results[i] = ctx.Err()
				return nil
			}
			defer func() { <-p.nominations }()
			results[i] = write(ctx, pod)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return results
}

// refuseClass writes on the class that instances of it end. It reads the class as it is, because few
// passes have read it. The claim's end does not depend on the status, so that a failure is only
// logged: the next claim of the class tells again.
func (p *performer) refuseClass(ctx context.Context, claim *api.NodeClaim, step nodeclaim.RefuseClass) {
	decide := func(class *api.EC2NodeClass) ([]metav1.Condition, bool, error) {
		return nodeclass.RefuseEnded(class, claim, p.client.CertificateAuthority(), step.Message, p.now())
	}
	class, err := classes.ChangeConditions(ctx, p.client, step.Class, decide)
	switch {
	case err != nil:
		slog.WarnContext(ctx, "the status of an ec2nodeclass is not written", "EC2NodeClass", step.Class, "error", err)
	case class != nil:
		slog.WarnContext(ctx, "instances of an ec2nodeclass end before they join",
			"EC2NodeClass", class.Name, "NodeClaim", claim.Name, "error", step.Message)
		p.events.Add(cluster.Event{
			About: disruption.AboutClass(class), Type: corev1.EventTypeWarning, Reason: api.ReasonInstanceEnded,
			Message: step.Message,
		})
	}
}

// requireHalted asks EC2 once more, and returns errRuns unless nothing runs on the instance.
func (p *performer) requireHalted(ctx context.Context, id string) error {
	answer, err := p.fleet.Describe(ctx, id)
	if err != nil {
		return err
	}
	for i := range answer.Found {
		if instance := instanceOf(&answer.Found[i]); !instance.IsHalted() {
			return fmt.Errorf("%w: EC2 says now that %s is %s", errRuns, id, instance.State)
		}
	}
	return nil
}

// evict evicts the pod. A refusal by a disruption budget is not an error: the next pass tries
// again.
func (p *performer) evict(ctx context.Context, step nodeclaim.Evict) error {
	pod := step.Pod
	err := p.evicting.evict(ctx, pod, func(ctx context.Context) error { return p.frozen.require(ctx, step) })
	var late errLateEviction
	switch {
	case err == nil:
		about := corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		}
		message := "Evicted pod: its node is being drained"
		if step.Why != "" {
			message += ": " + step.Why
		}
		p.events.Add(cluster.Event{About: about, Type: corev1.EventTypeNormal, Reason: "Evicted", Message: message})
	case errors.As(err, &late), cluster.IsEvictionRefused(err):
		if p.report {
			slog.InfoContext(ctx, "a pod holds up the drain", "Node", step.Node.Name,
				"Pod", pod.Namespace+"/"+pod.Name, "error", err)
			p.events.Add(cluster.Event{
				About: disruption.AboutNode(step.Node), Type: corev1.EventTypeWarning, Reason: "FailedDraining",
				Message: fmt.Sprintf("Failed to drain node, evicting pod %s/%s: %v", pod.Namespace, pod.Name, err),
			})
		}
	default:
		return err
	}
	return nil
}

// withVersion returns the patch bound to the resourceVersion, unless the patch names one.
func withVersion(patch map[string]any, version string) map[string]any {
	metadata := map[string]any{"resourceVersion": version}
	if given, ok := patch["metadata"].(map[string]any); ok {
		maps.Copy(metadata, given)
	}
	bound := maps.Clone(patch)
	bound["metadata"] = metadata
	return bound
}

// movedOn returns the patch for a later version than the one that it names; empty for that one.
func movedOn(patch map[string]any, version string) map[string]any {
	if version == "" {
		return patch
	}
	metadata, _ := patch["metadata"].(map[string]any)
	metadata, patch = maps.Clone(metadata), maps.Clone(patch)
	metadata["resourceVersion"] = version
	patch["metadata"] = metadata
	return patch
}

// follow moves the version on to that of the stored claim.
func follow(version *string, stored *api.NodeClaim, err error) error {
	if err == nil {
		*version = stored.ResourceVersion
	}
	return err
}
