package search

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/fleet"
)

// WorkLimit bounds the work of the questions to the planner in one search: see evaluation.Cost. It
// is about two to three seconds of a current processor.
const WorkLimit = 2000

// Result is the best fleet that the search found.
type Result struct {
	Moves []fleet.Move
	Stays []Stay
	// Work is what the last search used of WorkLimit.
	Work int
	// Spared are nodes that the last search expected to delete soon. Validation moves no pods
	// there.
	Spared map[*fleet.Node]bool

	// saved is in US dollars per hour, less the moves' disturbance.
	saved float64
}

// Stay is a node that no move deletes, and why.
type Stay struct {
	Node   *fleet.Node
	Reason fleet.Refusal
}

// searcher is one run of the search.
type searcher struct {
	fleet     *fleet.Fleet
	evaluator *evaluation.Evaluator
	// allowed is how many more nodes of a NodePool may be deleted, by the pool's name. Nil is no
	// limit.
	allowed map[string]int
	// large says that many nodes may be deleted: see sweep.go.
	large bool
	work  int
	// spared are nodes that may soon be deleted. Nil says that nothing is planned again.
	spared map[*fleet.Node]bool
	// tried is what planning nodes again came to since the last change, by the nodes' names.
	tried map[string][]*evaluation.Step
	// refusals are why steps that delete a single node were not made.
	refusals map[*fleet.Node]fleet.Refusal
}

// Run changes the fleet to the cheapest that it finds. Allowed is how many more nodes of each
// NodePool the budgets let go, or nil: no move deletes more.
func Run(f *fleet.Fleet, evaluator *evaluation.Evaluator, allowed map[string]int) Result {
	s := &searcher{
		fleet: f, evaluator: evaluator, allowed: allowed,
		tried: map[string][]*evaluation.Step{}, refusals: map[*fleet.Node]fleet.Refusal{},
	}
	r := s.run()
	r.Work, r.Spared = s.work, s.spared
	return r
}

// run tries two ways and gives the better result. One fills the existing room first: its pods move
// for nothing where the nodes with room are deleted later. The other replaces nodes first: it moves
// all pods of a node where moving a few would do. In a large fleet, and where there is work for one
// way only, it tries one.
func (s *searcher) run() Result {
	s.fleet.RemoveEmpty()
	if !slices.ContainsFunc(s.fleet.Nodes, func(n *fleet.Node) bool { return n.Candidate && !n.Removed }) {
		return s.result()
	}
	s.fleet.ReadDualPrices()
	if s.sweep() {
		return s.result()
	}
	_, roomSavings := s.deletable(nil)
	replacementSavings, pass := 0.0, 0
	for _, n := range s.wasteful() {
		replacementSavings += replacedPart*(n.Price-n.DualPrice()) - n.Pool.PerPod*n.Disturbance()
		pass += evaluation.Cost(shownNodes, len(n.Pods)) / sizes[0]
	}
	replaceFirst, once := replacementSavings > roomSavings, 3*pass > WorkLimit
	if once {
		// Pods that move into existing room move again where the nodes with room are deleted later.
		replaceFirst = replacementSavings > alsoTried*roomSavings
	}
	s.walk(replaceFirst)
	best := s.result()
	lesser, greater := min(replacementSavings, roomSavings), max(replacementSavings, roomSavings)
	if once || lesser < alsoTried*greater {
		return best
	}
	s.reset()
	s.fleet.RemoveEmpty()
	s.walk(!replaceFirst)
	if other := s.result(); other.saved > best.saved+evaluation.PriceError {
		best = other
	}
	return best
}

const (
	// replacedPart is about the part of the waste that replacing nodes saves. Pods do not fill new
	// nodes completely either.
	replacedPart = 0.9
	// alsoTried is the part of the better way's promise from which on the other way is tried too.
	alsoTried = 0.4
)

// walk makes steps until no more are found, or the work budget is spent.
func (s *searcher) walk(replaceFirst bool) {
	failed := map[*fleet.Node]bool{}
	for round, idle := 0, 0; idle < len(sizes) && s.work < WorkLimit; round++ {
		idle++
		if !replaceFirst || round > 0 {
			for s.delete(failed) {
				idle = 0
			}
		}
		if s.replace(round) || s.fold() {
			idle = 0
		}
	}
	if replaceFirst && s.work >= WorkLimit && s.fleet.HasLaunched() {
		// The other nodes are replaced in a later plan. Pods that moved to them now would move
		// twice.
		return
	}
	for s.delete(failed) {
	}
}

// reset takes all steps back.
func (s *searcher) reset() {
	s.fleet.Reset()
	clear(s.tried)
	s.work = 0
}

// apply makes the step. If its move would delete too many nodes it changes nothing and reports
// false.
func (s *searcher) apply(step *evaluation.Step) bool {
	if !s.fits(&step.Change) {
		return false
	}
	clear(s.tried)
	s.fleet.Apply(&step.Change)
	return true
}

// maximumMove is how many nodes a move deletes at most. More nodes planned together come out
// cheaper and have fewer pods moved twice. A larger move is harder to carry out.
const maximumMove = 20

// maximumMove is how many nodes a move of this fleet deletes at most. In a large fleet it is half
// as many, so that moves with high and low savings for their disturbance stay apart.
func (s *searcher) maximumMove() int {
	if s.large {
		return maximumMove / 2
	}
	return maximumMove
}

// limit is how many nodes of the pool one move may delete.
func (s *searcher) limit(pool string) int {
	if s.allowed == nil {
		return s.maximumMove()
	}
	return max(1, min(s.allowed[pool], s.maximumMove()))
}

// fits tells whether the move that the change becomes part of deletes few enough nodes.
func (s *searcher) fits(c *fleet.Change) bool {
	all := 0
	for pool, count := range c.Deletes() {
		all += count
		if count > s.limit(pool) {
			return false
		}
	}
	return all <= s.maximumMove()
}

// result is what the steps so far come to.
func (s *searcher) result() Result {
	r := Result{Moves: s.fleet.Moves(), Stays: s.stays()}
	for _, n := range s.fleet.Nodes {
		switch {
		case n.Launched != nil && !n.Removed:
			r.saved -= n.Price
		case n.Launched == nil && n.Removed:
			r.saved += n.Price
			for _, pod := range n.Original() {
				r.saved -= n.Pool.PerPod * pod.EvictionCost
			}
		}
	}
	return r
}
