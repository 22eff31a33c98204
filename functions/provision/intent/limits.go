package intent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/plan"
	planner "github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Withdrawal is a claim to delete before its launch.
type Withdrawal struct {
	Claim *api.NodeClaim
	// Message names the limit and the remedy, or says until when the pool sleeps.
	Message string
}

// Withdrawals are the claims without an instance whose launch would exceed a limit, or whose pool
// sleeps. Older claims keep their place. Provision and disrupt each write claims within the limits
// that they read. Two claims that were written at the same time may exceed them together. Only
// provision launches, so that its check before the launch keeps the limits. The snapshot must have
// all claims.
//
// A claim counts as in the planner: with the capacity in its status, or with the most that one of its
// types has. Claims that leave do not count. Claims that others of the pool replace do not count against
// these others, which take their room, so that a pool at its limit can replace its nodes. A claim whose
// pods come to other nodes may stay after all, and counts. Everything counts in a pool with a fixed
// number of nodes, whose limit is one of machines.
func Withdrawals(
	pools []api.NodePool, snapshot *plan.Snapshot, types func(*api.NodeClaim) []catalog.InstanceType, now time.Time,
) []Withdrawal {
	var withdrawn []Withdrawal
	var awake []*api.NodePool
	for i := range pools {
		rest := pools[i].Rest(now)
		if !rest.Asleep {
			awake = append(awake, &pools[i])
			continue
		}
		for j := range snapshot.Nodes {
			if node := &snapshot.Nodes[j]; node.Pool() == pools[i].Name && waits(node.NodeClaim) {
				withdrawn = append(withdrawn, Withdrawal{
					Claim: node.NodeClaim, Message: fmt.Sprintf("nodepool %q gets no nodes: %s", pools[i].Name, rest)})
			}
		}
	}
	w := &withdrawals{snapshot: snapshot, types: types, pools: map[string]*api.NodePool{}, gone: map[*api.NodeClaim]bool{}}
	for i := range pools {
		w.pools[pools[i].Name] = &pools[i]
	}
	for i := range withdrawn {
		w.gone[withdrawn[i].Claim] = true
	}
	for _, l := range limit.Of(awake, snapshot.Limits) {
		withdrawn = append(withdrawn, w.of(l)...)
	}
	return withdrawn
}

// KeepWithin keeps the claims, which are not written yet, that limits allow beside the nodes of the
// snapshot. It says of which limit others would take too much.
func KeepWithin(
	claims []api.NodeClaim, snapshot *plan.Snapshot, types func(*api.NodeClaim) []catalog.InstanceType, now time.Time,
) (kept []api.NodeClaim, exceeded string) {
	if len(snapshot.Limits) == 0 {
		return claims, ""
	}
	with := *snapshot
	with.Nodes = slices.Clone(snapshot.Nodes)
	at := map[*api.NodeClaim]int{}
	for i := range claims {
		claim := claims[i].DeepCopy()
		claim.CreationTimestamp.Time = now // the youngest
		with.Nodes = append(with.Nodes, plan.Node{NodeClaim: claim})
		at[claim] = i
	}
	left := map[int]bool{}
	for _, w := range Withdrawals(nil, &with, types, now) {
		if i, isNew := at[w.Claim]; isNew {
			left[i], exceeded = true, w.Message
		}
	}
	for i := range claims {
		if !left[i] {
			kept = append(kept, claims[i])
		}
	}
	return kept, exceeded
}

// withdrawals is what all limits need to know.
type withdrawals struct {
	snapshot *plan.Snapshot
	types    func(*api.NodeClaim) []catalog.InstanceType
	pools    map[string]*api.NodePool
	// gone are the claims that are withdrawn already.
	gone map[*api.NodeClaim]bool
}

func (w *withdrawals) of(l *limit.Limit) []Withdrawal {
	use := w.useOf(l)
	used := use.used
	var withdrawn []Withdrawal
	for _, claim := range use.waiting {
		all := sum(used, w.takes(&plan.Node{NodeClaim: claim}))
		staying := all
		if len(claim.Names(api.ReplacesAnnotationKey)) > 0 {
			staying = without(all, use.going)
		}
		if exceeded := exceeds(l, staying); exceeded != "" {
			withdrawn = append(withdrawn, Withdrawal{Claim: claim, Message: exceeded})
			w.gone[claim] = true
			continue
		}
		used = all
	}
	return withdrawn
}

// limitUse is what nodes take of a limit.
type limitUse struct {
	used corev1.ResourceList
	// going is the part of used whose nodes others of the limit replace.
	going corev1.ResourceList
	// waiting are the claims without an instance, the oldest first. They are not in used.
	waiting []*api.NodeClaim
}

func (w *withdrawals) useOf(l *limit.Limit) limitUse {
	use := limitUse{used: corev1.ResourceList{}, going: corev1.ResourceList{}}
	counted := w.counted(l)
	replaced := map[string]bool{}
	for _, node := range counted {
		if node.NodeClaim != nil && !scheduling.IsLeaving(node.NodeClaim, node.Node) {
			for _, name := range node.NodeClaim.Names(api.ReplacesAnnotationKey) {
				replaced[name] = !w.keepsNumber(node)
			}
		}
	}
	for _, node := range counted {
		claim := node.NodeClaim
		if waits(claim) {
			use.waiting = append(use.waiting, claim)
			continue
		}
		takes := w.takes(node)
		use.used = sum(use.used, takes)
		if claim != nil && replaced[claim.Name] && len(claim.Names(api.ReplacedByAnnotationKey)) > 0 {
			use.going = sum(use.going, takes)
		}
	}
	slices.SortFunc(use.waiting, func(a, b *api.NodeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return use
}

// waits reports whether the claim has no instance yet, and shall get one.
func waits(claim *api.NodeClaim) bool {
	return claim != nil && claim.Status.ProviderID == "" && claim.DeletionTimestamp == nil
}

// keepsNumber reports whether the node's pool has a fixed number of nodes.
func (w *withdrawals) keepsNumber(node *plan.Node) bool {
	pool := w.pools[node.Pool()]
	return pool != nil && pool.Spec.Replicas != nil
}

// counted are the nodes that count against the limit.
func (w *withdrawals) counted(l *limit.Limit) []*plan.Node {
	var counted []*plan.Node
	for i := range w.snapshot.Nodes {
		node := &w.snapshot.Nodes[i]
		leaves := !w.keepsNumber(node) && scheduling.IsLeaving(node.NodeClaim, node.Node)
		if !leaves && !w.gone[node.NodeClaim] && l.Counts(node, w.snapshot.InstanceTypes) {
			counted = append(counted, node)
		}
	}
	return counted
}

// takes is what the node takes of limits.
func (w *withdrawals) takes(node *plan.Node) corev1.ResourceList {
	takes := capacityOf(node, w.types)
	price := planner.AmountOfDollars(limit.Price(node, w.snapshot.InstanceTypes))
	takes[api.ResourceDollarsPerHour] = *planner.QuantityOf(api.ResourceDollarsPerHour, price)
	return takes
}

// without is the amounts less others.
func without(amounts, less corev1.ResourceList) corev1.ResourceList {
	left := amounts.DeepCopy()
	for name, quantity := range less {
		amount := left[name]
		amount.Sub(quantity)
		left[name] = amount
	}
	return left
}

// capacityOf is what the node takes of limits: what its claim says, else what the node says, else the
// most of each resource among the types that the claim allows.
func capacityOf(node *plan.Node, types func(*api.NodeClaim) []catalog.InstanceType) corev1.ResourceList {
	capacity := node.Capacity().DeepCopy()
	if capacity == nil {
		capacity = corev1.ResourceList{}
	}
	if claim := node.NodeClaim; len(capacity) == 0 && claim != nil {
		for _, typ := range allowed(claim, types(claim)) {
			for name, quantity := range typ.Capacity {
				if present, ok := capacity[name]; !ok || present.Cmp(quantity) < 0 {
					capacity[name] = quantity
				}
			}
		}
	}
	capacity[api.ResourceNodes] = *resource.NewQuantity(1, resource.DecimalSI)
	return capacity
}

// allowed are the types that the claim names. As in the planner, a claim that names none counts
// against the limit of nodes only.
func allowed(claim *api.NodeClaim, types []catalog.InstanceType) []catalog.InstanceType {
	requirements, err := scheduling.FromTerms(claim.Spec.Requirements)
	if err != nil {
		return nil // the launch reports it
	}
	named, limited := requirements[corev1.LabelInstanceTypeStable]
	var some []catalog.InstanceType
	for i := range types {
		if limited && named.Has(types[i].Name) {
			some = append(some, types[i])
		}
	}
	return some
}

func sum(amounts, more corev1.ResourceList) corev1.ResourceList {
	both := amounts.DeepCopy()
	if both == nil {
		both = corev1.ResourceList{}
	}
	for name, quantity := range more {
		total := both[name]
		total.Add(quantity)
		both[name] = total
	}
	return both
}

// exceeds names the first resource of the limit of which the amounts are more, or nothing.
func exceeds(l *limit.Limit, amounts corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(l.Resources)) {
		most, amount := l.Resources[name], amounts[name]
		if amount.Cmp(most) <= 0 {
			continue
		}
		const together = "the nodeclaim was written at the same time as others, and %s of %s together exceed "
		if l.Pool != "" {
			return fmt.Sprintf("nodepool %q: "+together+"spec.limits of %s: %s, or wait until nodes are gone",
				l.Pool, text(name, &amount), name, text(name, &most), l.Remedy())
		}
		return fmt.Sprintf(together+"the limit of %s%s: %s, or wait until nodes are gone",
			text(name, &amount), name, text(name, &most), l.Owner(), l.Remedy())
	}
	return ""
}

func text(name corev1.ResourceName, quantity *resource.Quantity) string {
	if name == api.ResourceDollarsPerHour {
		return planner.Text(name, planner.AmountUp(name, quantity))
	}
	return quantity.String()
}
