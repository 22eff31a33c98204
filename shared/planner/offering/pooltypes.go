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

// PoolType is an instance type in a pool. It says what a node has, whatever its zone and price. An
// instance type has several pool types if its nodes run different DaemonSets by zone or capacity
// type.
type PoolType struct {
	Pool *Pool
	Type *catalog.InstanceType
	// NameID numbers the names of instance types within a pool. Pool types with equal names are
	// neighbours and have equal numbers.
	NameID int
	// Free is what a node can allocate to pods, without what its DaemonSets take.
	Free resource.Vector
	// DaemonRequests are the requests of the DaemonSets on a node, daemonPorts their host ports, and
	// daemonSets their places in the snapshot.
	DaemonRequests corev1.ResourceList
	daemonPorts    []workload.HostPort
	daemonSets     []int
	// DaemonRequestsID identifies DaemonRequests. It is zero if no DaemonSet runs.
	DaemonRequestsID int
	// Offerings are those of this pool type, cheapest first.
	Offerings []int
}

// offeringKeys are the labels that the offering decides, and not the instance type.
var offeringKeys = [...]string{corev1.LabelTopologyZone, api.LabelTopologyZoneID, api.CapacityTypeLabelKey}

// IsOfferingKey reports whether the offering decides the label: the zone, the zone's id or the
// capacity type.
func IsOfferingKey(key string) bool {
	return key == offeringKeys[0] || key == offeringKeys[1] || key == offeringKeys[2]
}

// poolTypeReader adds the pool types and offerings of one pool to the index.
type poolTypeReader struct {
	index *Index
	pool  *Pool
	// daemonSets are those that the pool allows. selective says that one of them runs on some of the
	// pool's nodes only.
	daemonSets []*DaemonSet
	selective  bool
	// sums has the sum of the DaemonSets that run together, by a byte for each DaemonSet.
	sums    map[string]*daemonSetSum
	allSums *daemonSetSums
	// wanted are the pool's requirements, and offerings is what they say of zones and capacity types.
	wanted    []scheduling.Requirement
	offerings catalog.OfferingRequirements
	mentions  mentionCounter
	unfit     []unfitOffering
	// free is memory for the vectors of pool types.
	free resource.Vector
}

// mentionCounter counts how many of the added types mention the key of each requirement.
type mentionCounter struct {
	counts []int
	// last has 1 for the keys that the last type examined mentions.
	last []int
	// types counts the added types.
	types int
	// plain says that no offering of theirs has requirements of its own.
	plain bool
}

// readPoolTypes adds the instance types that the pool's requirements allow, with the offerings that
// are available.
func (ix *Index) readPoolTypes(pool *Pool, daemonSets *daemonSetSums) {
	r := &poolTypeReader{
		index: ix, pool: pool, daemonSets: daemonSetsOf(daemonSets.all, pool, ix.Undefined),
		sums: map[string]*daemonSetSum{}, allSums: daemonSets,
		offerings: catalog.ReadOfferingRequirements(pool.Requirements),
		free:      make(resource.Vector, len(ix.Work.Axes.Names)*len(pool.types.all)),
	}
	r.selective = slices.ContainsFunc(r.daemonSets, func(d *DaemonSet) bool { return !d.runsAnywhere() })
	for _, requirement := range pool.Requirements {
		r.wanted = append(r.wanted, requirement)
	}
	r.mentions = mentionCounter{counts: make([]int, len(r.wanted)), last: make([]int, len(r.wanted)), plain: true}
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
	r.listUnfit()
	r.noteMentions()
}

// allows reports whether the pool's requirements allow the type, whatever its offerings. It notes
// which requirements' keys the type mentions.
func (r *poolTypeReader) allows(typ *catalog.InstanceType) bool {
	for i := range r.wanted {
		if IsOfferingKey(r.wanted[i].Key()) {
			continue
		}
		have, ok := typ.Requirements[r.wanted[i].Key()]
		if r.mentions.last[i] = 0; ok {
			r.mentions.last[i] = 1
			if !have.Intersects(r.wanted[i]) {
				return false
			}
		}
	}
	return true
}

// available appends the offerings of the type that the pool can buy now.
func (r *poolTypeReader) available(typ *catalog.InstanceType, offerings []*catalog.Offering) []*catalog.Offering {
	for i := range typ.Offerings {
		offering := &typ.Offerings[i]
		if offering.Available && r.offerings.Allow(offering) && !r.index.excludes(r.pool, typ, offering) {
			offerings = append(offerings, offering)
		}
	}
	return offerings
}

// addSelective adds a pool type for each combination of DaemonSets that runs on nodes of some of
// the offerings.
func (r *poolTypeReader) addSelective(typ *catalog.InstanceType, offerings []*catalog.Offering) {
	byDaemonSets := map[string][]*catalog.Offering{}
	running := make([]byte, len(r.daemonSets))
	for _, offering := range offerings {
		for i, d := range r.daemonSets {
			running[i] = 0
			if d.runsOn(r.pool, typ, offering) {
				running[i] = 1
			}
		}
		byDaemonSets[string(running)] = append(byDaemonSets[string(running)], offering)
	}
	for _, running := range dense.SortedKeys(byDaemonSets) {
		r.add(typ, byDaemonSets[running], []byte(running))
	}
}

// add adds a pool type whose nodes run these DaemonSets, unless the DaemonSets do not fit.
func (r *poolTypeReader) add(typ *catalog.InstanceType, offerings []*catalog.Offering, running []byte) {
	ix := r.index
	n := len(ix.Work.Axes.Names)
	if len(r.free) < n {
		r.free = make(resource.Vector, n*len(r.pool.types.all))
	}
	t := PoolType{Pool: r.pool, Type: typ, Free: r.free[:n:n]}
	ix.readRoom(t.Free, typ)
	sum := r.sum(running)
	if sum != nil {
		t.DaemonRequests, t.daemonPorts, t.DaemonRequestsID = sum.requests, sum.ports, sum.id
		t.daemonSets = sum.sets
		t.Free.Sub(sum.need)
	}
	if slices.ContainsFunc(t.Free, func(amount int64) bool { return amount < 0 }) {
		clear(t.Free)
		for _, offering := range offerings {
			r.unfit = append(r.unfit, unfitOffering{typ: typ, source: offering, daemonSets: sum})
		}
		return
	}
	r.free = r.free[n:]
	r.mentions.add()
	if last := len(ix.PoolTypes) - 1; last >= 0 {
		t.NameID = ix.PoolTypes[last].NameID
		if last < r.pool.FirstType || ix.PoolTypes[last].Type.Name != typ.Name {
			t.NameID++
		}
	}
	for _, offering := range offerings {
		r.mentions.plain = r.mentions.plain && len(offering.Requirements) == 0
		ix.Offerings = append(ix.Offerings, Offering{
			PoolType: int32(len(ix.PoolTypes)), Source: offering, Price: offering.Price,
			zone:         position(&ix.zones, offering.Zone),
			capacityType: position(&ix.capacityTypes, offering.CapacityType),
		})
	}
	ix.PoolTypes = append(ix.PoolTypes, t)
}

// readRoom reads what a node of the type can allocate to DaemonSets and pods into room, which is zero.
func (ix *Index) readRoom(room resource.Vector, typ *catalog.InstanceType) {
	ix.Work.Axes.ReadSupply(room, typ.Allocatable)
	if axis, counted := ix.Work.Axes.Position[workload.VolumesAxis]; counted {
		room[axis] = int64(ix.Work.Volumes.VolumesOf(typ))
	}
}

// sum is what the DaemonSets that run take together, or nil if none runs.
func (r *poolTypeReader) sum(running []byte) *daemonSetSum {
	if !slices.Contains(running, 1) {
		return nil
	}
	if sum, ok := r.sums[string(running)]; ok {
		return sum
	}
	sum := r.allSums.of(r.daemonSets, running, r.index.Work.Axes)
	r.sums[string(running)] = sum
	return sum
}

// position is where the short list has the value. It appends a new value to the list.
func position(list *[]string, value string) int16 {
	for i := range *list {
		if (*list)[i] == value {
			return int16(i)
		}
	}
	*list = append(*list, value)
	return int16(len(*list) - 1)
}

// add counts the last type examined.
func (m *mentionCounter) add() {
	m.types++
	for i, mentions := range m.last {
		m.counts[i] += mentions
	}
}

// noteMentions notes for each of the pool's requirements whether its types mention the key.
// Offerings with requirements of their own may mention it too, and then the counts do not suffice.
func (r *poolTypeReader) noteMentions() {
	m := &r.mentions
	if !m.plain || m.types == 0 {
		return
	}
	r.pool.mentions = make(map[string]labelMentions, len(r.wanted))
	for i := range r.wanted {
		key := r.wanted[i].Key()
		r.pool.mentions[key] = labelMentions{
			any: m.counts[i] > 0 || IsOfferingKey(key),
			all: m.counts[i] == m.types || IsOfferingKey(key),
		}
	}
}

// typeMeets reports whether the requirements allow the type, whatever its offerings.
func typeMeets(typ *catalog.InstanceType, requirements scheduling.Requirements) bool {
	for key, want := range requirements {
		if have, ok := typ.Requirements[key]; ok && !have.Intersects(want) {
			return false
		}
	}
	return true
}
