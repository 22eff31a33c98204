package consolidation

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// largeFleet is from how many nodes on that may go a fleet is swept. What a smaller one comes to is carried out in a few looks, and its pods are best moved once.
	largeFleet = 200
	// cuts is in how many places those nodes are parted to see which part is best.
	cuts = 25
	// kneePart is how much of the fleet's price the best part must save beyond its share, by what it disturbs, of all that could be saved. With less the fleet is planned as a whole.
	kneePart = 0.1
)

// sweep takes of a large fleet only those nodes away that save most for what it disturbs to move their pods, and reports whether that has changed anything. Their pods fill the room
// on those that stay, and what finds none is planned anew. Within budgets it takes many looks to carry out what a large fleet comes to: what brings most is to come first.
// Nodes that stay now are looked at again once that is done.
func (f *fleet) sweep() bool {
	goes := f.bestPart()
	if len(goes) == 0 {
		return false
	}
	f.spared = map[*node]bool{}
	for _, n := range goes {
		f.spared[n] = true
	}
	changed := f.sweepIntoRoom(goes)
	goes = slices.DeleteFunc(goes, func(n *node) bool { return n.removed })
	return f.oneByOne(f.fittingChunks(goes, f.maximumMove())) || changed
}

// sweepIntoRoom takes those of the nodes away whose pods all find room on nodes that stay.
func (f *fleet) sweepIntoRoom(goes []*node) bool {
	stay := f.inOrder(f.spared)
	packing := f.newPacking(append(slices.Clip(stay), goes...), false)
	for i := range goes {
		packing.open[len(stay)+i] = false
	}
	var fitting []*node
	for i, n := range goes {
		if _, fits := packing.empties(len(stay) + i); fits {
			fitting = append(fitting, n)
		}
	}
	if len(fitting) == 0 {
		return false
	}
	changed := false
	for _, s := range f.evaluate(fitting, stay, false) {
		changed = s.why == "" && f.apply(s) || changed
	}
	return changed
}

// bestPart are the nodes with the highest price for what they disturb, up to where each more saves less for its disturbance than taking all of them does. There are none where
// that is hardly better than all of them, and in a fleet that is not large.
func (f *fleet) bestPart() []*node {
	var found []*node
	key := map[*node]float64{}
	price := 0.0
	for _, n := range f.nodes {
		price += n.price
		if n.candidate && !n.removed && len(n.pods) > 0 && n.least() <= n.price+priceError {
			found = append(found, n)
			key[n] = n.price / (1 + n.disturbance())
		}
	}
	if f.large = len(found) >= largeFleet; !f.large {
		return nil
	}
	slices.SortFunc(found, func(a, b *node) int { return cmp.Or(-cmp.Compare(key[a], key[b]), strings.Compare(a.name, b.name)) })
	saved, disturbs := make([]float64, cuts+1), make([]float64, cuts+1)
	for cut := 1; cut <= cuts; cut++ {
		saved[cut], disturbs[cut] = f.promise(found[:len(found)*cut/cuts])
	}
	best, most := 0, kneePart*price
	for cut := range saved {
		if more := saved[cut] - saved[cuts]*disturbs[cut]/disturbs[cuts]; more > most {
			best, most = cut, more
		}
	}
	return found[:len(found)*best/cuts]
}

// promise is about what it saves in US dollars an hour, and disturbs, if the nodes go: pods that find no room on nodes that stay are paid for anew.
func (f *fleet) promise(goes []*node) (saved, disturbs float64) {
	leaving := map[*node]bool{}
	var pods []*pod
	for _, n := range goes {
		leaving[n] = true
		saved += n.price
		disturbs += 1 + n.disturbance()
		pods = append(pods, n.pods...)
	}
	slices.SortFunc(pods, largestFirst)
	packing := f.newPacking(f.inOrder(leaving), false)
	for _, pod := range pods {
		if packing.place(pod) < 0 {
			saved -= pod.worth / anewPart
		}
	}
	return saved, disturbs
}
