package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/release"
)

// errStopped ends a task of drift whose release a person has stopped since the snapshot.
var errStopped = errors.New("the release is stopped")

// judgeReleases decides how far the releases may go, and remembers it before anything is done by it.
// Without a verdict that is remembered no drifted node goes.
func (p *pass) judgeReleases(ctx context.Context) error {
	seen := p.fleet.Seen
	if !seen.AnyDrifted() {
		return nil
	}
	seen.Releases, p.unjudged = unknown(seen.Pools), true
	records, err := p.client.Releases(ctx)
	if err != nil {
		return err
	}
	orders, err := p.client.ReleaseOrders(ctx)
	if err != nil {
		return err
	}
	states := seen.JudgeReleases(records, orders, p.now())
	remembered, changed := map[string]release.Record{}, len(records) > len(states)
	for pool, state := range states {
		changed = changed || state.Record != records[pool]
		if state.Record.Release != "" {
			remembered[pool] = state.Record
		}
	}
	if changed {
		if err := p.client.RememberReleases(ctx, remembered); err != nil {
			return fmt.Errorf("remembering the releases of nodepools: %w", err)
		}
	}
	seen.Releases, p.unjudged = states, false
	for i := range seen.Pools {
		p.tellRelease(ctx, &seen.Pools[i], records[seen.Pools[i].Name], states[seen.Pools[i].Name])
	}
	return nil
}

// unknown are the verdicts where nothing is known.
func unknown(pools []api.NodePool) map[string]*release.State {
	states := map[string]*release.State{}
	for i := range pools {
		states[pools[i].Name] = &release.State{Stage: release.Unknown}
	}
	return states
}

// tellRelease tells of a halt when it comes, and of an annotation that cannot be read.
func (p *pass) tellRelease(ctx context.Context, pool *api.NodePool, before release.Record, state *release.State) {
	if problem := state.Setting.Problem; problem != "" {
		p.record(decide.Blocked([]disruption.Notice{{Pool: pool, Message: problem, Mend: true}}, p.now())...)
	}
	halted := state.Record.Halted
	if halted.IsZero() || halted.Equal(before.Halted) {
		return
	}
	slog.WarnContext(ctx, "a release halted", "NodePool", pool.Name, "release", state.Record.Release,
		"because", state.Record.Why, "old", state.Old, "new", state.New)
	p.record(decide.Record{About: disruption.AboutPool(pool), Type: corev1.EventTypeWarning,
		Reason: api.EventReasonReleaseHalted, Message: haltMessage(pool.Name, state)})
	p.published.Add(own.ReleaseHalted{
		Head: own.HeadOf(p.cluster), NodePool: pool.Name, Release: state.Record.Release, Reason: state.Record.Why,
		Since: state.Record.Since.UTC().Format(time.RFC3339), OldNodes: state.Old, NewNodes: state.New,
	})
}

func haltMessage(pool string, state *release.State) string {
	return fmt.Sprintf("Drift stops: %s. %d nodes keep what they have. Change the NodePool or its class, or run "+
		"`whittle release continue -pool %s`", state.Record.Why, state.Old, pool)
}

// requireUnstopped returns errFrozen or errStopped where an order of a person holds the node.
func (p *performer) requireUnstopped(ctx context.Context, node *disruption.Node, reason api.DisruptionReason) error {
	if err := p.requireUnfrozen(ctx, node); err != nil {
		return err
	}
	return p.requireReleased(ctx, node, reason)
}

// requireReleased reads once more what people have ordered about the release that drift brings to the
// node, and returns errStopped where an order stops it. Where it cannot be read the node stays.
func (p *performer) requireReleased(ctx context.Context, node *disruption.Node, reason api.DisruptionReason) error {
	if reason != api.DisruptionReasonDrifted {
		return nil
	}
	if p.unjudged {
		return fmt.Errorf("%w: nobody knows how far it may go", errStopped)
	}
	pool := node.Claim.Labels[api.NodePoolLabelKey]
	state := p.fleet.Seen.Releases[pool]
	if state == nil || state.Stage == release.Off {
		return nil
	}
	orders, err := p.client.ReleaseOrders(ctx)
	if err != nil {
		return err
	}
	if order := orders.Of(pool, state.Record.Release); order.Stops() {
		return fmt.Errorf("%w: %s", errStopped, order)
	}
	return nil
}
