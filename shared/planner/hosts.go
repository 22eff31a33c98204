package planner

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// hostRules are what spreads over hosts ask of the node that has units of a demand; demands of which they ask the same share them.
type hostRules struct {
	// limits are of the demand's own constraints, counted the groups that its pods count in.
	limits  []hostLimit
	counted []int32
}

// hostLimit bounds how many of a group a node may have once a unit has been put on it. A unit outside the group only wants no more there.
type hostLimit struct {
	group, most int
	member      bool
}

// hostReader finds out which demands' constraints over hosts speak of which demands: each distinct constraint is held against each distinct set of those labels
// that any constraint asks for.
type hostReader struct {
	p *placements
	// peers are those of the distinct constraints, by text; anti marks those of anti-affinity, spread those of spreads. A constraint that is only preferred binds
	// demands up to the round of those that have it: until is that round.
	peers        []*peers
	until        []int
	byText       map[string]int
	anti, spread []bool
	keys         []string
	// looks are the demands' pods as constraints see them: for each distinct one the constraints that it matches.
	looks map[string]*look
	// ofAnti and ofSpread are, by demand, the numbers of its constraints.
	ofAnti, ofSpread [][]int
	scratch          []byte
}

type look struct {
	index   int
	matched []int
	demands []int
}

// readConflicts fills in what constraints over hosts, and host ports, mean for the demands: which cannot share a node, and whose spreads count whom.
func (p *placements) readConflicts() {
	r := &hostReader{p: p, byText: map[string]int{}, looks: map[string]*look{}}
	r.ofAnti, r.ofSpread = make([][]int, len(p.demands)), make([][]int, len(p.demands))
	ports := false
	for n, d := range p.demands {
		d.conflicts, d.rules, d.repulsion, d.slots = nil, nil, 0, nil
		ports = ports || len(d.shape.ports) > 0
		for i := range d.hosts.anti {
			until := math.MaxInt
			if d.hosts.anti[i].preferred {
				until = d.round
			}
			c := r.add(d.hosts.anti[i].peers, until)
			r.anti[c] = true
			r.ofAnti[n] = append(r.ofAnti[n], c)
		}
		for i := range d.hosts.spread {
			c := r.add(d.hosts.spread[i].peers, math.MaxInt)
			r.spread[c] = true
			r.ofSpread[n] = append(r.ofSpread[n], c)
		}
	}
	p.demandsRead = len(p.demands)
	p.generation++
	if len(r.peers) == 0 && !ports {
		return
	}
	r.readKeys()
	looks := make([]*look, len(p.demands))
	for i, d := range p.demands {
		looks[i] = r.look(d)
	}
	numbers := r.readRepulsion(looks)
	r.readRules(looks)
	r.readSlots(numbers)
}

func (r *hostReader) add(peers *peers, until int) int {
	text := peers.text()
	if until < math.MaxInt {
		text = strconv.Itoa(until) + " " + text
	}
	i, ok := r.byText[text]
	if !ok {
		i = len(r.peers)
		r.byText[text] = i
		r.peers, r.until = append(r.peers, peers), append(r.until, until)
		r.anti, r.spread = append(r.anti, false), append(r.spread, false)
	}
	return i
}

func (r *hostReader) readKeys() {
	keys := map[string]bool{}
	for _, peers := range r.peers {
		requirements, _ := peers.selector.Requirements()
		for i := range requirements {
			keys[requirements[i].Key()] = true
		}
	}
	r.keys = sortedKeys(keys)
}

// look is what constraints see of the demand's pods.
func (r *hostReader) look(d *demand) *look {
	pod := d.shape.pod()
	r.scratch = appendText(r.scratch[:0], pod.Namespace)
	for _, key := range r.keys {
		if value, ok := pod.Labels[key]; ok {
			r.scratch = appendText(append(r.scratch, 1), value)
		} else {
			r.scratch = append(r.scratch, 0)
		}
	}
	l, ok := r.looks[string(r.scratch)]
	if !ok {
		l = &look{index: len(r.looks)}
		for i, peers := range r.peers {
			if peers.match(pod) {
				l.matched = append(l.matched, i)
			}
		}
		r.looks[string(r.scratch)] = l
	}
	l.demands = append(l.demands, d.index)
	return l
}

// readRepulsion fills in the conflicts. A demand's set follows from its anti-affinity, its look and its ports, and is made once for all that have these in common.
// It gives the sets' numbers by demand.
func (r *hostReader) readRepulsion(looks []*look) []int {
	p := r.p
	matched := make([]bitset, len(r.peers))
	having := make([]bitset, len(r.peers))
	for i := range r.peers {
		matched[i], having[i] = newBitset(len(p.demands)), newBitset(len(p.demands))
	}
	ported := map[hostPort]bitset{}
	for i, d := range p.demands {
		for _, c := range looks[i].matched {
			if d.round <= r.until[c] {
				matched[c].add(i)
			}
		}
		for _, c := range r.ofAnti[i] {
			having[c].add(i)
		}
		for _, port := range d.shape.ports {
			if ported[port] == nil {
				ported[port] = newBitset(len(p.demands))
			}
			ported[port].add(i)
		}
	}
	type numbered struct {
		number int
		set    bitset
	}
	sets := map[string]numbered{}
	numbers := make([]int, len(p.demands))
	for i, d := range p.demands {
		key := binary.AppendUvarint(binary.AppendUvarint(r.scratch[:0], uint64(looks[i].index)), uint64(d.round))
		for _, c := range r.ofAnti[i] {
			key = binary.AppendUvarint(key, uint64(c)+1)
		}
		for _, port := range d.shape.ports {
			key = binary.AppendUvarint(append(key, 0), uint64(port.port))
			key = appendText(appendText(key, string(port.protocol)), port.ip)
		}
		r.scratch = key
		found, ok := sets[string(key)]
		if !ok {
			set := newBitset(len(p.demands))
			for _, c := range r.ofAnti[i] {
				set.or(matched[c])
			}
			for _, c := range looks[i].matched {
				if r.anti[c] && d.round <= r.until[c] {
					set.or(having[c])
				}
			}
			for port, demands := range ported {
				if portsClash(d.shape.ports, []hostPort{port}) {
					set.or(demands)
				}
			}
			if !set.empty() {
				found = numbered{number: len(sets) + 1, set: set}
			}
			sets[string(key)] = found
		}
		d.conflicts, numbers[i] = found.set, found.number
	}
	return numbers
}

// readRules fills in what spreads over hosts count.
func (r *hostReader) readRules(looks []*look) {
	if !slices.Contains(r.spread, true) {
		return
	}
	all := map[string]*hostRules{}
	for i, d := range r.p.demands {
		key := binary.AppendUvarint(r.scratch[:0], uint64(looks[i].index))
		for j := range d.hosts.spread {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(r.ofSpread[i][j])), uint64(d.hosts.spread[j].maxSkew))
		}
		r.scratch = key
		rules, ok := all[string(key)]
		if !ok {
			rules = &hostRules{}
			for _, c := range looks[i].matched {
				if r.spread[c] {
					rules.counted = append(rules.counted, int32(c))
				}
			}
			for j := range d.hosts.spread {
				group := r.ofSpread[i][j]
				rules.limits = append(rules.limits, hostLimit{group: group, most: d.hosts.spread[j].maxSkew, member: slices.Contains(looks[i].matched, group)})
			}
			if len(rules.counted) == 0 && len(rules.limits) == 0 {
				rules = nil
			}
			all[string(key)] = rules
		}
		d.rules = rules
	}
}

// readSlots numbers what demands ask of a node, and fills in the slots. Demands with the same conflicts, which they are in themselves, repel each other all, so a
// node has one unit of them; of those that a spread bounds by the same number it has no more than that number.
func (r *hostReader) readSlots(numbers []int) {
	type bound struct{ group, most int }
	repulsions := map[string]int{}
	groups := map[bound]int{}
	for i, d := range r.p.demands {
		key := binary.AppendUvarint(r.scratch[:0], uint64(numbers[i]))
		if d.conflicts != nil && d.conflicts.has(i) {
			d.slots = append(d.slots, slot{group: numbers[i], part: 1})
		}
		if d.rules != nil {
			for _, limit := range d.rules.limits {
				key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(limit.group)), uint64(limit.most))
				if !limit.member {
					key = append(key, 'o')
					continue
				}
				b := bound{limit.group, limit.most}
				if d.slack > 0 {
					continue // a node may have more of it than slots tell of
				}
				if groups[b] == 0 {
					groups[b] = -1 - len(groups)
				}
				d.slots = append(d.slots, slot{group: groups[b], part: float64(d.pods()) / float64(max(limit.most, 1))})
			}
		}
		r.scratch = key
		if numbers[i] == 0 && (d.rules == nil || len(d.rules.limits) == 0) {
			continue
		}
		if repulsions[string(key)] == 0 {
			repulsions[string(key)] = len(repulsions) + 1
		}
		d.repulsion = repulsions[string(key)]
	}
}
