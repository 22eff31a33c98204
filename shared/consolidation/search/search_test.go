package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/eligibility"
	"github.com/whittle-dev/whittle/shared/consolidation/evaluation"
	"github.com/whittle-dev/whittle/shared/consolidation/search"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

func run(s *plan.Snapshot, allowed map[string]int) search.Result {
	f := state.New(s, consolidationtest.Now)
	eligibility.Decide(f, s, nil)
	return search.Run(f, evaluation.New(f), allowed)
}

// movesOf describes each move as "deleted nodes -> launched instance types", sorted.
func movesOf(r search.Result) []string {
	var described []string
	for _, m := range r.Moves {
		var deleted, launched []string
		for _, n := range m.Nodes {
			if n.Launched != nil {
				launched = append(launched, n.Launched.Offerings[0].InstanceType)
			} else {
				deleted = append(deleted, n.Name)
			}
		}
		slices.Sort(launched)
		described = append(described, strings.TrimSpace(strings.Join(deleted, " ")+" -> "+strings.Join(launched, " ")))
	}
	slices.Sort(described)
	return described
}

func staysOf(r search.Result) []string {
	var described []string
	for _, stay := range r.Stays {
		described = append(described, fmt.Sprintf("%s: %s", stay.Node.Name, stay.Reason.Because))
	}
	return described
}

func node(name, instanceType string, cpu ...int64) consolidationtest.Load {
	return consolidationtest.Load{Name: name, InstanceType: instanceType, CPU: cpu}
}

// annotate sets an annotation of the NodePool.
func annotate(key, value string) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.NodePools[0].Annotations = map[string]string{key: value} }
}

// onlyLaunch makes the instance type the only one that can be launched. Nodes keep their prices.
func onlyLaunch(s *plan.Snapshot, instanceType string) {
	for _, typ := range s.InstanceTypes["default"] {
		for i := range typ.Offerings {
			typ.Offerings[i].Available = typ.Name == instanceType
		}
	}
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		name    string
		nodes   []consolidationtest.Load
		change  func(*plan.Snapshot)
		allowed map[string]int
		moves   []string
		stays   []string
	}{
		{
			name:  "a node without pods is deleted in a move of its own",
			nodes: []consolidationtest.Load{node("a", "m5.large", 1800), node("b", "m5.large"), node("c", "m5.large")},
			moves: []string{"b ->", "c ->"},
			stays: []string{"a: TooLittle"},
		},
		{
			name:  "pods move into room that exists before anything is launched",
			nodes: []consolidationtest.Load{node("low", "m5.large", 100), node("roomy", "m5.xlarge", 1700, 1700)},
			moves: []string{"low ->"},
			stays: []string{"roomy: TooLittle"},
		},
		{
			name:  "a node that is too large for its pods is replaced",
			nodes: []consolidationtest.Load{node("large", "m5.4xlarge", 1700)},
			moves: []string{"large -> m5.large"},
		},
		{
			name: "pods of several nodes share a replacement, in one move",
			nodes: []consolidationtest.Load{
				node("a", "m5.4xlarge", 900), node("b", "m5.4xlarge", 900), node("c", "m5.4xlarge", 1700),
			},
			moves: []string{"a b c -> m5.xlarge"},
		},
		{
			name:  "a node of the cheapest type stays",
			nodes: []consolidationtest.Load{node("least", "m5.large", 200)},
			stays: []string{"least: Needed"},
		},
		{
			name:   "a NodePool may require more savings than there are",
			nodes:  []consolidationtest.Load{node("large", "m5.xlarge", 1700)},
			change: annotate(api.MinimumSavingsPercentAnnotationKey, "60"),
			stays:  []string{"large: TooLittle"},
		},
		{
			name:   "the same node is replaced where half of its price is enough",
			nodes:  []consolidationtest.Load{node("large", "m5.xlarge", 1700)},
			change: annotate(api.MinimumSavingsPercentAnnotationKey, "50"),
			moves:  []string{"large -> m5.large"},
		},
		{
			name:   "an ineligible node keeps the reason that it is ineligible for",
			nodes:  []consolidationtest.Load{node("empty", "m5.large")},
			change: annotate(api.SettleTimeAnnotationKey, "soon"),
			stays:  []string{"empty: Policy"},
		},
		{
			name: "no move deletes more nodes than the budget",
			nodes: []consolidationtest.Load{
				node("a", "m5.4xlarge", 1700), node("b", "m5.4xlarge", 1700), node("c", "m5.4xlarge", 1700),
			},
			allowed: map[string]int{"default": 1},
			moves:   []string{"a -> m5.large", "b -> m5.large", "c -> m5.large"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := consolidationtest.Cluster(t, test.nodes...)
			if test.change != nil {
				test.change(s)
			}
			r := run(s, test.allowed)
			if got := movesOf(r); !slices.Equal(got, test.moves) {
				t.Errorf("moves %q, want %q", got, test.moves)
			}
			if got := staysOf(r); !slices.Equal(got, test.stays) {
				t.Errorf("stays %q, want %q", got, test.stays)
			}
			if r.Work > search.WorkLimit {
				t.Errorf("the search used %d of %d", r.Work, search.WorkLimit)
			}
		})
	}
}

// TestALargeFleetIsSwept has nodes whose single pod needs little of them, and nodes with many pods
// that move for small savings. The first plan deletes only the former, at most ten in one move.
func TestALargeFleetIsSwept(t *testing.T) {
	var loads []consolidationtest.Load
	for i := range 200 {
		// The sweep cuts the nodes at 25 places, so that it can tell these 104 from the others.
		if i < 104 {
			loads = append(loads, node(fmt.Sprintf("low-%03d", i), "m5.4xlarge", 900))
		} else {
			loads = append(loads, node(fmt.Sprintf("busy-%03d", i), "m5.xlarge", slices.Repeat([]int64{300}, 12)...))
		}
	}
	s := consolidationtest.Cluster(t, loads...)
	// A launched node holds the pods of sixteen deleted ones.
	onlyLaunch(s, "m5.4xlarge")
	r := run(s, nil)
	deleted := 0
	for _, m := range r.Moves {
		inMove := 0
		for _, n := range m.Nodes {
			switch {
			case n.Launched != nil:
			case strings.HasPrefix(n.Name, "busy"):
				t.Errorf("%s is deleted, which saves little for its disturbance", n.Name)
			default:
				inMove++
			}
		}
		if inMove > 10 {
			t.Errorf("a move deletes %d nodes", inMove)
		}
		deleted += inMove
	}
	if deleted < 100 {
		t.Errorf("%d nodes are deleted, want nearly all of 104", deleted)
	}
}
