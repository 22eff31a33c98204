package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/registration"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Scaling brings a NodePool with spec.replicas to that number of nodes.
type Scaling struct {
	// Create is how many claims are missing.
	Create int
	// Delete are the surplus nodes.
	Delete []*Node
}

// Replicas compares the nodes of a pool with its spec.replicas. It ignores nodes of other pools,
// and does nothing for a pool without replicas or one that is being deleted.
//
// It creates missing nodes within spec.limits.nodes. Leaving nodes count against that limit,
// because they cost money until they are gone. Surplus nodes go in this order: unlaunched ones,
// empty ones, those with the cheapest evictions, and last those that a person protects. A node that
// disruption has chosen, and will replace, counts as present and not as surplus. The deletion costs
// of pods count as costs of evictions unless they are managed. A pool that sleeps gets no node, and
// its nodes leave within its budgets: see asleep.go. A freeze keeps surplus nodes, and one of
// launches the missing.
//
// See https://karpenter.sh/docs/concepts/nodepools/#specreplicas.
func Replicas(pool *api.NodePool, nodes []Node, managedCosts bool, now time.Time) Scaling {
	if pool.Spec.Replicas == nil || pool.DeletionTimestamp != nil || pool.Rest(now).Asleep {
		return Scaling{}
	}
	var all, chosen int64
	var standing []*Node
	for i := range nodes {
		node := &nodes[i]
		if node.pool() != pool.Name {
			continue
		}
		all++
		switch {
		case node.leaving() || api.ConditionTrue(node.Claim.Status.Conditions, api.ConditionTypeInstanceTerminating):
		case node.chosen():
			chosen++
		default:
			standing = append(standing, node)
		}
	}
	wanted := max(0, *pool.Spec.Replicas)
	if surplus := int64(len(standing)) - wanted; surplus > 0 {
		if pool.Freezes.Of(freeze.Disruptions, pool.Name, now) != nil {
			return Scaling{}
		}
		slices.SortFunc(standing, func(a, b *Node) int {
			return cmp.Or(
				cmp.Compare(a.surplusRank(now), b.surplusRank(now)),
				cmp.Compare(a.cost(managedCosts, now), b.cost(managedCosts, now)),
				cmp.Compare(a.Claim.Name, b.Claim.Name),
			)
		})
		return Scaling{Delete: standing[:surplus]}
	}
	if pool.LaunchesFrozen(now) != nil {
		return Scaling{}
	}
	missing := wanted - int64(len(standing)) - chosen
	if limit, limited := pool.Spec.Limits[api.ResourceNodes]; limited {
		missing = min(missing, limit.MilliValue()/1000-all) // Half a node is none.
	}
	return Scaling{Create: int(max(0, missing))}
}

// surplusRank orders surplus nodes: the lowest goes first.
func (n *Node) surplusRank(now time.Time) int {
	switch {
	case n.Claim.Status.ProviderID == "":
		return 0
	case n.protected(now):
		return 3
	case n.empty():
		return 1
	}
	return 2
}

// cost is the cost of deleting the node: the cost of evicting its pods, in proportion to the part
// of its life that is left.
func (n *Node) cost(managedCosts bool, now time.Time) float64 {
	sum := 0.0
	for _, pod := range n.Pods {
		if scheduling.IsReschedulable(pod) {
			sum += protection.EvictionCost(pod, managedCosts)
		}
	}
	return sum * n.lifeLeft(now)
}

// lifeLeft is the part of the node's life that is left, from 1 for a node that is new or never
// expires, to 0.
func (n *Node) lifeLeft(now time.Time) float64 {
	life := n.Claim.Spec.ExpireAfter.Duration
	if life == nil || *life <= 0 {
		return 1
	}
	left := n.Claim.CreationTimestamp.Add(*life).Sub(now).Seconds() / life.Seconds()
	return max(0, min(left, 1))
}

// Replicas replaces nodes of pools with spec.replicas, each by a node of its own. A node stays if
// its pool's limit leaves no room for another node beside it.
func (s *Cluster) Replicas(candidates []Candidate, now time.Time) (Moves, error) {
	var moves Moves
	count := map[string]int64{}
	for i := range s.Nodes {
		count[s.Nodes[i].pool()]++
	}
	for number, candidate := range candidates {
		pool := candidate.Pool
		if limit, limited := pool.Spec.Limits[api.ResourceNodes]; limited && count[pool.Name] >= limit.Value() {
			moves.Stay = append(moves.Stay, Notice{
				Node:    candidate.Node,
				Message: fmt.Sprintf("spec.limits.nodes of nodepool %q leaves no room for a replacement", pool.Name),
			})
			continue
		}
		claim, _, err := Replica(pool)
		if err != nil {
			return moves, fmt.Errorf("nodepool %q: %w", pool.Name, err)
		}
		count[pool.Name]++
		created := Created{
			Claim:    Replacement(*claim, []*api.NodeClaim{candidate.Node.Claim}, number, now),
			Replaces: []string{candidate.Node.Claim.Name},
		}
		moves.Create = append(moves.Create, created)
		moves.Begin = append(moves.Begin, Move{Candidate: candidate, By: []string{created.Claim.Name}})
	}
	return moves, nil
}

// Joining divides candidates of pools with spec.replicas into those that may get a replacement and
// those that stay, because the last nodes of their pool have not joined. Such a pool gets one node
// at a time.
func (s *Cluster) Joining(candidates []Candidate, now time.Time) (may []Candidate, stay []Notice) {
	var claims []api.NodeClaim
	for i := range s.Nodes {
		claims = append(claims, *s.Nodes[i].Claim)
	}
	gets := map[string]bool{}
	for _, candidate := range candidates {
		pool := candidate.Pool
		brake := registration.BrakeOf(pool, nil, claims, now)
		why := brake.Closed
		if brake.OneNode && gets[pool.Name] {
			why = "its last nodes have not joined the cluster, and it gets one node at a time"
		}
		if why != "" {
			stay = append(stay, Notice{
				Node: candidate.Node, Message: fmt.Sprintf("nodepool %q gets no node for a replacement: %s", pool.Name, why)})
			continue
		}
		gets[pool.Name] = true
		may = append(may, candidate)
	}
	return may, stay
}

// Replica is a claim of the pool for no pod in particular. The template's requirements decide its
// instance type. The error says that they cannot be read.
func Replica(pool *api.NodePool) (*api.NodeClaim, scheduling.Requirements, error) {
	template := pool.Spec.Template.DeepCopy()
	requirements, err := scheduling.FromTerms(template.Spec.Requirements)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.template.spec.requirements: %w", err)
	}
	requirements.Merge(scheduling.FromLabels(template.Labels))
	requirements.Add(
		scheduling.In(api.NodePoolLabelKey, pool.Name), scheduling.In(api.LabelNodeClass, template.Spec.NodeClassRef.Name),
	)
	labels := map[string]string{}
	for key, value := range requirements.Labels() {
		if !api.IsRestrictedLabel(key) {
			labels[key] = value
		}
	}
	maps.Copy(labels, template.Labels)
	block := true
	return &api.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: pool.Name + "-", Labels: labels, Annotations: template.Annotations,
			Finalizers: []string{api.TerminationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: api.APIVersion, Kind: api.NodePoolKind, Name: pool.Name, UID: pool.UID, BlockOwnerDeletion: &block,
			}},
		},
		Spec: api.NodeClaimSpec{
			Taints: template.Spec.Taints, StartupTaints: template.Spec.StartupTaints,
			Requirements: admitted(requirements), NodeClassRef: template.Spec.NodeClassRef,
			TerminationGracePeriod: template.Spec.TerminationGracePeriod, ExpireAfter: template.Spec.ExpireAfter,
		},
	}, requirements, nil
}

// admitted are the terms that the API server accepts on a claim. It refuses a requirement on the label
// of Provisioners, for which the claim's label is enough.
func admitted(requirements scheduling.Requirements) []api.NodeSelectorRequirementWithMinValues {
	return slices.DeleteFunc(requirements.Terms(), func(term api.NodeSelectorRequirementWithMinValues) bool {
		return term.Key == api.ProvisionerNameLabelKey
	})
}
