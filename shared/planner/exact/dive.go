package exact

import "slices"

const (
	// diveWork is the part of the work that a dive may do, and diveStep that of each of its steps.
	diveWork, diveStep = 0.4, 0.05
	// almostWhole makes up for rounding errors where the program has a whole number of nodes.
	almostWhole = 1e-3
)

// dive looks for cheaper nodes than the known ones by rounding. It takes the nodes of which the
// linear program has a whole one, or the one of which it has most. It then solves the program for
// the other units, until the search for whole nodes ends for these.
func (s *solver) dive(r *Result) {
	until := s.work + int(diveWork*float64(s.Work))
	d := &diver{solver: s, left: make([]int, len(s.Kinds)), limits: slices.Clone(s.Limits)}
	for k := range s.Kinds {
		d.left[k] = s.Kinds[k].Count
	}
	for last := s; s.work < until; {
		if !d.take(last) {
			return
		}
		rest, ok := newSolver(d.rest(r.Price))
		if !ok {
			break // nothing is left
		}
		rest.generate()
		if s.work += rest.work; d.price+rest.lower >= r.Price*(1-proven) {
			return
		}
		result := Result{Price: rest.Upper}
		before := rest.work
		rest.choose(&result)
		s.work += rest.work - before
		if result.Columns != nil {
			for _, c := range result.Columns {
				d.chosen = append(d.chosen, Column{Node: d.numbers[c.Node], Counts: c.Counts})
			}
			r.Columns, r.Price = slices.Clone(d.chosen), d.price+result.Price
			return
		}
		if isProven(result.Lower, rest.Upper) {
			return
		}
		last = rest
	}
	if d.price < r.Price*(1-proven) && !slices.ContainsFunc(d.left, func(count int) bool { return count > 0 }) {
		r.Columns, r.Price = d.chosen, d.price
	}
}

// diver has the columns that a dive has taken.
type diver struct {
	*solver
	left   []int
	limits []float64
	chosen []Column
	price  float64
	// numbers are the positions of the nodes of the rest in the whole problem; nil before the first
	// rest.
	numbers []int
}

// take takes columns of the solution of the program, which is that of the whole problem or of a
// rest. It reports false if the limits allow none.
func (d *diver) take(from *solver) bool {
	took, most, best := false, 0.0, -1
	for number, amount := range from.program.Amounts() {
		c := &from.columns[number]
		for times := int(amount + almostWhole); times > 0 && d.serves(c) && d.allows(from, c); times-- {
			d.add(from, c)
			took = true
		}
		if amount > most && d.serves(c) && d.allows(from, c) {
			most, best = amount, number
		}
	}
	if !took && best >= 0 {
		d.add(from, &from.columns[best])
		took = true
	}
	return took
}

// serves reports whether units are left for all places of the column.
func (d *diver) serves(c *Column) bool {
	any := false
	for k, count := range c.Counts {
		if count > d.left[k] && d.left[k] == 0 {
			return false
		}
		any = any || count > 0
	}
	return any
}

func (d *diver) allows(from *solver, c *Column) bool {
	for _, use := range from.Nodes[c.Node].Uses {
		if use.Amount > d.limits[use.Limit] {
			return false
		}
	}
	return true
}

func (d *diver) add(from *solver, c *Column) {
	node := c.Node
	if d.numbers != nil {
		node = d.numbers[node]
	}
	d.chosen = append(d.chosen, Column{Node: node, Counts: c.Counts})
	d.price += d.Nodes[node].Price
	for k, count := range c.Counts {
		d.left[k] -= min(count, d.left[k])
	}
	for _, use := range from.Nodes[c.Node].Uses {
		d.limits[use.Limit] -= use.Amount
	}
}

// rest is the problem of the units that are left.
func (d *diver) rest(upper float64) *Problem {
	p := &Problem{
		Kinds: slices.Clone(d.Kinds), Limits: slices.Clone(d.limits), Upper: upper - d.price,
		Work: int(diveStep * float64(d.Work)),
	}
	for k, count := range d.left {
		p.Kinds[k].Count = count
	}
	if d.numbers = d.numbers[:0]; d.numbers == nil {
		d.numbers = make([]int, 0, len(d.nodes))
	}
	at := make([]int, len(d.Nodes))
	for i := range d.nodes {
		at[d.nodes[i].at] = i + 1
		d.numbers = append(d.numbers, d.nodes[i].at)
		p.Nodes = append(p.Nodes, d.Nodes[d.nodes[i].at])
	}
	for _, c := range d.columns {
		if i := at[c.Node]; i > 0 {
			p.Start = append(p.Start, Column{Node: i - 1, Counts: c.Counts})
		}
	}
	return p
}
