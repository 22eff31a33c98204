package consolidation

import (
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// step is a change of the fleet: nodes whose pods go elsewhere.
type step struct {
	leaving  []*node
	launches []*plan.PlannedNodeClaim
	// to is, by the pod's name, where its pods go: a node, or a launch's number.
	to map[string]destination
	// saved is in US dollars an hour, each launch at its cheapest offering; least is what it has to be.
	saved, least float64
	// why is why it is not to be made; "" if it is.
	why     string
	because Because
}

type destination struct {
	node   *node
	launch int
}

// evaluate asks the planner for places for the pods of the leaving nodes, and takes what it says apart into steps that do not depend on each other. Others are
// filled in their order.
func (f *fleet) evaluate(leaving, others []*node, launch bool) []*step {
	decided := f.ask(leaving, others, launch)
	owner := map[string]int{}
	for i, n := range leaving {
		for _, pod := range n.pods {
			owner[pod.ref.String()] = i
		}
	}
	// Nodes whose pods share a new node go together.
	together := newUnion(len(leaving))
	for i := range decided.NodeClaims {
		pods := decided.NodeClaims[i].Pods
		for _, pod := range pods[1:] {
			together.join(owner[pods[0].String()], owner[pod.String()])
		}
	}
	steps := map[int]*step{}
	var ordered []*step
	for i, n := range leaving {
		s := steps[together.of(i)]
		if s == nil {
			s = &step{to: map[string]destination{}}
			steps[together.of(i)] = s
			ordered = append(ordered, s)
		}
		s.leaving = append(s.leaving, n)
	}
	stepOf := func(pod plan.PodRef) *step { return steps[together.of(owner[pod.String()])] }
	byName := map[string]*node{}
	for _, n := range others {
		byName[n.name] = n
	}
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		s := stepOf(planned.Pods[0])
		for _, pod := range planned.Pods {
			s.to[pod.String()] = destination{launch: len(s.launches)}
		}
		s.launches = append(s.launches, planned)
	}
	for _, nomination := range decided.Nominations {
		name := nomination.NodeName
		if name == "" {
			name = nomination.NodeClaimName
		}
		stepOf(nomination.Pod).to[nomination.Pod.String()] = destination{node: byName[name]}
	}
	for _, unplaced := range decided.Unplaced {
		if s := stepOf(unplaced.Pod); s.why == "" {
			s.because, s.why = Needed, fmt.Sprintf("pod %s would find no place elsewhere", unplaced.Pod)
			if launch && len(unplaced.Reasons) > 0 {
				s.why += ": " + unplaced.Reasons[0].String()
			}
		}
	}
	for _, s := range ordered {
		if s.why == "" {
			f.weigh(s)
		}
	}
	return ordered
}

// weigh decides whether the step is worth its while, and keeps of its launches what is cheap enough.
func (f *fleet) weigh(s *step) {
	price, least, cheapest := 0.0, 0.0, 0.0
	spot := true
	for _, n := range s.leaving {
		price += n.price
		least += n.least()
		spot = spot && n.label(api.CapacityTypeLabelKey) == api.CapacityTypeSpot
	}
	for _, launch := range s.launches {
		cheapest += launch.PricePerHour
	}
	s.saved, s.least = price-cheapest, least
	if s.saved < s.least-priceError {
		s.because, s.why = TooLittle, fmt.Sprintf("moving %d pods would save $%.4f an hour, less than the $%.4f that its NodePool asks for", s.moved(), s.saved, s.least)
		if s.saved <= priceError {
			s.because, s.why = Needed, fmt.Sprintf("its %d pods would cost no less elsewhere", s.moved())
		}
		return
	}
	if !f.balanced(s) {
		s.because, s.why = TooLittle, fmt.Sprintf("moving %d pods would save $%.4f an hour, too little of its NodePool's price for the policy Balanced", s.moved(), s.saved)
		return
	}
	if cheapest <= 0 {
		return
	}
	for i, launch := range s.launches {
		p := f.pools[launch.NodeClaim.Labels[api.NodePoolLabelKey]]
		toSpot := spot && launch.Offerings[0].CapacityType == api.CapacityTypeSpot
		// What the nodes cost that go is shared out over those that come: however they are bought, they cost no more together.
		kept, err := within(launch, launch.PricePerHour*(price/cheapest)+priceError/float64(len(s.launches)), toSpot, p)
		if err != nil {
			s.because, s.why = Needed, err.Error()
			return
		}
		s.launches[i] = kept
	}
}

// priceError is what sums of prices may be off by, in US dollars an hour.
const priceError = 1e-9

func (s *step) moved() int {
	pods := 0
	for _, n := range s.leaving {
		pods += len(n.pods)
	}
	return pods
}

// union joins numbers into sets.
type union []int

func newUnion(n int) union {
	u := make(union, n)
	for i := range u {
		u[i] = i
	}
	return u
}

func (u union) of(i int) int {
	for u[i] != i {
		u[i] = u[u[i]]
		i = u[i]
	}
	return i
}

func (u union) join(i, j int) {
	if a, b := u.of(i), u.of(j); a < b {
		u[b] = a
	} else {
		u[a] = b
	}
}
