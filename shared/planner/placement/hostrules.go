package placement

import (
	"encoding/binary"
	"slices"
)

// HostRules say what spreads over hosts mean for the units of a demand. Demands for which they mean
// the same share one.
type HostRules struct {
	// limits are of the demand's own spreads.
	limits []hostLimit
	// countedBy are the numbers of all spreads that count the demand's pods.
	countedBy []int32
}

// hostLimit is a spread over hosts of a demand.
type hostLimit struct {
	// spread is the number of the constraint, and most is its maxSkew.
	spread, most int
	// counted says that the spread counts the demand's own pods. Otherwise it only keeps them from
	// nodes that have more than most already.
	counted bool
}

// readRules fills in Demand.HostRules.
func (r *hostReader) readRules(views []*podView) {
	if !slices.Contains(r.constraints.isSpread, true) {
		return
	}
	all := map[string]*HostRules{}
	for i, d := range r.state.Demands {
		key := binary.AppendUvarint(r.key[:0], uint64(views[i].index))
		for j := range d.Hosts.Spread {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(r.spreads[i][j])), uint64(d.Hosts.Spread[j].MaxSkew))
		}
		r.key = key
		rules, ok := all[string(key)]
		if !ok {
			rules = r.rulesOf(i, views[i])
			all[string(key)] = rules
		}
		d.HostRules = rules
	}
}

// rulesOf are the rules for demand i, or nil if no spread concerns it.
func (r *hostReader) rulesOf(i int, v *podView) *HostRules {
	rules := &HostRules{}
	for _, c := range v.matched {
		if r.constraints.isSpread[c] {
			rules.countedBy = append(rules.countedBy, int32(c))
		}
	}
	for j, spread := range r.spreads[i] {
		rules.limits = append(rules.limits, hostLimit{
			spread: spread, most: r.state.Demands[i].Hosts.Spread[j].MaxSkew, counted: slices.Contains(v.matched, spread),
		})
	}
	if len(rules.countedBy) == 0 && len(rules.limits) == 0 {
		return nil
	}
	return rules
}

// readSlots fills in Demand.Slots and Demand.HostConstraintsID, from the conflicts and rules.
//
// Units that conflict with their own demand conflict with all demands of the same conflicts. A node
// has one of them, so each takes the whole slot of this set of conflicts. A node has at most
// maxSkew of the pods that a spread counts, so each takes its part of the slot of this spread.
func (r *hostReader) readSlots(conflictIDs []int) {
	type bound struct{ spread, most int }
	constraints := map[string]int{}
	// Slots of conflicts have positive numbers, and those of spreads negative ones.
	spreadSlots := map[bound]int{}
	for i, d := range r.state.Demands {
		key := binary.AppendUvarint(r.key[:0], uint64(conflictIDs[i]))
		if d.Conflicts != nil && d.Conflicts.Has(i) {
			d.Slots = append(d.Slots, Slot{Limit: conflictIDs[i], Share: 1})
		}
		if d.HostRules != nil {
			for _, limit := range d.HostRules.limits {
				key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(limit.spread)), uint64(limit.most))
				if !limit.counted {
					key = append(key, 'o')
					continue
				}
				if d.HostSlack > 0 {
					continue // A node may have more than maxSkew then.
				}
				b := bound{limit.spread, limit.most}
				if spreadSlots[b] == 0 {
					spreadSlots[b] = -1 - len(spreadSlots)
				}
				share := float64(d.PodsPerUnit()) / float64(max(limit.most, 1))
				d.Slots = append(d.Slots, Slot{Limit: spreadSlots[b], Share: share})
			}
		}
		r.key = key
		if conflictIDs[i] == 0 && (d.HostRules == nil || len(d.HostRules.limits) == 0) {
			continue
		}
		if constraints[string(key)] == 0 {
			constraints[string(key)] = len(constraints) + 1
		}
		d.HostConstraintsID = constraints[string(key)]
	}
}
