package search

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
)

// WorkLimit bounds the work of the questions to the planner in one search: see evaluation.Cost. It
// is about two to three seconds of a current processor.
const WorkLimit = 2000

// Result is the best fleet that the search found.
type Result struct {
	Moves []state.Move
	Stays []Stay
	// Work is what the last search used of WorkLimit.
	Work int
	// Spared are nodes that the last search expected to delete soon. Validation moves no pods
	// there.
	Spared map[*state.Node]bool

	// saved is in US dollars per hour, less the moves' disturbance.
	saved float64
}

// Stay is a node that no move deletes, and why.
type Stay struct {
	Node   *state.Node
	Reason state.Refusal
}

// searcher is one run of the search.
type searcher struct {
	fleet     *state.Fleet
	evaluator *evaluation.Evaluator
	// allowed is the number of further nodes of each NodePool that may be deleted, by its name. Nil
	// sets no limit.
	allowed map[string]int
	// large says that many nodes may be deleted: see sweep.go.
	large bool
	work  int
	// spared are nodes that may soon be deleted. Nil says that nothing is planned again.
	spared map[*state.Node]bool
	// tried caches the answers of replan since the last change, by the names of the nodes.
	tried map[string][]*evaluation.Step
	// refusals has the reasons against steps that delete a single node.
	refusals map[*state.Node]state.Refusal
}

// Run changes the fleet to the cheapest one that it finds. Allowed is the number of further nodes
// that each NodePool's budgets let go. No move deletes more. Nil sets no limit.
func Run(f *state.Fleet, evaluator *evaluation.Evaluator, allowed map[string]int) Result {
	s := &searcher{
		fleet: f, evaluator: evaluator, allowed: allowed,
		tried: map[string][]*evaluation.Step{}, refusals: map[*state.Node]state.Refusal{},
	}
	r := s.run()
	r.Work, r.Spared = s.work, s.spared
	return r
}

// run tries two orders and returns the better result. One order fills existing room first. Its
// pods move in vain if the nodes with room are deleted later. The other order replaces nodes first.
// It moves all pods of a node where moving a few would do. In a large fleet, or if the work allows
// one order only, run tries one.
func (s *searcher) run() Result {
	s.fleet.RemoveEmpty()
	if !slices.ContainsFunc(s.fleet.Nodes, func(n *state.Node) bool { return n.Candidate && !n.Removed }) {
		return s.result()
	}
	s.fleet.ReadDualPrices()
	if s.sweep() {
		return s.result()
	}
	_, roomSavings := s.deletable(nil)
	replacementSavings, pass := 0.0, 0
	for _, n := range s.wasteful() {
		replacementSavings += replacedPart*s.fleet.Waste(n) - n.Pool.PerPod*n.Disturbance()
		pass += evaluation.Cost(shownNodes, len(n.Pods)) / sizes[0]
	}
	replaceFirst, once := replacementSavings > roomSavings, 3*pass > WorkLimit
	if once {
		// Pods in existing room move again if the nodes with room are deleted later.
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
	// replacedPart estimates the part of the waste that replacing nodes saves. New nodes are not
	// full either.
	replacedPart = 0.9
	// alsoTried is the least ratio between the promises of the two orders at which run tries both.
	alsoTried = 0.4
)

// walk applies steps until it finds no more, or the work budget is spent.
func (s *searcher) walk(replaceFirst bool) {
	failed := map[*state.Node]bool{}
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

// apply applies the step. If the move would delete too many nodes, it changes nothing and returns
// false.
func (s *searcher) apply(step *evaluation.Step) bool {
	if !s.fits(&step.Change) {
		return false
	}
	clear(s.tried)
	s.fleet.Apply(&step.Change)
	return true
}

// maximumMove is the maximum number of nodes that a move deletes. Larger moves give a cheaper fleet
// and move fewer pods twice, but they are harder to carry out.
const maximumMove = 20

// maximumMove is the limit for this fleet. A large fleet has half of the constant, so that moves
// with high and low savings per disturbance stay apart.
func (s *searcher) maximumMove() int {
	if s.large {
		return maximumMove / 2
	}
	return maximumMove
}

// limit is the maximum number of the pool's nodes that one move may delete.
func (s *searcher) limit(pool string) int {
	if s.allowed == nil {
		return s.maximumMove()
	}
	return max(1, min(s.allowed[pool], s.maximumMove()))
}

// fits tells whether the change keeps its move within the limits. The move includes the earlier
// steps that the change joins.
func (s *searcher) fits(c *state.Change) bool {
	all := 0
	for pool, count := range c.Deletes() {
		all += count
		if count > s.limit(pool) {
			return false
		}
	}
	return all <= s.maximumMove()
}

// result has the moves of all steps so far, and their savings.
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
