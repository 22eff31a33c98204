package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// Spot capacity fails by pools of an instance type and a zone. Of the instances of a pool that were
// interrupted together, more than 92 % were so within three minutes, in a study of 336,000
// requests. https://arxiv.org/abs/2604.16457
const (
	together       = 0.92
	togetherWithin = 3 * time.Minute
	// leastReturn and mostReturn are how long the pool has no capacity after that.
	leastReturn, mostReturn = 4 * time.Minute, 8 * time.Minute
	// warning is how long before an interruption EC2 announces it.
	warning = 2 * time.Minute
)

// spotPool is a pool of spot capacity.
type spotPool struct{ instanceType, zone string }

// takeBack lets EC2 take spot instances back: those of a pool together, and some alone.
func (r *Run) takeBack() {
	r.engine.Every(20*time.Second, 20*time.Second, r.takeBackSome)
	for n := range r.weather.spotFailures {
		name := fmt.Sprintf("spot-failure-%d", n)
		left := time.Until(r.weather.ends.Add(-togetherWithin))
		r.engine.In(r.engine.Between(0, left, name, "begins"), func() { r.failPool(name) })
	}
}

// failPool takes a pool's capacity away, and soon most of its instances.
func (r *Run) failPool(name string) {
	e := r.engine
	failing, found := r.chosenPool(name)
	if !found || !r.weather.happens(1, "spot-pool", name) {
		return
	}
	r.trace("EC2 has no spot %s in %s", failing.instanceType, failing.zone)
	r.ec2.Starve(ec2.Starvation{InstanceType: failing.instanceType, Zone: failing.zone, CapacityType: ec2.Spot})
	short := e.Between(0, time.Minute, name, "short")
	for _, instance := range r.copied() {
		m := r.machines[instance.ID]
		if !r.mayTake(&instance) || poolOf(&instance) != failing || !e.Chance(together, instance.ID, name) {
			continue
		}
		e.In(short+e.Between(0, togetherWithin, instance.ID, name, "when"), func() {
			if !m.off && !m.warned && r.weather.bad() {
				r.interrupt(m)
			}
		})
	}
	e.In(short+togetherWithin+e.Between(leastReturn, mostReturn, name, "returns"), func() {
		r.trace("EC2 has spot %s in %s again", failing.instanceType, failing.zone)
		r.ec2.Feed(failing.instanceType, failing.zone, ec2.Spot)
	})
}

// chosenPool is one of the pools that have instances, or none.
func (r *Run) chosenPool(name string) (chosen spotPool, found bool) {
	var pools []spotPool
	for _, instance := range r.copied() {
		if r.mayTake(&instance) {
			pools = append(pools, poolOf(&instance))
		}
	}
	slices.SortFunc(pools, func(a, b spotPool) int {
		return cmp.Or(strings.Compare(a.instanceType, b.instanceType), strings.Compare(a.zone, b.zone))
	})
	if len(pools) == 0 {
		return spotPool{}, false
	}
	return pools[r.engine.Number(0, len(pools)-1, name, "which")], true
}

func poolOf(i *ec2.Instance) spotPool { return spotPool{i.InstanceType, i.Zone} }

// mayTake reports whether EC2 may take the instance back, and has not begun to.
func (r *Run) mayTake(i *ec2.Instance) bool {
	m := r.machines[i.ID]
	return m != nil && !m.off && !m.warned && i.CapacityType == ec2.Spot
}

// takeBackSome takes back the instances whose time alone has come.
func (r *Run) takeBackSome() {
	for _, instance := range r.copied() {
		m := r.machines[instance.ID]
		if r.mayTake(&instance) && m.doomed && time.Since(instance.Launched) >= m.lasts && r.weather.bad() {
			r.interrupt(m)
		}
	}
}

// interrupt takes the instance of a machine back, after a warning.
func (r *Run) interrupt(m *machine) {
	m.doomed, m.warned = true, true
	r.stale()
	r.trace("EC2 takes back %s in %s", m.instance.ID, warning)
	if err := r.ec2.Interrupt(m.instance.ID, warning); err != nil {
		r.trace("EC2 cannot take back %s: %v", m.instance.ID, err)
	}
}
