package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// affected is a claim of ours that a message is about, and what that means for it.
type affected struct {
	message  *message
	claim    *api.NodeClaim
	response response
}

// affectedBy makes of a response what is still to be done. For a claim whose end
// has been ordered that is to look how far it is: a warning is given more than
// once, our own terminations are told of as well, and the run that ordered the
// end may have died before it woke anyone.
func affectedBy(message *message, claim *api.NodeClaim, response response) affected {
	if claim.DeletionTimestamp != nil && response.end {
		response.end, response.notice, response.look = false, notice{}, true
	}
	return affected{message, claim, response}
}

// performer carries responses out.
type performer struct {
	client kubernetes
	now    time.Time
}

// perform acts on each affected claim, and notes at its message what failed and
// who is to be woken.
func (p *performer) perform(ctx context.Context, all []affected, nodes []corev1.Node) {
	byID := map[string]*corev1.Node{}
	for i := range nodes {
		byID[nodes[i].Spec.ProviderID] = &nodes[i]
	}
	p.markShortages(ctx, all)
	for _, one := range all {
		if one.response.end {
			if err := p.end(ctx, one, byID[one.claim.Status.ProviderID]); err != nil {
				one.message.err = errors.Join(one.message.err, fmt.Errorf("ending nodeclaim %q: %w", one.claim.Name, err))
				continue
			}
			one.message.displaced = true
		}
		one.message.looked = one.message.looked || one.response.look
	}
	// Words after deeds: the time before an interruption is short.
	for _, one := range all {
		if !one.response.end || one.message.displaced {
			p.tell(ctx, one, byID[one.claim.Status.ProviderID])
		}
	}
}

// markShortages leaves the offerings that EC2 takes back out of the next launches,
// with one write for the batch and before anything asks for a replacement. When
// that fails the nodes are taken out of use all the same, time being short, and
// the events come back for the marks.
func (p *performer) markShortages(ctx context.Context, all []affected) {
	marks := &catalog.Unavailable{}
	for _, one := range all {
		labels := one.claim.Labels
		capacityType, instanceType, zone := labels[api.CapacityTypeLabelKey], labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
		if one.response.shortage && instanceType != "" && zone != "" {
			if capacityType == "" {
				capacityType = api.CapacityTypeSpot
			}
			marks.Mark(capacityType, instanceType, zone, p.now)
		}
	}
	if len(marks.Until) == 0 {
		return
	}
	err := p.client.MarkUnavailable(ctx, marks, p.now)
	for _, one := range all {
		if err != nil && one.response.shortage {
			one.message.err = errors.Join(one.message.err, fmt.Errorf("marking offerings unavailable: %w", err))
		}
	}
}

// end keeps pods off the node and orders the claim's end, which lifecycle brings about.
func (p *performer) end(ctx context.Context, one affected, node *corev1.Node) error {
	if node != nil {
		if patch := disruption.Taint(node); patch != nil {
			err := p.client.PatchNode(ctx, node.Name, patch)
			switch {
			case err == nil:
				slog.InfoContext(ctx, "tainted node", "Node", node.Name, "NodeClaim", one.claim.Name,
					"taint.Key", api.DisruptedTaintKey, "taint.Effect", string(corev1.TaintEffectNoSchedule))
			// Changed since it was read: lifecycle marks it before it drains.
			case !cluster.IsConflict(err) && !cluster.IsGone(err):
				return err
			}
		}
	}
	if err := p.client.DeleteNodeClaim(ctx, one.claim.Name, one.claim.UID); err != nil {
		return err
	}
	slog.InfoContext(ctx, "initiating delete from interruption message", "NodeClaim", one.claim.Name, "provider-id", one.claim.Status.ProviderID,
		"messageKind", one.message.event.Detail.DetailType(), "reason", one.response.notice.reason)
	return nil
}

// tell writes the events. A person misses a hint when one fails; the work goes on.
func (p *performer) tell(ctx context.Context, one affected, node *corev1.Node) {
	told := one.response.notice
	if told.reason == "" {
		return
	}
	objects := []corev1.ObjectReference{disruption.AboutClaim(one.claim)}
	if node != nil {
		objects = append(objects, disruption.AboutNode(node))
	}
	for _, about := range objects {
		p.record(ctx, cluster.Event{About: about, Type: told.kind, Reason: told.reason, Message: told.message})
		if one.response.end {
			p.record(ctx, cluster.Event{
				About: about, Type: corev1.EventTypeWarning, Reason: "TerminatingOnInterruption",
				Message: "Interruption triggered termination for the " + about.Kind,
			})
		}
	}
}

func (p *performer) record(ctx context.Context, event cluster.Event) {
	if err := p.client.Record(ctx, event, p.now); err != nil {
		slog.WarnContext(ctx, "event not written", "reason", event.Reason, "object", event.About.Name, "error", err)
	}
}
