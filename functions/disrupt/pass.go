package disrupt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// pass runs the stages. They share one view, and each stage decides on what the stages before it
// have written.
type pass struct {
	performer
	settled        *settledFleet
	podCosts       *settledFleet
	terminateFirst disruption.TerminateFirst
	// rebootForRepair reboots an unhealthy node where that may help.
	rebootForRepair bool
	observe         func(*consolidation.Plan)
	// launches is set when claims exist that have no instance yet.
	launches bool
}

// runStages reads the cluster and runs every stage, whatever fails in those before it. The order
// matters, since all stages count against the same budgets. The verdicts about releases come before
// everything that drift does. The replacements that have begun come
// first. Removals that move no pod come next, then nodes that have to be replaced. Nodes that only
// cost too much come after them. The deletion costs of pods and the soft taints of nodes
// follow from all of this.
func (h *Handler) runStages(ctx context.Context, client kubernetes) (*pass, error) {
	p := &pass{performer: performer{client: client, metrics: h.metrics, now: h.now, cluster: h.cluster},
		settled: &h.settled, podCosts: h.podCosts, terminateFirst: h.terminateFirst, rebootForRepair: h.rebootForRepair,
		observe: h.observe}
	var err error
	if p.fleet, err = sight.ReadFleet(ctx, client.Reader(), h.settings, h.now()); err != nil {
		return p, err
	}
	var failed []error
	for _, stage := range []func(context.Context) error{
		p.judgeReleases, p.continueReplacements, p.removeEmpty, p.showPodEvents, p.replaceCandidates, p.consolidate,
		p.writePodCosts, p.steer,
	} {
		failed = append(failed, guard.Run(func() error { return stage(ctx) }))
	}
	return p, errors.Join(failed...)
}

// each carries out one task for each of the nodes. A node that fails keeps no other waiting.
func (p *pass) each(
	ctx context.Context, nodes []*disruption.Node, task func(*disruption.Node) decide.Task,
) (failed []error) {
	for _, node := range nodes {
		failed = append(failed, ofNode(node, p.do(ctx, task(node))))
	}
	return failed
}

// continueReplacements goes on with the replacements that this pass or an earlier one has begun.
func (p *pass) continueReplacements(ctx context.Context) error {
	state := disruption.Replacing(p.fleet.Seen, p.now())
	// The pass that created a claim may have died before it woke provision.
	p.launches = p.launches || state.Unlaunched
	var failed []error
	for _, node := range state.Finish {
		failed = append(failed, ofNode(node, p.finish(ctx, node)))
	}
	for _, back := range state.RollBack {
		failed = append(failed, ofNode(back.Node, p.do(ctx, decide.RollBack(back, p.now()))))
	}
	failed = append(failed, p.each(ctx, state.Unbegun, decide.Reconsider)...)
	p.record(decide.WaitingReadiness(state.Waiting, p.now())...)
	p.record(decide.Blocked(state.Notices, p.now())...)
	return errors.Join(failed...)
}

// finish deletes the claim of a node whose replacements are initialized, after the pods have moved
// that are moved by a restart.
func (p *pass) finish(ctx context.Context, node *disruption.Node) error {
	if waits, err := p.restart(ctx, node); waits || err != nil {
		return err
	}
	return p.do(ctx, decide.Finish(node, p.now()))
}

// restart moves the pods that ask for it off the node by restarting their Deployments. It
// reports whether the node has to wait, or stays.
func (p *pass) restart(ctx context.Context, node *disruption.Node) (waits bool, err error) {
	for _, pod := range p.fleet.Seen.ToRestart(node) {
		deployment, err := p.client.DeploymentOf(ctx, pod)
		if cluster.IsForbidden(err) {
			return true, p.rollBack(ctx, node, decide.RestartForbidden(pod))
		}
		if err != nil {
			return true, err
		}
		refused := protection.RefusedByBudget(pod, p.fleet.Seen.Budgets)
		task, restarts, blocked := decide.Restart(node, pod, deployment, refused, p.now())
		if blocked != "" {
			return true, p.rollBack(ctx, node, blocked)
		}
		err = p.do(ctx, task)
		if errors.Is(err, errRestartForbidden) {
			return true, p.rollBack(ctx, node, decide.RestartForbidden(pod))
		}
		if err != nil {
			return true, err
		}
		waits = waits || restarts
	}
	if waits {
		p.lookAgain(p.now().Add(decide.RestartPause))
	}
	return waits, nil
}

func (p *pass) rollBack(ctx context.Context, node *disruption.Node, why string) error {
	back := disruption.RollBack{Node: node, Again: disruption.ReplaceAgainAfter, Why: why}
	return p.do(ctx, decide.RollBack(back, p.now()))
}

// removeEmpty removes nodes without pods. It goes on where it cannot find out which nodes recent pods
// need, because it looks at each node again before its end.
func (p *pass) removeEmpty(ctx context.Context) error {
	unread := p.fleet.FindNeeded(ctx, p.now())
	decided := disruption.Empty(p.fleet.Seen, p.now())
	p.lookAgain(decided.Again)
	noteEmpty := func(node *disruption.Node) decide.Task { return decide.NoteEmpty(node, p.now()) }
	failed := p.each(ctx, decided.Restore, decide.Restore)
	failed = append(failed, p.each(ctx, decided.End, decide.ForgetEmpty)...)
	failed = append(failed, p.each(ctx, decided.Begin, noteEmpty)...)
	failed = append(failed, p.each(ctx, decided.Due, decide.MarkConsolidatable)...)
	failed = append(failed, p.each(ctx, decided.Remove, decide.Remove)...)
	p.record(decide.Blocked(decided.Notices, p.now())...)
	return errors.Join(append(failed, unread)...)
}

// showPodEvents writes on the claims when a pod last came to their nodes, or left them.
func (p *pass) showPodEvents(ctx context.Context) error {
	var failed []error
	for _, event := range disruption.PodEvents(p.fleet.Seen, p.now()) {
		failed = append(failed, ofNode(event.Node, p.do(ctx, decide.ShowEvent(event))))
	}
	return errors.Join(failed...)
}

// replaceCandidates begins to replace nodes that AWS is going to take, and unhealthy, drifted or
// expired ones. It orders the reboot of an unhealthy node instead, where that may help.
func (p *pass) replaceCandidates(ctx context.Context) error {
	candidates, notices := disruption.Candidates(p.fleet.Seen, p.now())
	p.record(decide.Blocked(notices, p.now())...)
	p.record(decide.Misread(p.fleet.Seen, p.now())...)
	asleep, candidates := disruption.Asleep(candidates)
	failedAsleep := p.endAsleep(ctx, asleep)
	var failedReboots error
	if p.rebootForRepair {
		var reboots []disruption.Reboot
		reboots, candidates = disruption.Reboots(candidates, p.now())
		failedReboots = p.reboot(ctx, reboots)
	}
	fixed, planned := decide.Fixed(candidates)
	failedFixed := p.replaceFixed(ctx, fixed)
	failedPlanned := p.replacePlanned(ctx, planned)
	return errors.Join(failedAsleep, failedReboots, failedFixed, failedPlanned)
}

// endAsleep ends nodes of pools that sleep. Their pods wait until the pool wakes, or come to another pool.
func (p *pass) endAsleep(ctx context.Context, candidates []disruption.Candidate) error {
	var failed []error
	for i := range candidates {
		failed = append(failed, ofNode(candidates[i].Node, p.do(ctx, decide.Sleep(&candidates[i], p.now()))))
	}
	return errors.Join(failed...)
}

// reboot orders reboots. Lifecycle carries them out.
func (p *pass) reboot(ctx context.Context, reboots []disruption.Reboot) error {
	var failed []error
	for i := range reboots {
		err := p.do(ctx, decide.Reboot(&reboots[i]))
		p.forLifecycle = p.forLifecycle || err == nil
		failed = append(failed, ofNode(reboots[i].Node, err))
	}
	return errors.Join(failed...)
}

// replaceFixed replaces each node of a pool with spec.replicas by one of the same pool.
func (p *pass) replaceFixed(ctx context.Context, candidates []disruption.Candidate) error {
	candidates, unjoined := p.fleet.Seen.Joining(candidates, p.now())
	if len(candidates) == 0 {
		return p.carryOut(ctx, disruption.Moves{Stay: unjoined})
	}
	if full, err := p.fullReplica(ctx, candidates); full != nil || err != nil {
		if err != nil {
			return err
		}
		task := decide.TerminateFirst(full, "every reservation that its pool may use is full", p.now())
		return ofNode(full.Node, p.do(ctx, task))
	}
	moves, failed := p.fleet.Seen.Replicas(candidates, p.now())
	var ended error
	if stuck := p.terminateFirst.AtLimit(candidates, moves.Stay); stuck != nil {
		moves.Stay = without(moves.Stay, stuck.Node)
		ended = ofNode(stuck.Node, p.do(ctx, decide.TerminateFirst(stuck, "its pool is at spec.limits.nodes", p.now())))
	}
	moves.Stay = append(moves.Stay, unjoined...)
	carried := p.carryOut(ctx, moves)
	return errors.Join(failed, ended, carried)
}

// fullReplica returns a candidate that can only be replaced in the slot of a reservation that it
// holds. It reads the offers only where a node of a reservation may end first.
func (p *pass) fullReplica(ctx context.Context, candidates []disruption.Candidate) (*disruption.Candidate, error) {
	if len(p.terminateFirst) == 0 || !slices.ContainsFunc(candidates, func(c disruption.Candidate) bool {
		return c.Reservation() != ""
	}) {
		return nil, nil
	}
	planned, err := p.simulate(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading what replicas may have: %w", err)
	}
	return p.terminateFirst.Full(candidates, planned.InstanceTypes), nil
}

// without removes the notice about a node.
func without(notices []disruption.Notice, node *disruption.Node) []disruption.Notice {
	return slices.DeleteFunc(notices, func(notice disruption.Notice) bool { return notice.Node == node })
}

// endStuck ends one node that stays because its pods find a place only in the slot of the
// reservation that it holds. It returns the moves without the node's notice.
func (p *pass) endStuck(
	ctx context.Context, candidates []disruption.Candidate, moves disruption.Moves,
) (disruption.Moves, error) {
	stuck := p.terminateFirst.Stuck(candidates, moves.Stay)
	if stuck == nil {
		return moves, nil
	}
	freed, err := p.simulate(ctx, stuck.Node.Claim)
	if err != nil {
		return moves, fmt.Errorf("planning without node claim %q: %w", stuck.Node.Claim.Name, err)
	}
	snapshot.FreeSlot(freed, stuck.Reservation())
	decided := solve(ctx, freed)
	if len(p.fleet.Seen.Moves([]disruption.Candidate{*stuck}, decided, p.now()).Stay) > 0 {
		return moves, nil
	}
	moves.Stay = without(moves.Stay, stuck.Node)
	task := decide.TerminateFirst(stuck, "its pods need the slot of its reservation", p.now())
	return moves, ofNode(stuck.Node, p.do(ctx, task))
}

// replacePlanned replaces nodes by what the planner finds for their pods.
func (p *pass) replacePlanned(ctx context.Context, candidates []disruption.Candidate) error {
	if len(candidates) == 0 {
		return nil
	}
	if marks := decide.Unavailable(candidates, p.now()); marks != nil {
		if err := p.client.MarkUnavailable(ctx, marks, p.now()); err != nil {
			return err
		}
		p.fleet.Exclude(marks)
	}
	var leaving []*api.NodeClaim
	for _, candidate := range candidates {
		leaving = append(leaving, candidate.Node.Claim)
	}
	without, err := p.simulate(ctx, leaving...)
	if err != nil {
		return fmt.Errorf("planning replacements for %d nodes: %w", len(candidates), err)
	}
	decided := solve(ctx, without)
	moves, ended := p.endStuck(ctx, candidates, p.fleet.Seen.Moves(candidates, decided, p.now()))
	return errors.Join(ended, p.carryOut(ctx, moves))
}

// carryOut begins the moves. It marks the nodes first and then creates the claims that replace
// them. A pass that dies in between leaves marked nodes, which the next pass restores.
func (p *pass) carryOut(ctx context.Context, moves disruption.Moves) error {
	var failed []error
	for _, notice := range moves.Stay {
		failed = append(failed, ofNode(notice.Node, p.do(ctx, decide.Postpone(notice, p.now()))))
	}
	var begin []disruption.Move
	for _, move := range moves.Begin {
		why, err := p.unmovable(ctx, move.Node)
		if why != "" {
			err = p.do(ctx, decide.Postpone(disruption.Notice{Node: move.Node, Message: why}, p.now()))
		} else if err == nil {
			begin = append(begin, move)
		}
		failed = append(failed, ofNode(move.Node, err))
	}
	if moves.Together && len(begin) < len(moves.Begin) {
		return errors.Join(failed...)
	}
	begun, unbegun := p.begin(ctx, begin)
	failed = append(failed, unbegun...)
	if moves.Together && len(begun) < len(moves.Begin) {
		// The next pass rolls back the nodes that were marked, since nothing replaces them.
		return errors.Join(failed...)
	}
	for _, created := range decide.Create(moves, begun, p.fleet.Seen.Origins) {
		err := p.create(ctx, created)
		p.launches = p.launches || err == nil
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// begin marks the nodes of the moves. It returns the claims of those whose replacements may be
// created: a freeze that came while the nodes were marked holds the launch.
func (p *pass) begin(ctx context.Context, moves []disruption.Move) (begun map[string]bool, failed []error) {
	begun = map[string]bool{}
	voluntary := false
	for _, move := range moves {
		err := p.do(ctx, decide.Begin(move))
		if err == nil {
			begun[move.Node.Claim.Name] = true
			voluntary = voluntary || move.Reason.IsVoluntary()
		}
		failed = append(failed, ofNode(move.Node, err))
	}
	if !voluntary {
		return begun, failed
	}
	frozen, err := p.client.Freezes(ctx)
	for _, move := range moves {
		if !move.Reason.IsVoluntary() {
			continue
		}
		stopped := p.requireReleased(ctx, move.Node, move.Reason)
		if err != nil || stopped != nil || p.holds(ctx, frozen, move.Node) != nil {
			delete(begun, move.Node.Claim.Name)
		}
		failed = append(failed, ofNode(move.Node, stopped))
	}
	return begun, append(failed, err)
}

// unmovable returns why a pod of the node cannot be moved by the restart that it asks for, or "".
// It prevents a launch for a node that would stay.
func (p *pass) unmovable(ctx context.Context, node *disruption.Node) (string, error) {
	for _, pod := range p.fleet.Seen.ToRestart(node) {
		deployment, err := p.client.DeploymentOf(ctx, pod)
		if cluster.IsForbidden(err) {
			return decide.RestartForbidden(pod), nil
		}
		if err != nil {
			return "", err
		}
		if why := decide.Unmovable(deployment, protection.RefusedByBudget(pod, p.fleet.Seen.Budgets)); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// consolidate makes moves that save money. One pass proposes a move, and a later one makes it if it
// still holds.
func (p *pass) consolidate(ctx context.Context) error {
	proposals := p.fleet.Seen.Proposals()
	consolidates := func(pool api.NodePool) bool { return pool.ConsolidatesUnderutilized() }
	switch {
	case !slices.ContainsFunc(p.fleet.Seen.Pools, consolidates):
		var failed []error
		for _, proposal := range proposals {
			failed = append(failed, ofNode(proposal.First, p.do(ctx, decide.Withdraw(proposal))))
		}
		return errors.Join(failed...)
	case len(proposals) == 0:
		return p.propose(ctx)
	}
	var failed []error
	for _, proposal := range decide.Due(proposals, p.now()) {
		failed = append(failed, ofNode(proposal.First, p.validate(ctx, proposal)))
	}
	return errors.Join(failed...)
}

// propose searches for moves, in one pass of each minute, and writes them down. Savings count by
// the hour, so that a minute's delay costs little.
func (p *pass) propose(ctx context.Context) error {
	now := p.now()
	if !decide.Searches(now) || p.settled.unchanged(p.fleet.Objects, now) {
		return nil
	}
	open, closed := decide.OpenBudgets(p.fleet.Seen, now)
	p.record(decide.Stay(closed, p.now())...)
	if !open {
		return nil
	}
	s, err := p.fleet.Consolidation(ctx, p.now())
	if err != nil {
		return fmt.Errorf("reading what nodes cost: %w", err)
	}
	start := p.now()
	decided := consolidation.Solve(s)
	if p.observe != nil {
		p.observe(decided)
	}
	slog.InfoContext(ctx, "searched for nodes to consolidate",
		"moves", len(decided.Moves), "waiting-for-budgets", len(decided.Waiting),
		"price", decided.BilledPerHour(), "price-after", decided.BilledAfterPerHour(),
		"duration", p.now().Sub(start).String())
	p.record(decide.Unconsolidatable(p.fleet.Seen, decided, p.now())...)
	p.record(decide.Stay(decide.Problems(p.fleet.Seen, decided), p.now())...)
	var failed []error
	proposed := 0
	for i := range decided.Moves {
		task, proposes := decide.Propose(p.fleet.Seen, &decided.Moves[i], now)
		if !proposes {
			continue
		}
		proposed++
		failed = append(failed, ofNode(task.Node, p.do(ctx, task)))
	}
	if proposed == 0 && len(decided.Waiting) == 0 {
		p.settled.remember(p.fleet.Objects, now)
	}
	return errors.Join(failed...)
}

// validate checks a proposal against the cluster as it is now, and begins it if it still holds.
func (p *pass) validate(ctx context.Context, proposal disruption.Proposal) error {
	nodes := p.fleet.Seen.Movable(proposal.Claims, p.now())
	if len(nodes) == 0 {
		return p.do(ctx, decide.Reject(proposal, "a node of the move is gone, or is disrupted already"))
	}
	if frozen, err := p.anyFrozen(ctx, nodes); frozen != "" || err != nil {
		return errors.Join(err, p.rejectFrozen(ctx, proposal, frozen))
	}
	s, err := p.fleet.Consolidation(ctx, p.now())
	if err != nil {
		return fmt.Errorf("reading what nodes cost: %w", err)
	}
	move, err := consolidation.Check(s, proposal.Claims)
	if err != nil {
		return p.do(ctx, decide.Reject(proposal, err.Error()))
	}
	slog.InfoContext(ctx, "consolidating",
		"move", decide.Summary(move), "pods", move.PodsMoved, "saved", move.BilledSavingsPerHour())
	if err := p.carryOut(ctx, decide.Moves(move, nodes, p.now())); err != nil {
		return err
	}
	if p.frozen != "" {
		return p.rejectFrozen(ctx, proposal, p.frozen)
	}
	return p.do(ctx, decide.Approve(proposal, move))
}

// anyFrozen says which freeze holds one of the nodes, or nothing.
func (p *pass) anyFrozen(ctx context.Context, nodes []*disruption.Node) (why string, err error) {
	frozen, err := p.client.Freezes(ctx)
	if err != nil {
		return "", err
	}
	for _, node := range nodes {
		if p.holds(ctx, frozen, node) != nil {
			return p.frozen, nil
		}
	}
	return "", nil
}

// rejectFrozen withdraws the proposal because of a freeze, if there is one.
func (p *pass) rejectFrozen(ctx context.Context, proposal disruption.Proposal, why string) error {
	if why == "" {
		return nil
	}
	return p.do(ctx, decide.Reject(proposal, why))
}
