package intent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Withdrawal is a claim to delete before its launch.
type Withdrawal struct {
	Claim *api.NodeClaim
	// Message names the limit and the remedy, or says until when the pool sleeps.
	Message string
}

// Withdrawals are the claims without an instance whose launch would exceed a limit of their pool, or whose
// pool sleeps.
// Older claims keep their place. Provision and disrupt each write claims within the limits that they
// read. Two claims that were written at the same time may exceed them together. Only provision
// launches, so that its check before the launch keeps the limits. The snapshot must have all claims.
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
	for i := range pools {
		if rest := pools[i].Rest(now); rest.Asleep {
			for _, claim := range useOf(&pools[i], snapshot, types).waiting {
				withdrawn = append(withdrawn, Withdrawal{
					Claim: claim, Message: fmt.Sprintf("nodepool %q gets no nodes: %s", pools[i].Name, rest)})
			}
		} else if len(pools[i].Spec.Limits) > 0 {
			withdrawn = append(withdrawn, withdrawalsOf(&pools[i], snapshot, types)...)
		}
	}
	return withdrawn
}

func withdrawalsOf(
	pool *api.NodePool, snapshot *plan.Snapshot, types func(*api.NodeClaim) []catalog.InstanceType,
) []Withdrawal {
	use := useOf(pool, snapshot, types)
	used := use.used
	var withdrawn []Withdrawal
	for _, claim := range use.waiting {
		all := sum(used, capacityOf(&plan.Node{NodeClaim: claim}, types))
		staying := all
		if len(claim.Names(api.ReplacesAnnotationKey)) > 0 {
			staying = without(all, use.going)
		}
		if exceeded := exceeds(pool, staying); exceeded != "" {
			withdrawn = append(withdrawn, Withdrawal{Claim: claim, Message: exceeded})
			continue
		}
		used = all
	}
	return withdrawn
}

// poolUse is what the nodes of a pool take of its limits.
type poolUse struct {
	used corev1.ResourceList
	// going is the part of used whose nodes others of the pool replace.
	going corev1.ResourceList
	// waiting are the claims without an instance, the oldest first. They are not in used.
	waiting []*api.NodeClaim
}

func useOf(
	pool *api.NodePool, snapshot *plan.Snapshot, types func(*api.NodeClaim) []catalog.InstanceType,
) poolUse {
	use := poolUse{used: corev1.ResourceList{}, going: corev1.ResourceList{}}
	counted := countedNodes(pool, snapshot)
	replaced := map[string]bool{}
	for _, node := range counted {
		if node.NodeClaim != nil && !scheduling.IsLeaving(node.NodeClaim, node.Node) {
			for _, name := range node.NodeClaim.Names(api.ReplacesAnnotationKey) {
				replaced[name] = pool.Spec.Replicas == nil
			}
		}
	}
	for _, node := range counted {
		claim := node.NodeClaim
		if claim != nil && claim.Status.ProviderID == "" && claim.DeletionTimestamp == nil {
			use.waiting = append(use.waiting, claim)
			continue
		}
		takes := capacityOf(node, types)
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

// countedNodes are the pool's nodes that count against its limits.
func countedNodes(pool *api.NodePool, snapshot *plan.Snapshot) []*plan.Node {
	var counted []*plan.Node
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		leaves := pool.Spec.Replicas == nil && scheduling.IsLeaving(node.NodeClaim, node.Node)
		if node.Pool() == pool.Name && !leaves {
			counted = append(counted, node)
		}
	}
	return counted
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

// exceeds names the first limit that the amounts exceed, or nothing.
func exceeds(pool *api.NodePool, amounts corev1.ResourceList) string {
	names := make([]string, 0, len(pool.Spec.Limits))
	for name := range pool.Spec.Limits {
		names = append(names, string(name))
	}
	slices.Sort(names)
	for _, name := range names {
		limit, amount := pool.Spec.Limits[corev1.ResourceName(name)], amounts[corev1.ResourceName(name)]
		if amount.Cmp(limit) > 0 {
			return fmt.Sprintf("nodepool %q: the nodeclaim was written at the same time as others, and %s of %s together "+
				"exceed spec.limits of %s: raise spec.limits, or wait until nodes are gone",
				pool.Name, amount.String(), name, limit.String())
		}
	}
	return ""
}
