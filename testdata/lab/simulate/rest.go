package simulate

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// restFor is how long the cluster rests at the end, and lowestOf is the time whose lowest price counts: a
	// replacement runs beside the node that it replaces.
	restFor, lowestOf = 12 * time.Minute, 5 * time.Minute
	// rested is how much a cluster with work that keeps coming may cost, of what it costs at rest.
	rested = 1.05
	// jobPrice is the price of a processor in an hour that jobs may cost besides: twice that of an
	// on-demand m5, because the nodes for jobs are seldom full.
	jobPrice = 0.1
)

// compareAtRest holds that consolidation reaches while work keeps coming what it reaches at rest. It ends the
// jobs and the pods without a place, lets the cluster rest, and compares the prices. A CapacityBuffer makes
// a cluster move also at rest: its room is bought again when the scheduler gives it to pods that move.
// A pool whose budget lets no node go for all of the time that is compared may cost more, and so may a
// cluster with a pool that gets no nodes then. A node that its pods kept and that has gone since may have
// cost more too.
func (r *Run) compareAtRest() {
	buffered := len(apiserver.List[api.CapacityBuffer](r.store, apiserver.CapacityBuffers)) > 0
	if !r.hasCron() && !r.hasHopeless() || buffered || r.heldBack() || r.budgetsFull() || r.paused {
		return
	}
	loaded, kept := r.lowest, r.kept
	r.resting = true
	r.engine.Run(r.ends.Add(restFor - lowestOf))
	r.lowest = 0
	r.engine.Run(r.ends.Add(restFor))
	allowed := r.lowest * rested
	if r.hasCron() {
		cpu, most := r.cron()
		allowed += jobPrice * float64(cpu) / 1000 * float64(most)
	}
	for _, name := range kept {
		if r.store.Get(apiserver.NodeClaims, "", name) == nil {
			r.trace("the pods of nodeclaim %s kept it while work kept coming, and it has gone", name)
			return
		}
	}
	r.trace("the nodes cost $%.4f/h while work kept coming, and $%.4f/h at rest", loaded, r.lowest)
	if loaded > allowed {
		r.breaks("as-cheap-as-at-rest",
			"the nodes cost $%.4f/h while work kept coming, and $%.4f/h at rest", loaded, r.lowest)
	}
}

// budgetsFull reports whether the budget of a pool has let no node go for lowestOf.
func (r *Run) budgetsFull() bool {
	for pool, since := range r.busySince {
		if time.Since(r.busy[pool]) <= busyEvery && time.Since(since) >= lowestOf {
			return true
		}
	}
	return false
}

// heldBack reports whether a replacement of late was held back because an earlier one had failed: its machine
// never joined, which takes 15 minutes to know.
func (r *Run) heldBack() bool {
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if time.Since(disruption.ReplaceAfter(claim)) < recovery {
			return true
		}
	}
	return false
}

// notePrice notes the lowest price of late, and whether a pool got no nodes because its last ones have not
// joined.
func (r *Run) notePrice() {
	if time.Until(r.ends) > lowestOf {
		return
	}
	r.paused = r.paused || slices.ContainsFunc(apiserver.List[api.NodePool](r.store, apiserver.NodePools), r.braked)
	if price := r.price(); r.lowest == 0 || price < r.lowest {
		r.lowest, r.kept = price, r.keptClaims()
	}
}

// keptClaims are the names of the claims that consolidation may not end, because of their pods.
func (r *Run) keptClaims() (kept []string) {
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if r.keptByPods(claim) {
			kept = append(kept, claim.Name)
		}
	}
	return kept
}

// price is what the instances of claims that stay cost in an hour. Consolidation has no say in those of the
// static pool, which cost less for the moment between the end of a node and the next launch.
func (r *Run) price() float64 {
	stays := map[string]bool{}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if id, launched := api.InstanceID(claim.Status.ProviderID); launched && claim.DeletionTimestamp == nil &&
			claim.Labels[api.NodePoolLabelKey] != staticPool {
			stays[id] = true
		}
	}
	sum := 0.0
	for _, i := range r.copied() {
		if stays[i.ID] && slices.Contains([]ec2.State{ec2.Pending, ec2.Running}, i.State) {
			sum += i.PricePerHour
		}
	}
	return sum
}
