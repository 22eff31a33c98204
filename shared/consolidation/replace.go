package consolidation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

const (
	// rooms is how many nodes with room are shown to the planner beside a few that leave.
	rooms = 24
	// workLimit bounds what the planner is asked in search of one plan: see cost. It is some two to three seconds of a processor of today. No more than a roundPart of it goes into looking
	// for better ways to put nodes together before the best so far is taken.
	workLimit = 2000
	roundPart = 6
)

// sizes are how many nodes are planned anew at once at most, in turn.
var sizes = [...]int{5, 10, 2, 1}

// cost is what asking the planner takes: reading the instance types, the nodes, the pods.
func cost(others, pods int) int { return 4 + others/20 + pods/32 }

// replace plans nodes anew that cost more than their pods are worth, a few at a time, and reports whether that has changed anything. In each round other nodes come
// together; of the ways to put them together that there is work for the best is taken.
func (f *fleet) replace(round int) bool {
	wasteful := f.wasteful()
	if len(wasteful) == 0 {
		return false
	}
	f.spared = map[*node]bool{}
	for _, n := range wasteful {
		f.spared[n] = true
	}
	size := sizes[round%len(sizes)]
	for _, n := range wasteful {
		size = min(size, f.limit(n.pool.api.Name))
	}
	enough := min(workLimit, f.work+workLimit/roundPart)
	if chunks := f.chunksOf(wasteful, size, uint64(round), 0); f.work+len(chunks)*cost(rooms, 0) > enough {
		// There is work for one way only: each step is made before the next one is planned.
		return f.oneByOne(chunks)
	}
	var best []*step
	most := 0.0
	for variant := 0; variant < f.variants(size) && (variant == 0 || f.work < enough); variant++ {
		var steps []*step
		gain := 0.0
		for _, chunk := range f.chunksOf(wasteful, size, uint64(round), variant) {
			if f.work >= workLimit {
				break
			}
			for _, s := range f.tryAnew(chunk) {
				if s.why == "" {
					steps = append(steps, s)
					gain += s.saved - s.disturbs()
				} else if len(s.leaving) == 1 {
					s.leaving[0].because, s.leaving[0].message = s.because, s.why
				}
			}
		}
		if gain > most+priceError {
			best, most = steps, gain
		}
	}
	return f.applyAll(best)
}

// oneByOne plans the chunks anew one after the other, and reports whether that has changed anything.
func (f *fleet) oneByOne(chunks [][]*node) bool {
	changed := false
	for _, chunk := range chunks {
		if f.work >= workLimit {
			break
		}
		for _, s := range f.tryAnew(chunk) {
			if s.why == "" {
				changed = f.apply(s) || changed
			} else if len(s.leaving) == 1 {
				s.leaving[0].because, s.leaving[0].message = s.because, s.why
			}
		}
	}
	return changed
}

// applyAll makes steps that were each planned as if it were the only one. Where one counts on what an earlier one has changed it is planned once more.
func (f *fleet) applyAll(steps []*step) bool {
	changed := map[*node]bool{}
	for _, s := range steps {
		fresh := []*step{s}
		if len(changed) > 0 && s.dependsOn(changed) {
			fresh = f.tryAnew(s.leaving)
		}
		for _, s := range fresh {
			if s.why != "" || !f.apply(s) {
				continue
			}
			for _, n := range s.leaving {
				changed[n] = true
			}
			for _, to := range s.to {
				changed[to.node] = true
			}
		}
	}
	return len(changed) > 0
}

// dependsOn tells whether the step is not sure to be as it was planned after those nodes have changed.
func (s *step) dependsOn(changed map[*node]bool) bool {
	for _, to := range s.to {
		if to.node != nil && changed[to.node] {
			return true
		}
	}
	return isBound(s.leaving)
}

// disturbs is what the step's disturbance counts for in US dollars an hour.
func (s *step) disturbs() float64 {
	sum := 0.0
	for _, n := range s.leaving {
		sum += n.pool.perPod * n.disturbance()
	}
	return sum
}

// wasteful are the candidates whose pods might cost enough less elsewhere, by what they are worth: the most wasteful for its disturbance first, pool by pool.
func (f *fleet) wasteful() []*node {
	var found []*node
	key := map[*node]float64{}
	for _, n := range f.nodes {
		if !n.candidate || n.removed || len(n.pods) == 0 {
			continue
		}
		if waste := n.price - n.worth(); waste > priceError && waste >= n.least() {
			found = append(found, n)
			key[n] = waste / (1 + n.disturbance())
		}
	}
	slices.SortFunc(found, func(a, b *node) int {
		return cmp.Or(strings.Compare(a.pool.api.Name, b.pool.api.Name), -cmp.Compare(key[a], key[b]), strings.Compare(a.name, b.name))
	})
	return found
}

// variants is in how many ways nodes are put together, so many at a time. In a large fleet they come as they are sorted: those that bring much for their disturbance apart from those that bring little.
func (f *fleet) variants(size int) int {
	if size == 1 || f.large {
		return 1
	}
	return 4
}

// chunksOf puts the nodes together, so many at a time, pools apart: each with some far from it, neighbours, or as they come when they are shuffled. Nodes that a move
// could not take together are not put together.
func (f *fleet) chunksOf(nodes []*node, size int, round uint64, variant int) [][]*node {
	var chunks [][]*node
	random := rand.New(rand.NewPCG(round, uint64(variant)))
	for start := 0; start < len(nodes); {
		end := start
		for end < len(nodes) && nodes[end].pool == nodes[start].pool {
			end++
		}
		of := slices.Clone(nodes[start:end])
		count := (len(of) + size - 1) / size
		switch {
		case variant > 1 || variant > 0 && round >= uint64(len(sizes)):
			random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		case variant == 0 && !f.large:
			of = of[:0]
			for i := range count {
				for at := start + i; at < end; at += count {
					of = append(of, nodes[at])
				}
			}
		}
		chunks = append(chunks, f.fittingChunks(of, size)...)
		start = end
	}
	return chunks
}

// openChunks is how many chunks wait at once for a node that fits.
const openChunks = 8

// fittingChunks takes the nodes in turn, each to the first chunk that it can go with.
func (f *fleet) fittingChunks(nodes []*node, size int) [][]*node {
	var chunks [][]*node
	var open []int
	for _, n := range nodes {
		at := slices.IndexFunc(open, func(i int) bool {
			_, fits := f.together(&step{leaving: append(slices.Clip(chunks[i]), n)})
			return fits
		})
		if at < 0 {
			if _, fits := f.together(&step{leaving: []*node{n}}); !fits {
				continue
			}
			if len(open) == openChunks {
				open = open[1:]
			}
			at = len(open)
			open = append(open, len(chunks))
			chunks = append(chunks, nil)
		}
		chunk := open[at]
		if chunks[chunk] = append(chunks[chunk], n); len(chunks[chunk]) == size {
			open = slices.Delete(open, at, at+1)
		}
	}
	return chunks
}

// tryAnew asks the planner for other nodes for the pods of some, beside what room there is. It asks once about the same nodes as long as nothing changes.
func (f *fleet) tryAnew(chunk []*node) []*step {
	leaving := map[*node]bool{}
	pods := 0
	names := []string{fmt.Sprint(f.spared != nil)}
	for _, n := range chunk {
		leaving[n] = true
		names = append(names, n.name)
		pods += len(n.pods)
	}
	slices.Sort(names)
	key := strings.Join(names, " ")
	if known, tried := f.tried[key]; tried {
		return known
	}
	others := ordered(f.roomiest(f.others(leaving), chunk))
	f.work += cost(len(others), pods)
	f.tried[key] = f.evaluate(chunk, others, true)
	return f.tried[key]
}

// roomiest are the nodes that waste most, of those on which a pod of the chunk fits, and those that its pods are bound to.
func (f *fleet) roomiest(others, chunk []*node) []*node {
	keep := map[*node]bool{}
	if isBound(chunk) {
		keep = f.concerned(others, chunk)
	}
	var found []*node
	for _, n := range others {
		if n.launched != nil || f.spared[n] {
			continue
		}
		free := f.freeOf(n)
		if slices.ContainsFunc(chunk, func(from *node) bool {
			return slices.ContainsFunc(from.pods, func(p *pod) bool { return free.holds(p.takes) })
		}) {
			found = append(found, n)
		}
	}
	slices.SortStableFunc(found, func(a, b *node) int { return -cmp.Compare(a.price-a.worth(), b.price-b.worth()) })
	for _, n := range found[:min(len(found), rooms)] {
		keep[n] = true
	}
	return slices.DeleteFunc(others, func(n *node) bool { return !keep[n] })
}
