package ec2

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

func TestStrategies(t *testing.T) {
	zone := &subnet{zone: zone{Name: "us-east-1a"}}
	of := func(name string, price, priority float64) *offer {
		return &offer{
			launch: launch{
				facts: &builtin.InstanceType{Name: name, OnDemandPrice: price}, capacityType: OnDemand, subnet: zone,
			},
			priority: priority,
		}
	}
	cheap, preferred, roomy := of("a.large", 0.10, 2), of("b.large", 0.11, 1), of("c.large", 0.12, 3)
	c := newCapacity(0)
	// a.large and b.large are all but used up.
	for _, o := range []*offer{cheap, preferred} {
		c.used[o.launch.pool()] = 2000
	}
	for strategy, want := range map[string]*offer{
		"lowest-price": cheap, "": cheap, "prioritized": preferred, "capacity-optimized": roomy,
	} {
		if got := c.best([]*offer{roomy, preferred, cheap}, strategy); got != want {
			t.Errorf("%q takes %s, want %s", strategy, got.launch.facts.Name, want.launch.facts.Name)
		}
	}
	c.used[preferred.launch.pool()] = -2000 // plenty
	for _, strategy := range []string{"price-capacity-optimized", "capacity-optimized-prioritized"} {
		if got := c.best([]*offer{roomy, preferred, cheap}, strategy); got != preferred {
			t.Errorf("%q takes %s, want %s, which has the room and is hardly dearer", strategy, got.launch.facts.Name,
				preferred.launch.facts.Name)
		}
	}
	cheap.dead, preferred.dead, roomy.dead = true, true, true
	if got := c.best([]*offer{roomy, preferred, cheap}, ""); got != nil {
		t.Errorf("of offers that all failed came %s", got.launch.facts.Name)
	}
}
