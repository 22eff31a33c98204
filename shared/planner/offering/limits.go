package offering

import (
	"cmp"
	"iter"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Limit is the greatest amount of one resource that the nodes of some offerings have together.
type Limit struct {
	// Owner says whose limit it is, and which nodes count.
	Owner *limit.Limit
	Name  corev1.ResourceName
	// Most is the limit, and Used is what existing nodes have of it. Both are in the unit of a
	// resource.Vector.
	Most, Used int64
	// offerings are those whose nodes count.
	offerings dense.Set
	// strict says that one of them must meet minValues.
	strict bool
	// sizes orders them by what a node takes. It is nil until it is needed.
	sizes *sizes
}

// Use is what a node takes of a limit, which may be nothing.
type Use struct {
	// Limit is a position in Index.Limits.
	Limit  int
	Amount int64
}

// limits are the limits of a plan. readLimits lists them, and readLimitUses what takes of them.
type limits struct {
	// Limits are those of the NodePools, in the order of Pools, and then those that span them. The
	// limits of one owner are sorted by name.
	Limits []Limit
	// uses has what a node of each offering takes, sorted by limit. It is nil without limits.
	uses [][]Use
	// UsesDiffer says that offerings of one pool type may take different amounts.
	UsesDiffer bool
}

// readLimits lists the limits, with what existing nodes use of them. A node that leaves for certain
// does not count, so that a pool at its limit can replace it. Limits are therefore exceeded by what
// is leaving at most.
func (ix *Index) readLimits() {
	s := ix.Work.Snapshot
	pools := make([]*api.NodePool, len(ix.Pools))
	for i, pool := range ix.Pools {
		pools[i] = pool.NodePool
	}
	byPool, spanning := map[string][]int{}, []int(nil)
	for _, owner := range limit.Of(pools, s.Limits) {
		first := len(ix.Limits)
		for name, quantity := range owner.Resources {
			ix.Limits = append(ix.Limits, Limit{Owner: owner, Name: name, Most: resource.AmountDown(name, &quantity)})
		}
		slices.SortFunc(ix.Limits[first:], func(a, b Limit) int { return cmp.Compare(a.Name, b.Name) })
		for i := first; i < len(ix.Limits); i++ {
			if owner.Pool != "" {
				byPool[owner.Pool] = append(byPool[owner.Pool], i)
			} else {
				spanning = append(spanning, i)
			}
		}
	}
	if len(ix.Limits) == 0 {
		return
	}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if own := byPool[node.Pool()]; len(own)+len(spanning) > 0 &&
			scheduling.CountsAgainstLimits(node.NodeClaim, node.Node) {
			ix.count(node, own, spanning)
		}
	}
}

// count adds what the node has to the limits of its NodePool, and to those of the spanning ones
// that it counts for.
func (ix *Index) count(node *plan.Node, own, spanning []int) {
	capacity, price := ix.capacityOf(node), -1.0
	add := func(l *Limit) {
		if l.Name == api.ResourceDollarsPerHour && price < 0 {
			price = limit.Price(node, ix.Work.Snapshot.InstanceTypes)
		}
		l.Used += amountOf(l.Name, capacity, price)
	}
	for _, i := range own {
		add(&ix.Limits[i])
	}
	for n, i := range spanning {
		owner := ix.Limits[i].Owner
		// The limits of one owner are neighbours, and all of them count the node or none.
		if n > 0 && ix.Limits[spanning[n-1]].Owner == owner {
			continue
		}
		if owner.Counts(node, ix.Work.Snapshot.InstanceTypes) {
			for ; i < len(ix.Limits) && ix.Limits[i].Owner == owner; i++ {
				add(&ix.Limits[i])
			}
		}
	}
}

// amountOf is what a node of this capacity and price takes of a limit.
func amountOf(name corev1.ResourceName, capacity corev1.ResourceList, price float64) int64 {
	switch name {
	case api.ResourceNodes:
		return 1
	case api.ResourceDollarsPerHour:
		return resource.AmountOfDollars(price)
	}
	if quantity, ok := capacity[name]; ok {
		return resource.AmountUp(name, &quantity)
	}
	return 0
}

// readLimitUses fills in what nodes of each offering take. The offerings are sorted.
func (ix *Index) readLimitUses() {
	if len(ix.Limits) == 0 {
		return
	}
	ix.uses = make([][]Use, len(ix.Offerings))
	for i := range ix.Limits {
		ix.Limits[i].offerings = dense.NewSet(len(ix.Offerings))
	}
	for _, pool := range ix.Pools {
		var ofPool []int
		for i := range ix.Limits {
			if ix.Limits[i].Owner.MayCount(pool.Name(), pool.Requirements) {
				ofPool = append(ofPool, i)
			}
		}
		for i := pool.FirstType; i < pool.EndType && len(ofPool) > 0; i++ {
			ix.readUsesOf(&ix.PoolTypes[i], ofPool)
		}
		for i := range ix.Limits {
			if ix.Limits[i].offerings.Intersects(pool.Offerings) {
				pool.limits = append(pool.limits, i)
				ix.Limits[i].strict = ix.Limits[i].strict || ix.StrictMinValues(pool)
			}
		}
	}
}

// readUsesOf fills in what nodes of the pool type take of these limits. Its offerings share the
// list where they take the same.
func (ix *Index) readUsesOf(t *PoolType, ofPool []int) {
	var shared []Use
	same := true
	for _, i := range ofPool {
		l := &ix.Limits[i]
		if l.Owner.CountsType(t.Type, t.Pool.Requirements) {
			same = same && l.Name != api.ResourceDollarsPerHour && !l.Owner.DividesOfferings(t.Type)
			shared = append(shared, Use{Limit: i, Amount: amountOf(l.Name, t.Type.Capacity, 0)})
		}
	}
	for _, j := range t.Offerings {
		uses, source := shared, ix.Offerings[j].Source
		if ix.UsesDiffer = ix.UsesDiffer || !same; !same {
			uses = make([]Use, 0, len(shared))
			for _, use := range shared {
				l := &ix.Limits[use.Limit]
				if l.Name == api.ResourceDollarsPerHour {
					use.Amount = resource.AmountOfDollars(limit.ListPrice(t.Type, source))
				}
				if l.Owner.CountsOffering(source) {
					uses = append(uses, use)
				}
			}
		}
		ix.uses[j] = uses
		for _, use := range uses {
			ix.Limits[use.Limit].offerings.Add(j)
		}
	}
}

// LimitUse is what a node of offering j takes of limits, sorted by limit. Callers must not change
// it.
func (ix *Index) LimitUse(j int) []Use {
	if ix.uses == nil {
		return nil
	}
	return ix.uses[j]
}

// LimitsLeft is what nodes may still take of each limit. An amount is negative if existing nodes
// exceed the limit already.
func (ix *Index) LimitsLeft() []int64 {
	left := make([]int64, len(ix.Limits))
	for i := range ix.Limits {
		left[i] = ix.Limits[i].Most - ix.Limits[i].Used
	}
	return left
}

// LimitsOf are the limits that nodes of the pool may take of.
func (ix *Index) LimitsOf(pool *Pool) []int { return pool.limits }

// sizesOfLimit orders the offerings of limit i by what a node takes.
func (ix *Index) sizesOfLimit(i int) *sizes {
	l := &ix.Limits[i]
	if l.sizes == nil {
		made := ix.sizesBy(slices.Collect(l.offerings.All()), func(j int) int64 { return UseOf(ix.uses[j], i) })
		l.sizes = &made
	}
	return l.sizes
}

// LeastLimitUse is the least that a node of one of the offerings takes of limit i. It reports false
// if one does not count.
func (ix *Index) LeastLimitUse(i int, offerings dense.Set) (least int64, all bool) {
	others := offerings.Clone()
	if others.Without(ix.Limits[i].offerings); !others.Empty() {
		return 0, false
	}
	return ix.sizesOfLimit(i).least(offerings), true
}

// KeepWithin removes the offerings from the set of which a node takes more of a limit than is left.
func (ix *Index) KeepWithin(set dense.Set, left []int64) {
	exceeding := ix.Feasibilities.ScratchSet
	for i, amount := range left {
		copy(exceeding, ix.Limits[i].offerings)
		ix.sizesOfLimit(i).KeepAtLeast(exceeding, amount+1)
		set.Without(exceeding)
	}
}

// ByLimitShare are the pool's offerings, ordered by the greatest part of any limit that one takes.
// Offerings that take equal parts are in order of price.
func (ix *Index) ByLimitShare(pool *Pool) []int {
	if pool.byLimitShare != nil {
		return pool.byLimitShare
	}
	offerings := slices.Collect(pool.Offerings.All())
	if len(pool.limits) > 0 {
		shares := make(map[int]float64, len(offerings))
		for _, j := range offerings {
			for _, use := range ix.uses[j] {
				shares[j] = max(shares[j], float64(use.Amount)/float64(max(ix.Limits[use.Limit].Most, 1)))
			}
		}
		slices.SortFunc(offerings, func(a, b int) int {
			return cmp.Or(cmp.Compare(shares[a], shares[b]), cmp.Compare(a, b))
		})
	}
	pool.byLimitShare = offerings
	return offerings
}

// UseOf is the amount that the uses have of limit i.
func UseOf(uses []Use, i int) int64 {
	for _, use := range uses {
		if use.Limit == i {
			return use.Amount
		}
	}
	return 0
}

// MostUse is the most that offering own or one of the set takes of each limit.
func (ix *Index) MostUse(own int, set iter.Seq[int]) []Use {
	most := slices.Clone(ix.LimitUse(own))
	for j := range set {
		most = maxUse(most, ix.LimitUse(j))
	}
	return most
}

// maxUse has the greater amount of each limit of a and b. It may change a and return it.
func maxUse(a, b []Use) []Use {
	for _, use := range b {
		at, found := slices.BinarySearchFunc(a, use.Limit, func(u Use, i int) int { return cmp.Compare(u.Limit, i) })
		if found {
			a[at].Amount = max(a[at].Amount, use.Amount)
		} else {
			a = slices.Insert(a, at, use)
		}
	}
	return a
}
