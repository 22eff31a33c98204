package commitment

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// micro is how many units a dollar of a Savings Plan is.
const micro = 1e6

// Kinds of stocks.
const (
	KindReserved    = "Reserved Instances"
	KindSavingsPlan = "Savings Plan"
)

// Stock is one commitment, or several that pay for the same: their units, and what is used of them.
type Stock struct {
	// ID names it in plans: the Savings Plan, or what Reserved Instances are for, such as m5 or m5.large@us-west-2a.
	ID string `json:"id"`
	// Kind is KindReserved or KindSavingsPlan.
	Kind string `json:"kind"`
	// Zone is the zone in which it holds; empty for all of the region.
	Zone string `json:"zone,omitempty"`
	// Units are what an instance takes, by instance type, and Total and Used all of them. They are Linux/UNIX with
	// shared tenancy: only such nodes are planned.
	Units map[string]int `json:"units"`
	Total int            `json:"total"`
	Used  int            `json:"used"`
	// Own is the part of Used that this cluster's nodes use.
	Own int `json:"own"`
	// PerHour is what the commitment costs each hour, used or not.
	PerHour float64 `json:"perHour"`
	// Family is the only instance family that it pays for; empty for one instance type, and for all
	// families.
	Family string `json:"family,omitempty"`
	// End is when the first of the purchases ends.
	End time.Time `json:"end,omitzero"`
}

// Left is what the stock has for more nodes of this cluster, if the cluster may use the share of all units, which is
// between zero and one.
func (s *Stock) Left(share float64) int {
	share = min(max(share, 0), 1)
	return max(min(s.Total-s.Used, int(share*float64(s.Total))-s.Own), 0)
}

// Applied is how the commitments pay for the instances.
type Applied struct {
	// Stocks are those that hold now, in AWS's order: Reserved Instances of a zone, of the region, Savings Plans of a
	// family, of all.
	Stocks []Stock `json:"stocks"`
	// Covered is the part of each instance that is paid for, by its id: between zero and one. Others are absent.
	Covered map[string]float64 `json:"covered,omitempty"`
	// Costs are the instances' parts of what the commitments cost each hour, by the same ids.
	Costs map[string]float64 `json:"costs,omitempty"`
}

// Apply applies the commitments to the instances as AWS does within one hour in which all of them run.
func Apply(facts Facts, instances []Instance, now time.Time) Applied {
	a := &application{left: map[string]float64{}, byID: map[string]*Instance{}, costs: map[string]float64{}}
	for i := range instances {
		a.left[instances[i].ID], a.byID[instances[i].ID] = 1, &instances[i]
	}
	a.ids = slices.Sorted(maps.Keys(a.left))
	a.reserved(facts.Reserved, facts.OnDemand, now)
	a.plans(facts.Plans, facts.OnDemand, now)
	covered := map[string]float64{}
	for id, left := range a.left {
		if left < 1 {
			covered[id] = 1 - left
		}
	}
	return Applied{Stocks: a.stocks, Covered: covered, Costs: a.costs}
}

// application is how far the commitments are applied.
type application struct {
	stocks []Stock
	// left is the part of each instance that nothing pays for yet.
	left map[string]float64
	byID map[string]*Instance
	ids  []string
	// costs are the instances' parts of what the commitments cost.
	costs map[string]float64
}

// key is what Reserved Instances pay for.
type key struct {
	zone, name, platform string // name is a type, or a family
	dedicated            bool
}

// reserved applies Reserved Instances: of a zone first, then of the region.
func (a *application) reserved(purchases []ReservedInstance, types map[string]float64, now time.Time) {
	stocks := map[key]*Stock{}
	for i := range purchases {
		p := &purchases[i]
		if p.Count <= 0 || !holds(p.Start, p.End, now) {
			continue
		}
		k, units := key{p.Zone, p.InstanceType, p.Platform, p.Dedicated}, 1
		if p.isFlexible() {
			k.name, units = familyOf(p.InstanceType), unitsOf(p.InstanceType)
		}
		if stocks[k] == nil {
			stocks[k] = &Stock{ID: k.id(), Kind: KindReserved, Zone: p.Zone, Units: k.units(types), End: p.End}
			if k.isFamily() {
				stocks[k].Family = k.name
			}
		}
		stocks[k].End = firstEnd(stocks[k].End, p.End)
		stocks[k].Total += p.Count * units
		stocks[k].PerHour += p.PerHour
	}
	keys := slices.SortedFunc(maps.Keys(stocks), compareKeys)
	for _, k := range keys {
		a.spend(stocks[k], a.matching(k), k.unitsOf)
		if k.platform == "" && !k.dedicated {
			a.stocks = append(a.stocks, *stocks[k])
		}
	}
}

// firstEnd is the first of two ends. A zero one is no end.
func firstEnd(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// isFlexible reports whether the purchase pays for other sizes of its family.
func (p *ReservedInstance) isFlexible() bool {
	return p.Zone == "" && p.Platform == "" && !p.Dedicated &&
		unitsOf(p.InstanceType) > 0 && !isExact(familyOf(p.InstanceType))
}

// compareKeys has zones first, and then exact types before families.
func compareKeys(x, y key) int {
	return cmp.Or(-cmp.Compare(len(x.zone), len(y.zone)), strings.Compare(x.zone, y.zone),
		-cmp.Compare(strings.Count(x.name, "."), strings.Count(y.name, ".")), strings.Compare(x.name, y.name),
		strings.Compare(x.platform, y.platform))
}

// id names what the Reserved Instances pay for.
func (k key) id() string {
	id := k.name
	if k.zone != "" {
		id += "@" + k.zone
	}
	return id
}

func (k key) isFamily() bool { return !strings.Contains(k.name, ".") }

// unitsOf is what an instance of the type takes.
func (k key) unitsOf(i *Instance) int {
	if k.isFamily() {
		return unitsOf(i.Type)
	}
	return 1
}

// units are those of all types that the Reserved Instances pay for.
func (k key) units(types map[string]float64) map[string]int {
	if !k.isFamily() {
		return map[string]int{k.name: 1}
	}
	units := map[string]int{}
	for name := range types {
		if n := unitsOf(name); n > 0 && familyOf(name) == k.name {
			units[name] = n
		}
	}
	return units
}

// matching are the instances that the Reserved Instances pay for, the smallest first. Of equal ones this cluster's are
// the last: what is used outside stays used.
func (a *application) matching(k key) []*Instance {
	var list []*Instance
	for _, id := range a.ids {
		i := a.byID[id]
		name := i.Type
		if k.isFamily() {
			name = familyOf(i.Type)
		}
		if name == k.name && (k.zone == "" || k.zone == i.Zone) && k.platform == i.Platform && k.dedicated == i.Dedicated &&
			k.unitsOf(i) > 0 {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(x, y *Instance) int {
		return cmp.Or(cmp.Compare(k.unitsOf(x), k.unitsOf(y)), compareBool(x.Own, y.Own))
	})
	return list
}

// spend lets the stock pay for the instances in their order, until it ends. The last one is paid for in part.
func (a *application) spend(s *Stock, instances []*Instance, units func(*Instance) int) {
	for _, i := range instances {
		if s.Used >= s.Total {
			return
		}
		whole := float64(units(i))
		wanted := whole * a.left[i.ID]
		given := min(wanted, float64(s.Total-s.Used))
		if given <= 0 {
			continue
		}
		used := int(math.Ceil(given - 1e-9))
		s.Used += used
		if i.Own {
			s.Own += used
		}
		a.costs[i.ID] += s.cost(used)
		a.left[i.ID] = max(a.left[i.ID]-given/whole, 0)
		if a.left[i.ID] < 1e-9 {
			a.left[i.ID] = 0
		}
	}
}

// saving is a plan's rate for an instance.
type saving struct {
	plan     int
	instance *Instance
	// part is what the rate saves of the on-demand price.
	part, rate float64
}

// plans applies Savings Plans: those of a family first, then those of all. Within a kind, the usage that saves most
// of its price comes first.
func (a *application) plans(plans []SavingsPlan, prices map[string]float64, now time.Time) {
	held := slices.DeleteFunc(slices.Clone(plans), func(p SavingsPlan) bool {
		return p.PerHour <= 0 || !holds(p.Start, p.End, now)
	})
	slices.SortStableFunc(held, func(x, y SavingsPlan) int {
		return cmp.Or(compareBool(x.Family == "", y.Family == ""), strings.Compare(x.ID, y.ID))
	})
	first := len(a.stocks)
	for i := range held {
		units := make(map[string]int, len(held[i].Rates))
		for name, rate := range held[i].Rates {
			if rate > 0 && held[i].paysFor(name) {
				units[name] = inMicro(rate)
			}
		}
		a.stocks = append(a.stocks, Stock{
			ID: held[i].ID, Kind: KindSavingsPlan, Units: units, Total: int(held[i].PerHour * micro), PerHour: held[i].PerHour,
			Family: held[i].Family, End: held[i].End,
		})
	}
	for _, of := range [2]bool{true, false} { // of a family, of all
		for _, s := range a.savings(held, of, prices) {
			a.spend(&a.stocks[first+s.plan], []*Instance{s.instance}, func(*Instance) int { return inMicro(s.rate) })
		}
	}
}

// paysFor reports whether the plan is for the instance type. A rate alone does not say so.
func (p *SavingsPlan) paysFor(name string) bool { return p.Family == "" || familyOf(name) == p.Family }

func inMicro(rate float64) int { return max(int(math.Ceil(rate*micro-1e-6)), 1) }

// savings are the rates of the plans of one kind for the instances, in AWS's order. Ties go to the lower rate, and to
// instances outside of this cluster.
func (a *application) savings(plans []SavingsPlan, ofFamily bool, prices map[string]float64) []saving {
	var list []saving
	for n := range plans {
		if (plans[n].Family != "") != ofFamily {
			continue
		}
		for _, id := range a.ids {
			i := a.byID[id]
			rate, price := plans[n].Rates[i.Type], prices[i.Type]
			if a.left[id] <= 0 || rate <= 0 || !plans[n].paysFor(i.Type) {
				continue
			}
			part := 0.0 // of a price that is not known
			if price > 0 {
				part = 1 - rate/price
			}
			list = append(list, saving{n, i, part, rate})
		}
	}
	slices.SortStableFunc(list, func(x, y saving) int {
		return cmp.Or(-cmp.Compare(x.part, y.part), cmp.Compare(x.rate, y.rate),
			compareBool(x.instance.Own, y.instance.Own), cmp.Compare(x.plan, y.plan))
	})
	return list
}

// compareBool has false before true.
func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}
