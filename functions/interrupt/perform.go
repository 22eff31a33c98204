package interrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/membership"
)

const (
	// parallel is how many claims are handled at once. A batch has ten messages, and one of AWS
	// Health may name more instances.
	parallel = 10
	// parallelEvents is how many events are written at once: the four of each claim of a batch, so
	// that the next batch waits for one answer and not for four.
	parallelEvents = 4 * parallel
	// taintAttempts is how often a node is tainted again after others changed it meanwhile.
	taintAttempts = 3
)

// performer carries out the responses to a batch.
type performer struct {
	client kubernetes
	now    time.Time
	events cluster.PendingEvents

	mutex sync.Mutex // guards the messages, because several claims may be about the same one
}

// perform carries out each response, and notes at the messages behind it what failed and which
// functions to wake. Causes refer to the messages by index. One claim's failure stops no other.
func (p *performer) perform(ctx context.Context, messages []*message, responses []*response.Response) {
	var group errgroup.Group
	group.SetLimit(parallel + 1)
	if marks := response.Unavailable(responses, p.now); len(marks.Until) > 0 {
		group.Go(func() error {
			p.noteMarks(messages, responses, p.mark(ctx, marks))
			return nil
		})
	}
	for _, one := range responses {
		group.Go(func() error {
			node, err := p.carryOut(ctx, one)
			p.note(messages, one, err)
			if err == nil {
				p.record(one.Records(p.noticed(ctx, one, node)))
			}
			return nil
		})
	}
	_ = group.Wait() // failures are noted at the messages
}

// mark leaves offerings out of the next launches, with one write for the batch, while nodes are
// tainted and before anything asks for a replacement.
func (p *performer) mark(ctx context.Context, marks *catalog.Unavailable) error {
	known, err := p.client.Unavailable(ctx)
	if err == nil && response.NeedsMark(known, marks, p.now) {
		err = p.client.MarkUnavailable(ctx, marks, p.now)
	}
	if err != nil {
		return fmt.Errorf("marking offerings unavailable: %w", err)
	}
	return nil
}

// noteMarks notes at the messages about a shortage that the offerings could not be marked. Their
// nodes are taken out of use all the same, because the time is short. The messages come back for
// the marks.
func (p *performer) noteMarks(messages []*message, responses []*response.Response, err error) {
	if err == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, one := range responses {
		for _, cause := range one.Causes {
			if cause.Shortage {
				messages[cause.Event].err = errors.Join(messages[cause.Event].err, err)
			}
		}
	}
}

// note notes at the claim's messages what has become of it.
func (p *performer) note(messages []*message, one *response.Response, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, cause := range one.Causes {
		message := messages[cause.Event]
		if err != nil {
			message.err = errors.Join(message.err, fmt.Errorf("nodeclaim %q: %w", one.Claim.Name, err))
			continue
		}
		message.displaced = message.displaced || one.Ends
		message.look = message.look || cause.Look
	}
}

// noticed returns the node that the response has notices for. It reads the node where no step has, and
// returns nil where it cannot: the claim has the event in any case.
func (p *performer) noticed(ctx context.Context, one *response.Response, node *corev1.Node) *corev1.Node {
	if node != nil || len(one.Notices) == 0 || one.Claim.Status.NodeName == "" {
		return node
	}
	read, err := p.client.Node(ctx, one.Claim.Status.NodeName, true)
	if err != nil || !membership.Is(one.Claim, read) {
		return nil
	}
	return read
}

func (p *performer) record(records []response.Record) {
	for _, record := range records {
		p.events.Add(cluster.Event(record))
	}
}

// carryOut carries out the steps of one claim, and stops at the first that fails. It returns the
// claim's node if a step has read it.
func (p *performer) carryOut(ctx context.Context, one *response.Response) (node *corev1.Node, err error) {
	claim := one.Claim
	for _, step := range one.Steps {
		switch step := step.(type) {
		case response.PatchClaim:
			claim, err = p.patch(ctx, claim, step)
		case response.End:
			node, err = p.end(ctx, claim, step)
		}
		if err != nil {
			return node, err
		}
	}
	return node, nil
}

// patch merges the patch into the claim and returns the claim as it is then. A claim that is gone
// needs no patch.
func (p *performer) patch(ctx context.Context, claim *api.NodeClaim, step response.PatchClaim) (*api.NodeClaim, error) {
	patch := step.Patch(claim)
	if patch == nil {
		return claim, nil
	}
	stored, err := p.client.PatchNodeClaim(ctx, claim.Name, patch)
	if cluster.IsGone(err) {
		return claim, nil
	}
	if err != nil {
		return claim, fmt.Errorf("%s: %w", step.Purpose, err)
	}
	return stored, nil
}

// end taints the node and deletes the claim, both at once. Lifecycle, which drains the node,
// taints one that is not tainted yet.
func (p *performer) end(ctx context.Context, claim *api.NodeClaim, step response.End) (node *corev1.Node, err error) {
	// The log comes first: after a crash behind the deletion nothing else would give the reason.
	slog.InfoContext(ctx, "initiating delete from interruption message", "NodeClaim", claim.Name,
		"provider-id", claim.Status.ProviderID, "messageKind", step.DetailType, "reason", step.Reason)
	var group errgroup.Group
	group.Go(func() (err error) {
		node, err = p.taint(ctx, claim, step.Reason)
		return err
	})
	deleting := p.client.DeleteNodeClaim(ctx, claim.Name, claim.UID)
	if deleting != nil {
		deleting = fmt.Errorf("ending it: %w", deleting)
	}
	tainting := group.Wait()
	return node, errors.Join(tainting, deleting)
}

// taint taints the claim's node and returns it. It reads the node by itself, because a batch is
// about ten nodes of thousands. A kubelet writes to its node now and then. Lifecycle taints, before
// it drains, a node that keeps changing or that the claim does not know yet.
func (p *performer) taint(ctx context.Context, claim *api.NodeClaim, reason string) (tainted *corev1.Node, err error) {
	name := claim.Status.NodeName
	if name == "" {
		return nil, nil
	}
	for attempt := range taintAttempts {
		node, err := p.client.Node(ctx, name, attempt == 0)
		if err != nil {
			return tainted, ignoreGone(err)
		}
		if !membership.Is(claim, node) {
			return tainted, nil
		}
		tainted = node
		patch := response.Taint(node, reason)
		if patch == nil {
			return tainted, nil
		}
		err = p.client.PatchNode(ctx, name, patch)
		if err == nil {
			slog.InfoContext(ctx, "tainted node", "Node", name, "NodeClaim", claim.Name,
				"taint.Key", api.DisruptedTaintKey, "taint.Effect", string(corev1.TaintEffectNoSchedule))
			return tainted, nil
		}
		if !cluster.IsConflict(err) {
			return tainted, ignoreGone(err)
		}
	}
	return tainted, nil
}

func ignoreGone(err error) error {
	if cluster.IsGone(err) {
		return nil
	}
	return err
}
