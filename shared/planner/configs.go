package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// config is an instance type in a pool: what a node has, whatever its zone and price.
type config struct {
	pool *pool
	typ  *catalog.InstanceType
	// name numbers the type's name: configs of a pool with types of the same name, which come one after the other, have the same number.
	name int
	// free is the allocatable less the daemon sets.
	free vector
	// daemons are the requests of the daemon sets that will run on the node, daemonPorts the node's ports that they take, daemonSum the number of their sum: zero
	// without any.
	daemons     corev1.ResourceList
	daemonPorts []hostPort
	daemonSum   int
	// use is what a node takes of the pool's limits, in their order.
	use []int64
	// columns are those that buy it, cheapest first.
	columns []int
}

// offeringKeys are the labels that the offering decides, not the instance type.
var offeringKeys = [...]string{corev1.LabelTopologyZone, api.LabelTopologyZoneID, api.CapacityTypeLabelKey}

func isOfferingKey(key string) bool {
	return key == offeringKeys[0] || key == offeringKeys[1] || key == offeringKeys[2]
}

// configReader adds the configs of one pool.
type configReader struct {
	p    *offerings
	pool *pool
	// daemons are those that may run on the pool's nodes; selective says that some of them run on some nodes only.
	daemons   []*daemon
	selective bool
	// sums are the daemons that run together, by which of them do.
	sums map[string]*daemonSum
	// wanted are the pool's requirements, offerings what they ask of offerings. mentioned counts, by requirement, the types added that mention its key, last has those of the
	// type looked at last.
	wanted          []scheduling.Requirement
	mentioned, last []int
	// added counts the types, plain says that no offering of theirs has requirements of its own.
	added     int
	plain     bool
	offerings catalog.OfferingRequirements
	// free is memory for the configs' vectors.
	free vector
}

// daemonSum is what daemons that run on the same nodes take together.
type daemonSum struct {
	// index is from one, in order of the configs.
	index    int
	requests corev1.ResourceList
	need     vector
	ports    []hostPort
}

// readConfigs adds the pool's types that its requirements allow, with their available offerings.
func (p *offerings) readConfigs(pool *pool, daemons []*daemon) {
	r := &configReader{
		p: p, pool: pool, daemons: daemonsOf(daemons, pool), sums: map[string]*daemonSum{}, offerings: catalog.ReadOfferingRequirements(pool.requirements),
		free: make(vector, len(p.work.axes.names)*len(pool.types.all)), plain: true,
	}
	r.selective = slices.ContainsFunc(r.daemons, func(d *daemon) bool { return !d.runsAnywhere() })
	for _, requirement := range pool.requirements {
		r.wanted = append(r.wanted, requirement)
	}
	r.mentioned, r.last = make([]int, len(r.wanted)), make([]int, len(r.wanted))
	p.configs = slices.Grow(p.configs, len(pool.types.all))
	if len(pool.types.all) > 0 {
		p.columns = slices.Grow(p.columns, len(pool.types.all[0].Offerings)*len(pool.types.all))
	}
	all := make([]byte, len(r.daemons))
	for i := range all {
		all[i] = 1
	}
	var available []*catalog.Offering
	for _, typ := range pool.types.all {
		if !r.allows(typ) {
			continue
		}
		available = available[:0]
		for i := range typ.Offerings {
			if offering := &typ.Offerings[i]; offering.Available && r.offerings.Allow(offering) && !p.leavesOut(pool, typ, offering) {
				available = append(available, offering)
			}
		}
		switch {
		case len(available) == 0:
		case r.selective:
			r.addSelective(typ, available)
		default:
			r.add(typ, available, all)
		}
	}
	if r.plain && r.added > 0 {
		pool.mentioned = make(map[string]keyFacts, len(r.wanted))
		for i := range r.wanted {
			key := r.wanted[i].Key()
			pool.mentioned[key] = keyFacts{any: r.mentioned[i] > 0 || isOfferingKey(key), all: r.mentioned[i] == r.added || isOfferingKey(key)}
		}
	}
}

// allows reports whether the pool's requirements leave room for the type, its offerings apart.
func (r *configReader) allows(typ *catalog.InstanceType) bool {
	for i := range r.wanted {
		if isOfferingKey(r.wanted[i].Key()) {
			continue // its offerings decide
		}
		have, ok := typ.Requirements[r.wanted[i].Key()]
		if r.last[i] = 0; ok {
			r.last[i] = 1
			if !have.Intersects(r.wanted[i]) {
				return false
			}
		}
	}
	return true
}

// addSelective adds a config for each set of daemons that run on nodes of some of the offerings: where the same daemons run the node is the same.
func (r *configReader) addSelective(typ *catalog.InstanceType, offerings []*catalog.Offering) {
	byDaemons := map[string][]*catalog.Offering{}
	running := make([]byte, len(r.daemons))
	for _, offering := range offerings {
		for i, d := range r.daemons {
			running[i] = 0
			if d.runsOn(r.pool, typ, offering) {
				running[i] = 1
			}
		}
		byDaemons[string(running)] = append(byDaemons[string(running)], offering)
	}
	for _, running := range sortedKeys(byDaemons) {
		r.add(typ, byDaemons[running], []byte(running))
	}
}

// add adds a config with the daemons that run on its nodes, unless those leave no room.
func (r *configReader) add(typ *catalog.InstanceType, offerings []*catalog.Offering, running []byte) {
	p := r.p
	n := len(p.work.axes.names)
	if len(r.free) < n {
		r.free = make(vector, n*len(r.pool.types.all))
	}
	c := config{pool: r.pool, typ: typ, free: r.free[:n:n]}
	p.work.axes.readSupply(c.free, typ.Allocatable)
	if sum := r.sum(running); sum != nil {
		c.daemons, c.daemonPorts, c.daemonSum = sum.requests, sum.ports, sum.index
		c.free.sub(sum.need)
	}
	if slices.ContainsFunc(c.free, func(amount int64) bool { return amount < 0 }) {
		clear(c.free)
		return // too small for its daemon sets
	}
	r.free = r.free[n:]
	r.added++
	for i, mentions := range r.last {
		r.mentioned[i] += mentions
	}
	c.use = r.pool.use(typ.Capacity)
	if last := len(p.configs) - 1; last >= 0 {
		c.name = p.configs[last].name
		if last < r.pool.firstConfig || p.configs[last].typ.Name != typ.Name {
			c.name++
		}
	}
	for _, offering := range offerings {
		r.plain = r.plain && len(offering.Requirements) == 0
		p.columns = append(p.columns, column{
			config: int32(len(p.configs)), offering: offering, price: offering.Price, zone: position(&p.zones, offering.Zone), capacityType: position(&p.capacityTypes, offering.CapacityType),
		})
	}
	p.configs = append(p.configs, c)
}

// position is where the value is in the list, of a handful, to which it is added if it is new.
func position(list *[]string, value string) int16 {
	for i := range *list {
		if (*list)[i] == value {
			return int16(i)
		}
	}
	*list = append(*list, value)
	return int16(len(*list) - 1)
}

// sum is what the daemons that run take together; nil without any.
func (r *configReader) sum(running []byte) *daemonSum {
	if !slices.Contains(running, 1) {
		return nil
	}
	if sum, ok := r.sums[string(running)]; ok {
		return sum
	}
	r.p.daemonSums++
	sum := &daemonSum{index: r.p.daemonSums, requests: corev1.ResourceList{}, need: make(vector, len(r.p.work.axes.names))}
	for i, d := range r.daemons {
		if running[i] == 1 {
			addLists(sum.requests, d.requests)
			sum.need.add(d.need, 1)
			sum.ports = append(sum.ports, d.ports...)
		}
	}
	r.sums[string(running)] = sum
	return sum
}

// allowsType reports whether the pool's requirements leave room for the type, its offerings apart.
func (p *pool) allowsType(typ *catalog.InstanceType) bool {
	for key, want := range p.requirements {
		if have, ok := typ.Requirements[key]; ok && !have.Intersects(want) {
			return false
		}
	}
	return true
}
