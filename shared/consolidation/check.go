package consolidation

import (
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
)

// Check gives the move that takes away the nodes of these claims as the cluster is now: what may have been proposed on an earlier snapshot. Its launches are planned anew.
// The error says why they are not to go: one of them may not any more, the budgets do not allow it, or it is not worth its while.
func Check(s *Snapshot, claims []string) (*Move, error) {
	f := newFleet(s)
	byClaim := map[string]*node{}
	for _, n := range f.nodes {
		if n.source.NodeClaim != nil {
			byClaim[n.source.NodeClaim.Name] = n
		}
	}
	leaving := map[*node]bool{}
	var nodes []*node
	empty := true
	for _, name := range claims {
		n := byClaim[name]
		switch {
		case n == nil:
			return nil, fmt.Errorf("nodeclaim %q is gone", name)
		case !n.candidate:
			return nil, fmt.Errorf("nodeclaim %q stays: %s", name, n.message)
		case leaving[n]:
			continue
		}
		leaving[n] = true
		nodes = append(nodes, n)
		empty = empty && n.empty()
	}
	whole := f.whole(nodes, leaving)
	if whole.why != "" {
		return nil, fmt.Errorf("%s", whole.why)
	}
	f.make(whole, &group{})
	moves := f.moves()
	if len(moves) != 1 {
		return nil, fmt.Errorf("there is no node to take away")
	}
	if empty {
		moves[0].Reason = api.DisruptionReasonEmpty
	} else {
		moves[0].Reason = api.DisruptionReasonUnderutilized
	}
	if _, waiting := withinBudgets(moves, s.Allowed); len(waiting) > 0 {
		return nil, fmt.Errorf("the disruption budgets of its NodePool do not allow it now")
	}
	return &moves[0], nil
}

// whole is what taking the nodes away comes to as one step: without new nodes if the others have room for their pods.
func (f *fleet) whole(nodes []*node, leaving map[*node]bool) *step {
	others := f.inOrder(leaving)
	whole := &step{}
	for _, launch := range []bool{false, true} {
		whole = joined(f.evaluate(nodes, others, launch))
		if whole.because != Needed {
			break
		}
	}
	if whole.why == "" && len(nodes) > 0 {
		f.weigh(whole)
	}
	return whole
}

// joined makes several steps one. What keeps one of them keeps it all, but that it saves too little: that is to be seen of all together.
func joined(steps []*step) *step {
	all := &step{to: map[string]destination{}}
	for _, s := range steps {
		all.leaving = append(all.leaving, s.leaving...)
		for pod, to := range s.to {
			to.launch += len(all.launches)
			all.to[pod] = to
		}
		all.launches = append(all.launches, s.launches...)
		if s.why != "" && s.because != TooLittle && all.why == "" {
			all.because, all.why = s.because, s.why
		}
	}
	return all
}
