package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// announcedPatience is how long a node may stay whose instance AWS takes within the hour.
	announcedPatience = 3 * time.Minute
	// replaceableWithin is the time before AWS takes an instance in which its node is replaced within budgets:
	// gracefulWithin of package disruption.
	replaceableWithin = 7 * 24 * time.Hour
)

// retire lets AWS announce, in some seeds and until the end, that it will take instances of the pool that
// drifts. An announcement is no fault: AWS makes it on any day. It stops the instances at that time.
func (r *Run) retire() {
	e := r.engine
	if !e.Chance(0.3, "retirements") {
		return
	}
	aheads := []time.Duration{25 * time.Minute, 3 * 24 * time.Hour, 14 * 24 * time.Hour}
	for n := range e.Number(1, 4, "retirements") {
		name := fmt.Sprint(n)
		e.In(e.Between(2*time.Minute, 34*time.Minute, "retirement", name), func() {
			candidates := slices.DeleteFunc(slices.Clone(r.copied()), func(i ec2.Instance) bool {
				m := r.machines[i.ID]
				return i.State != ec2.Running || m == nil || m.off || !m.retires.IsZero() ||
					i.Tags[api.NodePoolLabelKey] != driftedPool
			})
			if len(candidates) == 0 {
				return
			}
			id := candidates[e.Number(0, len(candidates)-1, "retirement", name, "which")].ID
			ahead := aheads[e.Number(0, len(aheads)-1, "retirement", name, "when")]
			m := r.machines[id]
			m.retires, m.announced = time.Now().Add(ahead), time.Now()
			r.trace("AWS will stop %s in %s", id, ahead)
			if err := r.ec2.Retire(id, "", m.retires); err != nil {
				r.violate("an instance cannot be retired: %v", err)
			}
			e.In(ahead, func() { _ = r.ec2.Stop(id) }) // it may have ended
		})
	}
}

// unretired lists nodes that are still there although AWS takes their instances within the hour. No budget
// keeps them.
func (r *Run) unretired() []string {
	var problems []string
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		m := r.retiring(claim)
		if m != nil && claim.DeletionTimestamp == nil && time.Until(m.retires) < time.Hour &&
			time.Since(m.announced) >= announcedPatience {
			problems = append(problems, fmt.Sprintf(
				"AWS stops the instance of nodeclaim %s in %s, which has been announced for %s", claim.Name,
				time.Until(m.retires).Truncate(time.Second), time.Since(m.announced).Truncate(time.Second)))
		}
	}
	return problems
}

// replaceableSince is when AWS announced that it takes the claim's instance within a week; zero if it did not.
func (r *Run) replaceableSince(claim *api.NodeClaim) time.Time {
	if m := r.retiring(claim); m != nil && time.Until(m.retires) <= replaceableWithin {
		return m.announced
	}
	return time.Time{}
}

// retiring is the machine of the claim, if AWS takes it.
func (r *Run) retiring(claim *api.NodeClaim) *machine {
	id, _ := api.InstanceID(claim.Status.ProviderID)
	if m := r.machines[id]; m != nil && !m.retires.IsZero() {
		return m
	}
	return nil
}
