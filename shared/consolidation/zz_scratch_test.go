package consolidation_test

import (
	"fmt"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func scratchTypes(t testing.TB) []catalog.InstanceType {
	types := catalog.Resolve(catalogtest.Snapshot(t), catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now)
	return slices.DeleteFunc(types, func(t catalog.InstanceType) bool {
		category := t.Requirements[api.LabelInstanceCategory]
		usual := category.Has("c") || category.Has("m") || category.Has("r")
		return t.Exotic || !usual || !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Available })
	})
}
func TestScratch(t *testing.T) {
	sizes := []int{100, 500}
	if v := os.Getenv("SIZE"); v != "" {
		n, _ := strconv.Atoi(v)
		sizes = []int{n}
	}
	types := scratchTypes(t)
	for _, fleet := range consolidationtest.Fleets() {
		if v := os.Getenv("FLEET"); v != "" && v != fleet.Name {
			continue
		}
		for _, size := range sizes {
			s := fleet.Make(size, types)
			pods := 0
			all := *s
			for _, n := range s.Nodes {
				pods += len(n.Pods)
				all.Pods = append(all.Pods, n.Pods...)
			}
			all.Nodes = nil
			ideal := 0.0
			for _, w := range plan.Worth(&all) {
				ideal += w
			}
			fresh := plan.Solve(&all).PricePerHour
			moved, nodes, launched, before := 0, 0, 0, consolidationtest.Price(s)
			for run := range 4 {
				start := cpu()
				p := consolidation.Solve(&consolidation.Snapshot{Cluster: s, Now: consolidationtest.Now.Add(time.Duration(run) * time.Hour)})
				took := cpu() - start
				biggest := 0
				wrong := 0
				for i := range p.Moves {
					m := &p.Moves[i]
					moved += m.PodsMoved
					nodes += len(m.Delete)
					launched += len(m.Launch)
					biggest = max(biggest, len(m.Delete))
					if size <= 100 && os.Getenv("CHECK") != "" {
						w := consolidationtest.CheckMove(s, m)
						if len(w) > 0 && wrong == 0 {
							fmt.Println("   WRONG", w[0])
						}
						wrong += len(w)
					}
					s = consolidationtest.CarryOut(s, m, fmt.Sprintf("run%d-%d", run, i), consolidationtest.Now.Add(time.Duration(run)*time.Hour))
				}
				fmt.Printf("%s %d run %d: %v moves %d (biggest %d) price %.3f -> %.3f (said %.3f) bound %.3f fresh %.3f pods %d moved %d nodes -%d +%d wrong %d\n", fleet.Name, size, run, took.Round(time.Millisecond), len(p.Moves), biggest, before, consolidationtest.Price(s), p.AfterPerHour, ideal, fresh, pods, moved, nodes, launched, wrong)
				if len(p.Moves) == 0 {
					break
				}
			}
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
