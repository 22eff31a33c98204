package bill

import (
	"fmt"
	"testing"

	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
)

func TestTrace(t *testing.T) {
	m := newMonth(t, 6)
	c := &cluster{month: m}
	for _, r := range m.facts.Reserved {
		fmt.Println("RI", r.InstanceType, r.Count, r.Zone, r.Start, r.End)
	}
	for _, r := range m.facts.Plans {
		fmt.Println("SP", r.Family, r.PerHour, r.Start, r.End)
	}
	for hour := 0; hour < 720; hour += 8 {
		before := c.evicted
		if err := c.live(hour); err != nil {
			t.Fatal(err)
		}
		if c.evicted-before > 100 {
			fmt.Println("hour", hour, c.evicted-before)
			for round := range 4 {
				s := c.snapshot(hour, nil)
				a := commitment.Apply(c.facts, c.instances(hour), c.at(hour))
				for _, st := range a.Stocks {
					fmt.Printf("  stock %s %s total %d used %d own %d\n", st.ID, st.Zone, st.Total, st.Used, st.Own)
				}
				for i := range s.Nodes {
					l := s.Nodes[i].NodeClaim.Labels
					fmt.Printf("   node %s %s %s %s pods %d paid %.3f\n", s.Nodes[i].NodeClaim.Name, l["node.kubernetes.io/instance-type"], l["topology.kubernetes.io/zone"], l["karpenter.sh/capacity-type"], len(s.Nodes[i].Pods), s.Nodes[i].Paid)
				}
				budget := max(1, (len(s.Nodes)+9)/10)
				moves := consolidation.Solve(&consolidation.Input{Cluster: s, Now: c.at(hour), Allowed: map[string]consolidation.Allowance{c.pool.Name: {Empty: len(s.Nodes), Underutilized: budget}}}).Moves
				b, _ := c.bill(hour)
				fmt.Println(" round", round, "moves", len(moves), "bill", b)
				for i := range moves {
					c.number++
					mv := moves[i]
					fmt.Printf("   move saves %v", mv.SavingsPerDisturbance())
					for _, d := range mv.Delete {
						fmt.Printf(" -%s", d.NodeClaim)
					}
					for _, l := range mv.Launch {
						fmt.Printf(" +%s %s %s %v", l.Offerings[0].InstanceType, l.Offerings[0].Zone, l.Offerings[0].Commitment, l.Offerings[0].Price)
					}
					fmt.Println()
					s.Nodes = consolidationtest.CarryOut(s, &mv, fmt.Sprintf("moved-%d", c.number), c.at(hour).Add(-3600e9)).Nodes
				}
				c.nodes = s.Nodes
			}
			return
		}
	}
}
