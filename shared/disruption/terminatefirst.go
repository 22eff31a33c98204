package disruption

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TerminateFirst has the reasons for which a node may end before anything replaces it, where nothing
// can replace it first. It is empty unless a setting names reasons.
type TerminateFirst []api.DisruptionReason

// Stuck returns the first candidate that stays, holds a slot of a capacity reservation, and may end
// first. It is nil if there is none. Its pods may find a place in the slot that it would free.
func (t TerminateFirst) Stuck(candidates []Candidate, stay []Notice) *Candidate {
	return t.first(candidates, stay, func(c *Candidate) bool { return c.Reservation() != "" })
}

// AtLimit returns the first candidate of a pool with spec.replicas that stays because of the pool's
// limit, and may end first. The pool replaces the node then. It is nil if there is none.
func (t TerminateFirst) AtLimit(candidates []Candidate, stay []Notice) *Candidate {
	return t.first(candidates, stay, func(c *Candidate) bool { return replacesItsNodes(c.Pool) })
}

func (t TerminateFirst) first(candidates []Candidate, stay []Notice, may func(*Candidate) bool) *Candidate {
	for i := range candidates {
		c := &candidates[i]
		stays := slices.ContainsFunc(stay, func(notice Notice) bool { return notice.Node == c.Node })
		if stays && t.allows(c) && may(c) {
			return c
		}
	}
	return nil
}

// Full returns the first candidate of a pool with spec.replicas that may end first because every
// offering that its replica could have is of a reservation without a free slot. types are those of
// the candidates' pools.
func (t TerminateFirst) Full(candidates []Candidate, types map[string][]catalog.InstanceType) *Candidate {
	for i := range candidates {
		c := &candidates[i]
		if !t.allows(c) || c.Reservation() == "" || !replacesItsNodes(c.Pool) {
			continue
		}
		if _, requirements, err := Replica(c.Pool); err == nil && isFull(types[c.Pool.Name], requirements) {
			return c
		}
	}
	return nil
}

// allows reports whether the candidate's reason is named.
func (t TerminateFirst) allows(c *Candidate) bool { return slices.Contains(t, c.Reason) }

// replacesItsNodes reports whether the pool makes a node for one that has ended.
func replacesItsNodes(pool *api.NodePool) bool {
	return pool.DeletionTimestamp == nil && api.ConditionTrue(pool.Status.Conditions, api.ConditionReady)
}

// isFull reports whether the requirements allow offerings of reservations only, and none has a slot.
func isFull(types []catalog.InstanceType, requirements scheduling.Requirements) bool {
	found := false
	for i := range types {
		if !types[i].Requirements.IsCompatible(requirements, scheduling.UndefinedWellKnownIsAny) {
			continue
		}
		for j := range types[i].Offerings {
			offering := &types[i].Offerings[j]
			if !offering.AllowedBy(requirements) {
				continue
			}
			if offering.Available {
				return false // one of a reservation without a free slot is not available
			}
			found = found || offering.ReservationID != ""
		}
	}
	return found
}

// Reservation is the capacity reservation whose slot the candidate's node holds, or empty.
func (c *Candidate) Reservation() string {
	if c.Node.Claim.Labels[api.CapacityTypeLabelKey] != api.CapacityTypeReserved {
		return ""
	}
	return c.Node.Claim.Labels[api.LabelCapacityReservationID]
}
