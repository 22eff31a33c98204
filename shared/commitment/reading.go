package commitment

import (
	"maps"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

const (
	// readingFor is how long a reading counts. Without a newer one, prices are those without commitments.
	readingFor = 10 * time.Minute
	// listedAfter is how long after its launch an instance may be missing in EC2's list.
	listedAfter = time.Minute
)

// Reading is how the commitments paid for the account's instances at one time.
type Reading struct {
	Time time.Time `json:"time"`
	// Share is the part of each commitment that the cluster may use.
	Share float64 `json:"share"`
	// Clusters is how many clusters take turns at what is left, this one included, and Place is
	// this one's among them. Zero and one mean that no other takes any.
	Clusters int `json:"clusters,omitempty"`
	Place    int `json:"place,omitempty"`
	// Ending are the notices of purchases that end soon. Those of the last reading are told.
	Ending []Ending `json:"ending,omitempty"`
	Applied
}

// Among sets the turns: by the names of the clusters whose nodes are among the instances, and of
// this one. A cluster with a share of less than all has what is its own, and takes no turns.
func (r *Reading) Among(cluster string, instances []Instance) {
	if r.Share < 1 {
		return
	}
	names := map[string]bool{cluster: true}
	for i := range instances {
		if name := instances[i].Cluster; name != "" {
			names[name] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(names))
	r.Clusters, r.Place = len(sorted), slices.Index(sorted, cluster)
}

// Own keeps what is covered of this cluster's instances only: a plan asks for no other.
func (r *Reading) Own(instances []Instance) {
	covered, costs := map[string]float64{}, map[string]float64{}
	for i := range instances {
		id := instances[i].ID
		if part, has := r.Covered[id]; has && instances[i].Own {
			covered[id], costs[id] = part, r.Costs[id]
		}
	}
	r.Covered, r.Costs = covered, costs
}

// Current reports whether the reading counts at the time.
func (r *Reading) Current(now time.Time) bool { return r != nil && now.Sub(r.Time) <= readingFor }

// Covers are what is left for a plan: the reading's units without those that the claims have taken, or are going to
// take, since EC2's answer. An old reading leaves nothing.
func (r *Reading) Covers(claims []api.NodeClaim, now time.Time) []catalog.Cover {
	if !r.Current(now) {
		return nil
	}
	taken, ofTurn := map[string]int{}, map[string]int{}
	for i := range claims {
		id, units, has := api.CommitmentOf(&claims[i])
		if !has {
			continue
		}
		if !r.counts(&claims[i]) {
			taken[id] += units
		}
		if !claims[i].CreationTimestamp.Time.Before(turnOf(now)) {
			ofTurn[id] += units
		}
	}
	var covers []catalog.Cover
	for i := range r.Stocks {
		s := &r.Stocks[i]
		left := s.Left(r.Share) - taken[s.ID]
		if left = r.inTurn(s.ID, left, ofTurn[s.ID], now); left > 0 {
			covers = append(covers, catalog.Cover{Commitment: s.ID, Zone: s.Zone, Left: left, Units: s.Units})
		}
	}
	return covers
}

// counts reports whether EC2's answer had the claim's instance.
func (r *Reading) counts(claim *api.NodeClaim) bool {
	launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched)
	return launched != nil && launched.Status == "True" && launched.LastTransitionTime.Add(listedAfter).Before(r.Time)
}

// Paid is the part of the claim's instance that commitments pay for.
func (r *Reading) Paid(claim *api.NodeClaim, now time.Time) float64 {
	if claim == nil || !r.Current(now) {
		return 0
	}
	if id, has := api.InstanceID(claim.Status.ProviderID); has && r.Covered[id] > 0 {
		return r.Covered[id]
	}
	if _, _, has := api.CommitmentOf(claim); has && !r.counts(claim) {
		return 1 // it was launched because a commitment pays for it
	}
	return 0
}
