package claims

import (
	"encoding/binary"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// choose returns the choices of a node's claim. Nodes with equal alternatives share them, unless
// there are limits: each claim then leaves less for the next one.
func (w *claimWriter) choose(n *placement.PlannedNode) *choices {
	offers := w.state.Offers
	fits := w.state.AlternativesFor(n)
	open := fits
	if offers.Stocked.Has(n.Offering) {
		open = fits.Clone()
		w.ledger.KeepInStock(open, n.Offering)
	}
	limited := fits.Intersects(offers.Limited)
	if !limited {
		o := &offers.Offerings[n.Offering]
		w.key = binary.AppendVarint(binary.AppendVarint(w.key[:0], int64(o.Stock)), int64(o.Units))
		w.key = open.AppendKey(w.key)
		if number, isNew := w.choiceKeys.Number(w.key); !isNew {
			return w.choices[number]
		}
	} else {
		// No other node has this key, so no other node gets these choices.
		w.choiceKeys.Number(binary.AppendUvarint(w.key[:0], uint64(len(w.choices))))
	}
	fits, open = fits.Clone(), open.Clone()
	if limited {
		// The claim must allow no offering that exceeds a limit, by whichever of its lists.
		w.ledger.KeepWithinLimits(fits, n.Offering)
		open.And(fits)
	}
	c := w.newChoices(keepAlternatives(w.state, n, fits, open))
	if limited {
		c.limitUse = w.state.MostUse(n, c.numbers, fits)
	}
	w.choices = append(w.choices, c)
	return c
}

// newChoices describes the offerings with these numbers.
func (w *claimWriter) newChoices(numbers []int) *choices {
	offers := w.state.Offers
	c := &choices{index: len(w.choices), numbers: numbers}
	c.offerings = make([]plan.Choice, len(numbers))
	// typeNames first collects the names to count them, and then loses each one that is written.
	clear(w.typeNames)
	count := 0
	for _, j := range numbers {
		if name := offers.PoolTypeOf(j).NameID; !w.typeNames.Has(name) {
			w.typeNames.Add(name)
			count++
		}
	}
	c.types = make([]string, 0, count)
	for i, j := range numbers {
		o := &offers.Offerings[j]
		poolType := &offers.PoolTypes[o.PoolType]
		if w.typeNames.Has(poolType.NameID) {
			w.typeNames.Remove(poolType.NameID)
			c.types = append(c.types, poolType.Type.Name)
		}
		c.offerings[i] = plan.Choice{
			InstanceType: poolType.Type.Name, Zone: o.Source.Zone, CapacityType: o.Source.CapacityType,
			ReservationID: o.Source.ReservationID, Commitment: o.Source.Commitment(),
			Price: o.Source.Price, Extras: o.Source.Extras, Risk: o.Source.Risk,
		}
		if coverage := o.Source.Coverage; coverage != nil && i == 0 {
			c.commitment = api.CommitmentText(coverage.Commitment, coverage.Units)
		}
		c.priceOverlay = c.priceOverlay || o.Source.PriceOverlay
		c.capacityOverlay = c.capacityOverlay || poolType.Type.CapacityOverlay
	}
	return c
}
