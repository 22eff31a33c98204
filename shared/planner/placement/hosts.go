package placement

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// HostRules are what spreads over hosts ask of the node that has units of a demand; demands of
// which they ask the same share them.
type HostRules struct {
	// limits are of the demand's own constraints, counted the groups that its pods count in.
	limits  []hostLimit
	counted []int32
}

// hostLimit bounds how many of a group a node may have once a unit has been put on it. A unit
// outside the group only wants no more there.
type hostLimit struct {
	group, most int
	member      bool
}

// hostReader finds out which demands' constraints over hosts speak of which demands: each distinct
// constraint is held against each distinct set of those labels that any constraint asks for.
type hostReader struct {
	p *State
	// selected pods are those of the distinct constraints, by text; anti marks those of anti-affinity,
	// spread those of spreads. A constraint that is only preferred binds demands up to the round of
	// those that have it: until is that round.
	selectors    []*workload.PodSelector
	until        []int
	byText       map[string]int
	anti, spread []bool
	keys         []string
	// views are the demands' pods as constraints see them: for each distinct one the constraints that
	// it matches.
	views map[string]*podView
	// ofAnti and ofSpread are, by demand, the numbers of its constraints.
	ofAnti, ofSpread [][]int
	scratch          []byte
}

type podView struct {
	index   int
	matched []int
	demands []int
}

// readConflicts fills in what constraints over hosts, and host ports, mean for the demands: which
// cannot share a node, and whose spreads count whom.
func (p *State) readConflicts() {
	r := &hostReader{p: p, byText: map[string]int{}, views: map[string]*podView{}}
	r.ofAnti, r.ofSpread = make([][]int, len(p.Demands)), make([][]int, len(p.Demands))
	ports := false
	for n, d := range p.Demands {
		d.Conflicts, d.HostRules, d.HostConstraintsID, d.Slots = nil, nil, 0, nil
		ports = ports || len(d.Group.Ports) > 0
		for i := range d.Hosts.AntiAffinity {
			until := math.MaxInt
			if d.Hosts.AntiAffinity[i].Preferred {
				until = d.Round
			}
			c := r.add(d.Hosts.AntiAffinity[i].PodSelector, until)
			r.anti[c] = true
			r.ofAnti[n] = append(r.ofAnti[n], c)
		}
		for i := range d.Hosts.Spread {
			c := r.add(d.Hosts.Spread[i].PodSelector, math.MaxInt)
			r.spread[c] = true
			r.ofSpread[n] = append(r.ofSpread[n], c)
		}
	}
	p.demandsPrepared = len(p.Demands)
	p.generation++
	if len(r.selectors) == 0 && !ports {
		return
	}
	r.readKeys()
	looks := make([]*podView, len(p.Demands))
	for i, d := range p.Demands {
		looks[i] = r.view(d)
	}
	numbers := r.readConflictSets(looks)
	r.readRules(looks)
	r.readSlots(numbers)
}

func (r *hostReader) add(peers *workload.PodSelector, until int) int {
	text := peers.Key()
	if until < math.MaxInt {
		text = strconv.Itoa(until) + " " + text
	}
	i, ok := r.byText[text]
	if !ok {
		i = len(r.selectors)
		r.byText[text] = i
		r.selectors, r.until = append(r.selectors, peers), append(r.until, until)
		r.anti, r.spread = append(r.anti, false), append(r.spread, false)
	}
	return i
}

func (r *hostReader) readKeys() {
	keys := map[string]bool{}
	for _, peers := range r.selectors {
		requirements, _ := peers.Selector.Requirements()
		for i := range requirements {
			keys[requirements[i].Key()] = true
		}
	}
	r.keys = dense.SortedKeys(keys)
}

// view is what constraints see of the demand's pods.
func (r *hostReader) view(d *Demand) *podView {
	pod := d.Group.Pod()
	r.scratch = dense.AppendText(r.scratch[:0], pod.Namespace)
	for _, key := range r.keys {
		if value, ok := pod.Labels[key]; ok {
			r.scratch = dense.AppendText(append(r.scratch, 1), value)
		} else {
			r.scratch = append(r.scratch, 0)
		}
	}
	l, ok := r.views[string(r.scratch)]
	if !ok {
		l = &podView{index: len(r.views)}
		for i, peers := range r.selectors {
			if peers.Matches(pod) {
				l.matched = append(l.matched, i)
			}
		}
		r.views[string(r.scratch)] = l
	}
	l.demands = append(l.demands, d.Index)
	return l
}

// readConflictSets fills in the conflicts. A demand's set follows from its anti-affinity, its look and
// its ports, and is made once for all that have these in common. It gives the sets' numbers by
// demand.
func (r *hostReader) readConflictSets(looks []*podView) []int {
	p := r.p
	by := r.readSubjects(looks)
	type numbered struct {
		number int
		set    dense.Set
	}
	sets := map[string]numbered{}
	numbers := make([]int, len(p.Demands))
	for i, d := range p.Demands {
		key := binary.AppendUvarint(binary.AppendUvarint(r.scratch[:0], uint64(looks[i].index)), uint64(d.Round))
		for _, c := range r.ofAnti[i] {
			key = binary.AppendUvarint(key, uint64(c)+1)
		}
		for _, port := range d.Group.Ports {
			key = binary.AppendUvarint(append(key, 0), uint64(port.Port))
			key = dense.AppendText(dense.AppendText(key, string(port.Protocol)), port.IP)
		}
		r.scratch = key
		found, ok := sets[string(key)]
		if !ok {
			set := r.conflictsOf(i, d, looks[i], by)
			if !set.Empty() {
				found = numbered{number: len(sets) + 1, set: set}
			}
			sets[string(key)] = found
		}
		d.Conflicts, numbers[i] = found.set, found.number
	}
	return numbers
}

// hostSubjects are the demands that constraints over hosts concern, by constraint or port.
type hostSubjects struct {
	// matched are the demands whose pods a constraint selects, having those that have it.
	matched, having []dense.Set
	ported          map[workload.HostPort]dense.Set
}

func (r *hostReader) readSubjects(looks []*podView) *hostSubjects {
	p := r.p
	matched := make([]dense.Set, len(r.selectors))
	having := make([]dense.Set, len(r.selectors))
	for i := range r.selectors {
		matched[i], having[i] = dense.NewSet(len(p.Demands)), dense.NewSet(len(p.Demands))
	}
	ported := map[workload.HostPort]dense.Set{}
	for i, d := range p.Demands {
		for _, c := range looks[i].matched {
			if d.Round <= r.until[c] {
				matched[c].Add(i)
			}
		}
		for _, c := range r.ofAnti[i] {
			having[c].Add(i)
		}
		for _, port := range d.Group.Ports {
			if ported[port] == nil {
				ported[port] = dense.NewSet(len(p.Demands))
			}
			ported[port].Add(i)
		}
	}
	return &hostSubjects{matched: matched, having: having, ported: ported}
}

// conflictsOf are the demands whose units cannot share a node with those of demand i.
func (r *hostReader) conflictsOf(i int, d *Demand, l *podView, by *hostSubjects) dense.Set {
	set := dense.NewSet(len(r.p.Demands))
	for _, c := range r.ofAnti[i] {
		set.Or(by.matched[c])
	}
	for _, c := range l.matched {
		if r.anti[c] && d.Round <= r.until[c] {
			set.Or(by.having[c])
		}
	}
	for port, demands := range by.ported {
		if workload.PortsClash(d.Group.Ports, []workload.HostPort{port}) {
			set.Or(demands)
		}
	}
	return set
}

// readRules fills in what spreads over hosts count.
func (r *hostReader) readRules(looks []*podView) {
	if !slices.Contains(r.spread, true) {
		return
	}
	all := map[string]*HostRules{}
	for i, d := range r.p.Demands {
		key := binary.AppendUvarint(r.scratch[:0], uint64(looks[i].index))
		for j := range d.Hosts.Spread {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(r.ofSpread[i][j])), uint64(d.Hosts.Spread[j].MaxSkew))
		}
		r.scratch = key
		rules, ok := all[string(key)]
		if !ok {
			rules = &HostRules{}
			for _, c := range looks[i].matched {
				if r.spread[c] {
					rules.counted = append(rules.counted, int32(c))
				}
			}
			for j := range d.Hosts.Spread {
				group := r.ofSpread[i][j]
				rules.limits = append(
					rules.limits,
					hostLimit{group: group, most: d.Hosts.Spread[j].MaxSkew, member: slices.Contains(looks[i].matched, group)},
				)
			}
			if len(rules.counted) == 0 && len(rules.limits) == 0 {
				rules = nil
			}
			all[string(key)] = rules
		}
		d.HostRules = rules
	}
}

// readSlots numbers what demands ask of a node, and fills in the slots. Demands with the same
// conflicts, which they are in themselves, repel each other all, so a node has one unit of them; of
// those that a spread bounds by the same number it has no more than that number.
func (r *hostReader) readSlots(numbers []int) {
	type bound struct{ group, most int }
	repulsions := map[string]int{}
	groups := map[bound]int{}
	for i, d := range r.p.Demands {
		key := binary.AppendUvarint(r.scratch[:0], uint64(numbers[i]))
		if d.Conflicts != nil && d.Conflicts.Has(i) {
			d.Slots = append(d.Slots, Slot{Limit: numbers[i], Share: 1})
		}
		if d.HostRules != nil {
			for _, limit := range d.HostRules.limits {
				key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(limit.group)), uint64(limit.most))
				if !limit.member {
					key = append(key, 'o')
					continue
				}
				b := bound{limit.group, limit.most}
				if d.HostSlack > 0 {
					continue // a node may have more of it than slots tell of
				}
				if groups[b] == 0 {
					groups[b] = -1 - len(groups)
				}
				d.Slots = append(d.Slots, Slot{Limit: groups[b], Share: float64(d.PodsPerUnit()) / float64(max(limit.most, 1))})
			}
		}
		r.scratch = key
		if numbers[i] == 0 && (d.HostRules == nil || len(d.HostRules.limits) == 0) {
			continue
		}
		if repulsions[string(key)] == 0 {
			repulsions[string(key)] = len(repulsions) + 1
		}
		d.HostConstraintsID = repulsions[string(key)]
	}
}
