package snapshot

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// addExtras adds the extras of each pool's nodes to the prices of the pool's types. Pools of equal
// types and extras go on to share a list, which planner and consolidation read once.
func addExtras(
	pools []api.NodePool, types map[string][]catalog.InstanceType, extras func(*api.NodePool) float64,
) {
	type key struct {
		first  *catalog.InstanceType
		count  int
		extras float64
	}
	made := map[key][]catalog.InstanceType{}
	for i := range pools {
		list := types[pools[i].Name]
		if len(list) == 0 {
			continue
		}
		k := key{&list[0], len(list), extras(&pools[i])}
		if _, has := made[k]; !has {
			made[k] = catalog.WithExtras(list, k.extras)
		}
		types[pools[i].Name] = made[k]
	}
}

// addRisk adds what interruptions cost each pool to the prices of the pool's spot offerings. Pools
// of equal types and costs go on to share a list.
func addRisk(pools []api.NodePool, types map[string][]catalog.InstanceType, rates map[string]float64) {
	if len(rates) == 0 {
		return
	}
	type key struct {
		first *catalog.InstanceType
		count int
		cost  float64
	}
	made := map[key][]catalog.InstanceType{}
	for i := range pools {
		list := types[pools[i].Name]
		if len(list) == 0 {
			continue
		}
		cost, _ := pools[i].InterruptionCost()
		k := key{&list[0], len(list), -1}
		if cost != nil {
			k.cost = *cost
		}
		if _, has := made[k]; !has {
			made[k] = catalog.WithRisk(list, catalog.Risk{Rates: rates, Cost: cost})
		}
		types[pools[i].Name] = made[k]
	}
}
