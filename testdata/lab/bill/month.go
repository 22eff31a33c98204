package bill

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

// days are those of a month.
const days = 30

// The sizes and families that a month uses. Two families have spot offerings at about a third of
// the price.
var (
	families = []string{"m6i", "c6i", "r6i", "m6a"}
	sizes    = []string{"large", "xlarge", "2xlarge", "4xlarge"}
	zones    = []string{"us-east-1a", "us-east-1b", "us-east-1c"}
)

// month is what a seed makes: the account's commitments, its other instances, and the cluster's
// load.
type month struct {
	begin    time.Time
	known    *catalog.Catalog
	class    *api.EC2NodeClass
	pool     api.NodePool
	facts    commitment.Facts
	onDemand map[string]float64
	priced   []catalog.InstanceType // without commitments
	outside  []outside
	loads    []load
}

// outside are instances that others run, most of them by day.
type outside struct {
	kind, zone    string
	base, by      int
	begins, hours int // of the day
}

// load is a workload: its pods, and how many of them run at an hour.
type load struct {
	name        string
	cpu, memory int64
	base, swing float64
	peak        int // hour of the day
	batch       int // hour of the day at which a batch of as many pods as swing begins; -1 for a web load
}

// newMonth is the month of a seed. Half of the months may buy spot instances.
func newMonth(t testing.TB, seed uint64) *month {
	random := rand.New(rand.NewPCG(seed, 0x62696c6c))
	capacity := []string{api.CapacityTypeOnDemand}
	if random.IntN(2) == 0 {
		capacity = append(capacity, api.CapacityTypeSpot)
	}
	m := &month{
		begin: consolidationtest.Now, known: known(t), class: catalogtest.NodeClass("default"),
		pool: consolidationtest.Pool("default", capacity...), onDemand: map[string]float64{},
	}
	m.priced = m.types(nil)
	for _, typ := range m.priced {
		m.onDemand[typ.Name] = typ.OnDemandPrice
	}
	for i := range 3 + random.IntN(4) {
		l := load{
			name: fmt.Sprintf("load-%d", i), cpu: []int64{250, 500, 1000, 2000}[random.IntN(4)], batch: -1,
			base: float64(2 + random.IntN(20)), peak: random.IntN(24),
		}
		l.memory = l.cpu * []int64{2, 4, 8}[random.IntN(3)] << 20
		l.swing = l.base * random.Float64()
		if random.IntN(3) == 0 {
			l.batch = random.IntN(24)
		}
		m.loads = append(m.loads, l)
	}
	for range random.IntN(3) {
		m.outside = append(m.outside, outside{
			kind: pick(random, families) + "." + pick(random, sizes), zone: pick(random, zones), base: random.IntN(3),
			by: random.IntN(5), begins: random.IntN(24), hours: 4 + random.IntN(12),
		})
	}
	m.commit(random)
	return m
}

// known is the catalogue without the types that no month uses.
func known(t testing.TB) *catalog.Catalog {
	made := *catalogtest.Catalog(t)
	made.InstanceTypes = slices.DeleteFunc(slices.Clone(made.InstanceTypes), func(info catalog.InstanceTypeInfo) bool {
		family, size, _ := cut(info.InstanceType)
		return !slices.Contains(families, family) || !slices.Contains(sizes, size)
	})
	return &made
}

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

// commit buys Reserved Instances and Savings Plans for a part of the load. Some begin or end within
// the month.
func (m *month) commit(random *rand.Rand) {
	cores := 0.0
	for i := range m.loads {
		cores += m.loads[i].base * float64(m.loads[i].cpu) / 1000
	}
	term := func() (start, end time.Time) {
		start, end = m.begin.AddDate(0, -3, 0), m.begin.AddDate(1, 0, 0)
		switch random.IntN(4) {
		case 0:
			start = m.begin.Add(time.Duration(random.IntN(days*24)) * time.Hour)
		case 1:
			end = m.begin.Add(time.Duration(random.IntN(days*24)) * time.Hour)
		}
		return start, end
	}
	m.facts = commitment.Facts{Time: m.begin, OnDemand: m.onDemand}
	for i := range 1 + random.IntN(3) {
		kind := pick(random, families) + "." + pick(random, sizes)
		count := 1 + random.IntN(1+int(cores*0.3*m.onDemand["m6i.large"]/m.onDemand[kind]))
		bought := commitment.ReservedInstance{
			ID: fmt.Sprintf("ri-%d", i), InstanceType: kind, Count: count, PerHour: 0.62 * m.onDemand[kind] * float64(count),
		}
		if random.IntN(4) == 0 {
			bought.Zone = pick(random, zones)
		}
		bought.Start, bought.End = term()
		m.facts.Reserved = append(m.facts.Reserved, bought)
	}
	for i := range random.IntN(3) {
		bought := commitment.SavingsPlan{ID: fmt.Sprintf("sp-%d", i), Rates: map[string]float64{}}
		part := 0.72
		if random.IntN(2) == 0 {
			bought.Family, part = pick(random, families), 0.63
		}
		for name, price := range m.onDemand {
			bought.Rates[name] = price * part
		}
		bought.PerHour = math.Round(100*cores*0.2*(0.2+random.Float64())*m.onDemand["m6i.large"]/2) / 100
		bought.Start, bought.End = term()
		m.facts.Plans = append(m.facts.Plans, bought)
	}
}

// types are what the pool may buy, with what commitments cover.
func (m *month) types(covers []catalog.Cover) []catalog.InstanceType {
	return catalog.Resolve(m.known, m.class, catalog.Observed{Covers: covers}, m.begin)
}

// count is how many pods of the load run at an hour of the month.
func (l *load) count(hour int) int {
	ofDay, day := hour%24, hour/24
	if l.batch >= 0 {
		if (ofDay-l.batch+24)%24 < 4 {
			return int(l.base + l.swing)
		}
		return 0
	}
	weekend := 1.0
	if day%7 >= 5 {
		weekend = 0.7
	}
	wave := math.Cos(2 * math.Pi * float64(ofDay-l.peak) / 24)
	return max(1, int(weekend*(l.base+l.swing*wave)))
}

// running are the instances that others run at an hour.
func (m *month) running(hour int) []commitment.Instance {
	var instances []commitment.Instance
	for i, o := range m.outside {
		count := o.base
		if (hour%24-o.begins+24)%24 < o.hours {
			count += o.by
		}
		for n := range count {
			instances = append(instances, commitment.Instance{ID: fmt.Sprintf("o-%d-%d", i, n), Type: o.kind, Zone: o.zone})
		}
	}
	return instances
}

// base is a cluster without nodes and pods.
func (m *month) base(covers []catalog.Cover) *plan.Snapshot {
	return &plan.Snapshot{
		NodePools: []api.NodePool{m.pool}, NodeClasses: []api.EC2NodeClass{*m.class},
		InstanceTypes: map[string][]catalog.InstanceType{m.pool.Name: m.types(covers)},
		Namespaces:    []corev1.Namespace{{}},
	}
}
