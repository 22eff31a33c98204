package main

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// noticeEvery is how often a reason for which nodes stay is told: the ticks of one
// part of each minute tell it.
const noticeEvery = 20 * time.Second

// run is one pass.
type run struct {
	*handler
	client kubernetes
	// objects are the cluster as it was read; seen are its nodes, with what this pass has
	// made of them.
	objects *snapshot.Objects
	seen    *disruption.Snapshot
	removed int
	// launches tells that claims are there which have no instance yet.
	launches bool
	again    time.Time
	// prices are read once a node is taken away.
	prices *catalog.Snapshot
}

// look does everything in turn: what was begun, what costs nothing, what replaces nodes.
// All of it counts against the same budgets.
func (r *run) look(ctx context.Context) error {
	var err error
	if r.objects, err = r.client.Objects(ctx); err != nil {
		return err
	}
	if r.seen, err = snapshot.Disruption(r.objects, r.client.CertificateAuthority()); err != nil {
		return err
	}
	return errors.Join(r.replacing(ctx), r.emptiness(ctx), r.graceful(ctx), r.consolidation(ctx))
}

// conditions writes the claim's conditions when change changed them.
func (r *run) conditions(ctx context.Context, node *disruption.Node, change func(*[]metav1.Condition) bool) error {
	conditions := slices.Clone(node.Claim.Status.Conditions)
	if !change(&conditions) {
		return nil
	}
	stored, err := r.client.PatchNodeClaimStatus(ctx, node.Claim.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": node.Claim.ResourceVersion},
		"status":   map[string]any{"conditions": conditions},
	})
	if err == nil {
		node.Claim = stored
	}
	return err
}

func (r *run) set(conditions *[]metav1.Condition, node *disruption.Node, condition metav1.Condition) bool {
	condition.ObservedGeneration = node.Claim.Generation
	return api.SetCondition(conditions, condition, r.now())
}

// notice tells, once a minute, why nodes that are not needed stay.
func (r *run) notice(ctx context.Context, notices []disruption.Notice) {
	if now := r.now(); now.Sub(now.Truncate(time.Minute)) >= noticeEvery {
		return
	}
	for _, notice := range notices {
		if notice.Pool != nil {
			r.record(ctx, disruption.AboutPool(notice.Pool), corev1.EventTypeWarning, "DisruptionBlocked", notice.Message)
			continue
		}
		r.record(ctx, disruption.AboutNode(notice.Node.Node), corev1.EventTypeNormal, "DisruptionBlocked", notice.Message)
		r.record(ctx, disruption.AboutClaim(notice.Node.Claim), corev1.EventTypeNormal, "DisruptionBlocked", notice.Message)
	}
}

// record writes an event at once.
func (r *run) record(ctx context.Context, about corev1.ObjectReference, kind, reason, message string) {
	cluster.RecordEvent(ctx, r.client, cluster.Event{About: about, Type: kind, Reason: reason, Message: message}, r.now())
}
