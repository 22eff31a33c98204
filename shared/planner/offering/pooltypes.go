package offering

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// PoolType is an instance type in a pool: what a node has, whatever its zone and price.
type PoolType struct {
	Pool *Pool
	Type *catalog.InstanceType
	// NameID numbers the type's name: pool types of a pool with types of the same name, which come one
	// after the other, have the same number.
	NameID int
	// Free is the allocatable less the daemon sets.
	Free resource.Vector
	// DaemonRequests are the requests of the daemon sets that will run on the node, daemonPorts the
	// node's ports that they take, daemonSum the number of their sum: zero without any.
	DaemonRequests   corev1.ResourceList
	daemonPorts      []workload.HostPort
	DaemonRequestsID int
	// LimitUse is what a node takes of the pool's limits, in their order.
	LimitUse []int64
	// Offerings are those that buy it, cheapest first.
	Offerings []int
}

// offeringKeys are the labels that the offering decides, not the instance type.
var offeringKeys = [...]string{corev1.LabelTopologyZone, api.LabelTopologyZoneID, api.CapacityTypeLabelKey}

func IsOfferingKey(key string) bool {
	return key == offeringKeys[0] || key == offeringKeys[1] || key == offeringKeys[2]
}

// poolTypeReader adds the pool types of one pool.
type poolTypeReader struct {
	index *Index
	pool  *Pool
	// daemonSets are those that may run on the pool's nodes; selective says that some of them run on some
	// nodes only.
	daemonSets []*DaemonSet
	selective  bool
	// sums are the daemons that run together, by which of them do.
	sums map[string]*daemonSetSum
	// wanted are the pool's requirements, offerings what they ask of offerings. mentioned counts, by
	// requirement, the types added that mention its key, last has those of the type looked at last.
	wanted          []scheduling.Requirement
	mentioned, last []int
	// added counts the types, plain says that no offering of theirs has requirements of its own.
	added     int
	plain     bool
	offerings catalog.OfferingRequirements
	// free is memory for the pool types' vectors.
	free resource.Vector
}

// daemonSetSum is what daemons that run on the same nodes take together.
type daemonSetSum struct {
	// index is from one, in order of the pool types.
	index    int
	requests corev1.ResourceList
	need     resource.Vector
	ports    []workload.HostPort
}

// readPoolTypes adds the pool's types that its requirements allow, with their available offerings.
func (ix *Index) readPoolTypes(pool *Pool, daemons []*DaemonSet) {
	r := &poolTypeReader{
		index: ix, pool: pool, daemonSets: daemonSetsOf(daemons, pool), sums: map[string]*daemonSetSum{},
		offerings: catalog.ReadOfferingRequirements(pool.Requirements),
		free:      make(resource.Vector, len(ix.Work.Axes.Names)*len(pool.types.all)), plain: true,
	}
	r.selective = slices.ContainsFunc(r.daemonSets, func(d *DaemonSet) bool { return !d.runsAnywhere() })
	for _, requirement := range pool.Requirements {
		r.wanted = append(r.wanted, requirement)
	}
	r.mentioned, r.last = make([]int, len(r.wanted)), make([]int, len(r.wanted))
	ix.PoolTypes = slices.Grow(ix.PoolTypes, len(pool.types.all))
	if len(pool.types.all) > 0 {
		ix.Offerings = slices.Grow(ix.Offerings, len(pool.types.all[0].Offerings)*len(pool.types.all))
	}
	all := make([]byte, len(r.daemonSets))
	for i := range all {
		all[i] = 1
	}
	var available []*catalog.Offering
	for _, typ := range pool.types.all {
		if !r.allows(typ) {
			continue
		}
		available = r.available(typ, available[:0])
		switch {
		case len(available) == 0:
		case r.selective:
			r.addSelective(typ, available)
		default:
			r.add(typ, available, all)
		}
	}
	r.noteMentions()
}

// available appends the offerings of a type that the pool can buy now.
func (r *poolTypeReader) available(typ *catalog.InstanceType, offerings []*catalog.Offering) []*catalog.Offering {
	for i := range typ.Offerings {
		offering := &typ.Offerings[i]
		if offering.Available && r.offerings.Allow(offering) && !r.index.excludes(r.pool, typ, offering) {
			offerings = append(offerings, offering)
		}
	}
	return offerings
}

// noteMentions notes for each of the pool's requirements whether its types mention the label.
func (r *poolTypeReader) noteMentions() {
	pool := r.pool
	if r.plain && r.added > 0 {
		pool.mentioned = make(map[string]keyFacts, len(r.wanted))
		for i := range r.wanted {
			key := r.wanted[i].Key()
			pool.mentioned[key] = keyFacts{
				any: r.mentioned[i] > 0 || IsOfferingKey(key),
				all: r.mentioned[i] == r.added || IsOfferingKey(key),
			}
		}
	}
}

// allows reports whether the pool's requirements leave room for the type, its offerings apart.
func (r *poolTypeReader) allows(typ *catalog.InstanceType) bool {
	for i := range r.wanted {
		if IsOfferingKey(r.wanted[i].Key()) {
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

// addSelective adds a pool type for each set of daemons that run on nodes of some of the offerings:
// where the same daemons run the node is the same.
func (r *poolTypeReader) addSelective(typ *catalog.InstanceType, offerings []*catalog.Offering) {
	byDaemons := map[string][]*catalog.Offering{}
	running := make([]byte, len(r.daemonSets))
	for _, offering := range offerings {
		for i, d := range r.daemonSets {
			running[i] = 0
			if d.runsOn(r.pool, typ, offering) {
				running[i] = 1
			}
		}
		byDaemons[string(running)] = append(byDaemons[string(running)], offering)
	}
	for _, running := range dense.SortedKeys(byDaemons) {
		r.add(typ, byDaemons[running], []byte(running))
	}
}

// add adds a pool type with the daemons that run on its nodes, unless those leave no room.
func (r *poolTypeReader) add(typ *catalog.InstanceType, offerings []*catalog.Offering, running []byte) {
	p := r.index
	n := len(p.Work.Axes.Names)
	if len(r.free) < n {
		r.free = make(resource.Vector, n*len(r.pool.types.all))
	}
	c := PoolType{Pool: r.pool, Type: typ, Free: r.free[:n:n]}
	p.Work.Axes.ReadSupply(c.Free, typ.Allocatable)
	if sum := r.sum(running); sum != nil {
		c.DaemonRequests, c.daemonPorts, c.DaemonRequestsID = sum.requests, sum.ports, sum.index
		c.Free.Sub(sum.need)
	}
	if slices.ContainsFunc(c.Free, func(amount int64) bool { return amount < 0 }) {
		clear(c.Free)
		return // too small for its daemon sets
	}
	r.free = r.free[n:]
	r.added++
	for i, mentions := range r.last {
		r.mentioned[i] += mentions
	}
	c.LimitUse = r.pool.limitUse(typ.Capacity)
	if last := len(p.PoolTypes) - 1; last >= 0 {
		c.NameID = p.PoolTypes[last].NameID
		if last < r.pool.FirstType || p.PoolTypes[last].Type.Name != typ.Name {
			c.NameID++
		}
	}
	for _, offering := range offerings {
		r.plain = r.plain && len(offering.Requirements) == 0
		p.Offerings = append(p.Offerings, Offering{
			PoolType: int32(
				len(p.PoolTypes),
			), Source: offering, Price: offering.Price, zone: position(&p.zones, offering.Zone),
			capacityType: position(&p.capacityTypes, offering.CapacityType),
		})
	}
	p.PoolTypes = append(p.PoolTypes, c)
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
func (r *poolTypeReader) sum(running []byte) *daemonSetSum {
	if !slices.Contains(running, 1) {
		return nil
	}
	if sum, ok := r.sums[string(running)]; ok {
		return sum
	}
	r.index.daemonSetSums++
	sum := &daemonSetSum{
		index:    r.index.daemonSetSums,
		requests: corev1.ResourceList{},
		need:     make(resource.Vector, len(r.index.Work.Axes.Names)),
	}
	for i, d := range r.daemonSets {
		if running[i] == 1 {
			resource.AddLists(sum.requests, d.requests)
			sum.need.Add(d.Need, 1)
			sum.ports = append(sum.ports, d.Ports...)
		}
	}
	r.sums[string(running)] = sum
	return sum
}

// allowsType reports whether the pool's requirements leave room for the type, its offerings apart.
func (p *Pool) allowsType(typ *catalog.InstanceType) bool {
	for key, want := range p.Requirements {
		if have, ok := typ.Requirements[key]; ok && !have.Intersects(want) {
			return false
		}
	}
	return true
}
