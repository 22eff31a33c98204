package evaluation

import (
	"fmt"

	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// PriceError is the tolerance for sums of prices, in US dollars per hour.
const PriceError = 1e-9

// Step is a change of the fleet, or the reason why it is not made.
type Step struct {
	state.Change
	// Saved is in US dollars per hour, with each launch at its cheapest offering.
	Saved float64
	// Refusal is zero if the step is to be made.
	Refusal state.Refusal
}

// Options say how Evaluate may place pods.
type Options struct {
	// Launch says that new nodes may be launched.
	Launch bool
	// Spared are nodes that may soon be deleted themselves. With Launch no pod moves there.
	Spared map[*state.Node]bool
	// Closed are nodes to which no pod moves in any case.
	Closed map[*state.Node]bool
}

// Evaluator evaluates steps on one fleet.
type Evaluator struct {
	fleet  *state.Fleet
	totals map[*state.Pool]poolTotals
	shown  map[*state.Node]shownNode
	// respects is set if preferences count, and avoided if a node has a taint that pods avoid if they
	// can.
	respects, avoided bool
	// apart is nil where steps may bring replicas together.
	apart *apartness
}

// New reads the pools' totals, which the policy Balanced compares steps with, from the fleet. No
// step may have been applied yet.
func New(f *state.Fleet) *Evaluator {
	totals := readTotals(f)
	return &Evaluator{
		fleet: f, totals: totals, shown: map[*state.Node]shownNode{}, respects: respects(f), avoided: hasAvoided(f),
		apart: readApartness(f, totals),
	}
}

// Cost is the work of one question to the planner that shows so many nodes and places so many pods.
// The fixed part is for reading the instance types.
func Cost(nodes, pods int) int { return 4 + nodes/20 + pods/32 }

// Evaluate asks the planner for places for the pods of the leaving nodes, and splits the plan into
// independent steps. Pods fill the others in the given order.
func (e *Evaluator) Evaluate(leaving, others []*state.Node, o Options) []*Step {
	decided := e.ask(leaving, others, o)
	owner := map[string]int{}
	for i, n := range leaving {
		for _, pod := range n.Pods {
			owner[pod.Ref.String()] = i
		}
	}
	steps, ordered := newSteps(leaving, owner, decided)
	stepOf := func(pod plan.PodRef) *Step { return steps[owner[pod.String()]] }
	fillIn(stepOf, others, decided)
	for _, unplaced := range decided.Unplaced {
		if s := stepOf(unplaced.Pod); s.Refusal.IsZero() {
			s.Refusal = state.Refusal{
				Because: state.Needed, Message: fmt.Sprintf("pod %s would find no place elsewhere", unplaced.Pod),
			}
			if o.Launch && len(unplaced.Reasons) > 0 {
				s.Refusal.Message += ": " + unplaced.Reasons[0].String()
			}
		}
	}
	for _, s := range ordered {
		if len(s.Launch) > 0 && !o.Launch && s.Refusal.IsZero() {
			s.Refusal = state.Refusal{Because: state.Needed, Message: fmt.Sprintf(
				"pod %s would get a new node, for a preference or a spread", s.Launch[0].Pods[0])}
		}
		if s.Refusal.IsZero() {
			e.weigh(s)
		}
	}
	return ordered
}

// newSteps makes one step for each set of nodes whose pods share new nodes. It returns each leaving
// node's step by the number of the node, and the steps in the order of the nodes. Owner has the
// number of each pod's node.
func newSteps(leaving []*state.Node, owner map[string]int, decided *plan.Plan) (of, ordered []*Step) {
	together := newUnion(len(leaving))
	for i := range decided.NodeClaims {
		pods := decided.NodeClaims[i].Pods
		for _, pod := range pods[1:] {
			together.join(owner[pods[0].String()], owner[pod.String()])
		}
	}
	of = make([]*Step, len(leaving))
	for i, n := range leaving {
		// The first node of a set is its root.
		root := together.root(i)
		if of[root] == nil {
			of[root] = &Step{Change: state.Change{To: map[string]state.Destination{}}}
			ordered = append(ordered, of[root])
		}
		of[i] = of[root]
		of[i].Delete = append(of[i].Delete, n)
	}
	return of, ordered
}

// fillIn writes into the steps what they launch and where their pods go.
func fillIn(stepOf func(plan.PodRef) *Step, others []*state.Node, decided *plan.Plan) {
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		s := stepOf(planned.Pods[0])
		for _, pod := range planned.Pods {
			s.To[pod.String()] = state.Destination{Launch: len(s.Launch)}
		}
		s.Launch = append(s.Launch, planned)
	}
	byName := map[string]*state.Node{}
	for _, n := range others {
		byName[n.Name] = n
	}
	for _, nomination := range decided.Nominations {
		name := nomination.NodeName
		if name == "" {
			name = nomination.NodeClaimName
		}
		stepOf(nomination.Pod).To[nomination.Pod.String()] = state.Destination{Node: byName[name]}
	}
}

// Whole evaluates the deletion of all the nodes as one step. It launches nothing if the rest of the
// fleet has room for their pods.
func (e *Evaluator) Whole(nodes []*state.Node, o Options) *Step {
	leaving := map[*state.Node]bool{}
	for _, n := range nodes {
		leaving[n] = true
	}
	others := e.fleet.InFillOrder(leaving)
	whole := &Step{}
	for _, launch := range []bool{false, true} {
		o.Launch = launch
		whole = joined(e.Evaluate(nodes, others, o))
		if whole.Refusal.Because != state.Needed {
			break
		}
	}
	if whole.Refusal.IsZero() && len(nodes) > 0 {
		e.weigh(whole)
	}
	return whole
}

// joined merges steps into one. A refusal of one step refuses all. TooLittle is the exception: it
// has to be decided for all of them together.
func joined(steps []*Step) *Step {
	all := &Step{Change: state.Change{To: map[string]state.Destination{}}}
	for _, s := range steps {
		all.Delete = append(all.Delete, s.Delete...)
		for pod, to := range s.To {
			to.Launch += len(all.Launch)
			all.To[pod] = to
		}
		all.Launch = append(all.Launch, s.Launch...)
		if s.Refusal.Because != state.TooLittle && all.Refusal.IsZero() {
			all.Refusal = s.Refusal
		}
	}
	return all
}

// union joins numbers into sets. A set's root is its least number.
type union []int

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = i
	}
	return u
}

func (u union) root(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(i, j int) {
	if a, b := u.root(i), u.root(j); a < b {
		u[b] = a
	} else {
		u[a] = b
	}
}
