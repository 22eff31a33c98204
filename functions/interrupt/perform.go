package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	// parallel is how many claims are dealt with at once. A batch has ten messages; one
	// of Health's may name more.
	parallel = 10
	// spoken is how many events are written at once: the four of each claim of a batch, so
	// that the next batch waits for one answer and not for four.
	spoken = 4 * parallel
	// taints is how often a node is tainted again that somebody changed meanwhile.
	taints = 3
)

// performer carries responses out.
type performer struct {
	client kubernetes
	now    time.Time
	events cluster.PendingEvents

	mutex sync.Mutex // guards the messages, which may be about the same claims
}

// perform acts on each affected claim, and notes at its messages what failed and
// who is to be woken.
func (p *performer) perform(ctx context.Context, affected []*affectedClaim) {
	var group errgroup.Group
	group.SetLimit(parallel + 1)
	if marks := p.shortages(affected); len(marks.Until) > 0 {
		group.Go(func() error {
			p.markShortages(ctx, marks, affected)
			return nil
		})
	}
	for _, one := range affected {
		group.Go(func() error {
			ended, err := p.respond(ctx, one)
			p.note(one, ended, err)
			return nil
		})
	}
	_ = group.Wait() // what failed is noted at its messages: one claim keeps no other waiting
}

// note says at the claim's messages what has come of it, and keeps what is to be told.
func (p *performer) note(one *affectedClaim, ended bool, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for i, message := range one.messages {
		if err != nil {
			message.err = errors.Join(message.err, fmt.Errorf("nodeclaim %q: %w", one.claim.Name, err))
			continue
		}
		message.displaced = message.displaced || ended
		message.looked = message.looked || one.responses[i].look
	}
	if err == nil {
		p.events.Add(one.words(ended)...)
	}
}

// respond does what the claim's responses ask for.
func (p *performer) respond(ctx context.Context, one *affectedClaim) (ended bool, err error) {
	claim := one.claim
	for i, response := range one.responses {
		if response.mark != nil && claim.DeletionTimestamp == nil {
			if err := p.patch(ctx, one, response.mark(one.claim)); err != nil {
				return false, fmt.Errorf("writing down the event %q: %w", one.messages[i].event.Detail.DetailType(), err)
			}
		}
	}
	if by := one.by(); !by.IsZero() {
		if err := p.patch(ctx, one, disruption.EndBy(one.claim, by, p.now)); err != nil {
			return false, fmt.Errorf("writing down the end at %s: %w", by, err)
		}
	}
	if !one.ends() {
		return false, nil
	}
	return true, p.end(ctx, one)
}

// patch merges the patch into the claim; one that is gone needs it no more.
func (p *performer) patch(ctx context.Context, one *affectedClaim, patch map[string]any) error {
	if patch == nil {
		return nil
	}
	stored, err := p.client.PatchNodeClaim(ctx, one.claim.Name, patch)
	if err == nil {
		one.claim = stored
	}
	if cluster.IsGone(err) {
		return nil
	}
	return err
}

// shortages are the offerings that EC2 takes back.
func (p *performer) shortages(affected []*affectedClaim) *catalog.Unavailable {
	marks := &catalog.Unavailable{}
	for _, one := range affected {
		labels := one.claim.Labels
		capacityType, instanceType, zone := labels[api.CapacityTypeLabelKey], labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
		if one.isShort() && instanceType != "" && zone != "" {
			if capacityType == "" {
				capacityType = api.CapacityTypeSpot
			}
			marks.Mark(capacityType, instanceType, zone, p.now)
		}
	}
	return marks
}

// markShortages leaves the offerings out of the next launches, with one write for the batch,
// while the nodes are tainted and before anything asks for a replacement. When that fails the
// nodes are taken out of use all the same, time being short, and the events come back for the
// marks.
func (p *performer) markShortages(ctx context.Context, marks *catalog.Unavailable, affected []*affectedClaim) {
	err := p.client.MarkUnavailable(ctx, marks, p.now)
	if err == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, one := range affected {
		for i, message := range one.messages {
			if one.responses[i].shortage {
				message.err = errors.Join(message.err, fmt.Errorf("marking offerings unavailable: %w", err))
			}
		}
	}
}

// end keeps pods off the node and orders the claim's end, which lifecycle brings about. Neither
// waits for the other, time being short: a node that is not marked yet is marked by lifecycle.
func (p *performer) end(ctx context.Context, one *affectedClaim) error {
	// Said first: who dies after the deletion would leave no reason for it.
	slog.InfoContext(ctx, "initiating delete from interruption message", "NodeClaim", one.claim.Name, "provider-id", one.claim.Status.ProviderID,
		"messageKind", one.messages[0].event.Detail.DetailType(), "reason", one.responses[0].notice.reason)
	var group errgroup.Group
	group.Go(func() error { return p.taint(ctx, one) })
	err := p.client.DeleteNodeClaim(ctx, one.claim.Name, one.claim.UID)
	if err != nil {
		err = fmt.Errorf("ending it: %w", err)
	}
	return errors.Join(group.Wait(), err)
}

// taint marks the node, which is read by itself: of thousands a batch is about ten. Its
// kubelet writes to it now and then; one that keeps changing, or that is not known to the
// claim yet, is marked by lifecycle before it drains it.
func (p *performer) taint(ctx context.Context, one *affectedClaim) error {
	name := one.claim.Status.NodeName
	if name == "" {
		return nil
	}
	for try := range taints {
		node, err := p.client.Node(ctx, name, try == 0)
		if err != nil {
			return ignoreGone(err)
		}
		if node.Spec.ProviderID != one.claim.Status.ProviderID {
			return nil // a new machine has taken the name
		}
		one.node = node
		patch := disruption.Taint(node)
		if patch == nil {
			return nil
		}
		// Load balancers are kept off with the same call that lifecycle would need for it.
		patch["metadata"].(map[string]any)["labels"] = map[string]string{api.LabelExcludeFromLoadBalancers: api.ExcludeFromLoadBalancersValue}
		err = p.client.PatchNode(ctx, name, patch)
		if err == nil {
			slog.InfoContext(ctx, "tainted node", "Node", name, "NodeClaim", one.claim.Name,
				"taint.Key", api.DisruptedTaintKey, "taint.Effect", string(corev1.TaintEffectNoSchedule))
			return nil
		}
		if !cluster.IsConflict(err) {
			return ignoreGone(err)
		}
	}
	return nil
}

func ignoreGone(err error) error {
	if cluster.IsGone(err) {
		return nil
	}
	return err
}
