package offering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/dense"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Pool is a NodePool as new nodes can be made from it.
type Pool struct {
	NodePool *api.NodePool
	// types are those of the pool's class.
	types *typeList
	// Requirements are those of the template with its labels, as what a node of the pool will have.
	Requirements scheduling.Requirements
	// MinValues are the keys that the types of one launch must offer several values of, with how many.
	MinValues map[string]int
	Limits    []Limit
	// mentioned are the facts of the labels that the pool's own requirements speak of, where they are
	// known from reading its types.
	mentioned map[string]keyFacts
	// pool types are the pool's: a range of pool types.
	FirstType, EndType int
	// Offerings are those of the pool types, byShare the same by their share of the limits,
	// once it has been asked for.
	Offerings dense.Set
	byShare   []int
	// Problem is why the pool makes no nodes at all; empty if it does.
	Problem string
}

func (p *Pool) Name() string { return p.NodePool.Name }

func (p *Pool) weight() int32 {
	if p.NodePool.Spec.Weight == nil {
		return 0
	}
	return *p.NodePool.Spec.Weight
}

// readPools fills in pools, pool types and offerings. Pools are sorted by weight, heaviest first,
// then by name.
func (ix *Index) readPools() {
	classes := map[string]*api.EC2NodeClass{}
	for i := range ix.Work.Snapshot.NodeClasses {
		classes[ix.Work.Snapshot.NodeClasses[i].Name] = &ix.Work.Snapshot.NodeClasses[i]
	}
	for i := range ix.Work.Snapshot.NodePools {
		nodePool := &ix.Work.Snapshot.NodePools[i]
		pool := &Pool{NodePool: nodePool}
		ix.Pools = append(ix.Pools, pool)
		pool.types = ix.typesOfPool(nodePool.Name)
		if pool.Problem = poolProblem(nodePool, classes, pool.types); pool.Problem == "" {
			pool.Problem = pool.readRequirements()
		}
	}
	slices.SortFunc(ix.Pools, func(a, b *Pool) int {
		return cmp.Or(-cmp.Compare(a.weight(), b.weight()), strings.Compare(a.Name(), b.Name()))
	})
	ix.readLimits()
	daemons := ReadDaemonSets(ix.Work.Snapshot.DaemonSets, ix.Work.Axes)
	for _, pool := range ix.Pools {
		pool.FirstType = len(ix.PoolTypes)
		if pool.Problem == "" {
			ix.readPoolTypes(pool, daemons)
		}
		pool.EndType = len(ix.PoolTypes)
		if pool.Problem == "" && pool.FirstType == pool.EndType {
			pool.Problem = pool.explainNoTypes()
		}
	}
}

// poolProblem is why a pool makes no nodes, whatever the pods.
func poolProblem(nodePool *api.NodePool, classes map[string]*api.EC2NodeClass, types *typeList) string {
	switch ref := nodePool.Spec.Template.Spec.NodeClassRef; {
	case nodePool.DeletionTimestamp != nil:
		return "is being deleted"
	case nodePool.Spec.Replicas != nil:
		return "has a fixed number of nodes (spec.replicas) and launches none for pods"
	case isFalse(nodePool.Status.Conditions, api.ConditionReady):
		return fmt.Sprintf("is not ready: %s", api.GetCondition(nodePool.Status.Conditions, api.ConditionReady).Message)
	case len(types.all) > 0 && (ref == nil || classes[ref.Name] == nil):
		return "" // it is planned with the instance types as given
	case ref == nil:
		return "names no node class: set spec.template.spec.nodeClassRef"
	case classes[ref.Name] == nil:
		return fmt.Sprintf(
			"node class %q does not exist, and the pool has no list of instance types: "+
				"create it or change spec.template.spec.nodeClassRef",
			ref.Name,
		)
	case classes[ref.Name].DeletionTimestamp != nil:
		return fmt.Sprintf("node class %q is being deleted", ref.Name)
	case isFalse(classes[ref.Name].Status.Conditions, api.ConditionReady):
		return fmt.Sprintf(
			"node class %q is not ready: %s",
			ref.Name,
			api.GetCondition(classes[ref.Name].Status.Conditions, api.ConditionReady).Message,
		)
	}
	return ""
}

func (p *Pool) readRequirements() string {
	template := &p.NodePool.Spec.Template
	requirements, err := scheduling.FromTerms(template.Spec.Requirements)
	if err != nil {
		return fmt.Sprintf("spec.template.spec.requirements: %v", err)
	}
	requirements.Merge(scheduling.FromLabels(template.Labels))
	requirements.Add(scheduling.In(api.NodePoolLabelKey, p.NodePool.Name))
	if ref := template.Spec.NodeClassRef; ref != nil {
		requirements.Add(scheduling.In(ref.Group+"/"+strings.ToLower(ref.Kind), ref.Name))
	}
	p.Requirements = requirements
	p.MinValues = map[string]int{}
	for _, key := range requirements.Keys() {
		r := requirements[key]
		if r.Empty() {
			return fmt.Sprintf(
				"spec.template.spec.requirements and labels allow no value of %q: they contradict each other",
				key,
			)
		}
		if n, ok := r.MinValues(); ok && n > 1 {
			p.MinValues[key] = n
		}
	}
	return ""
}

func isFalse(conditions []metav1.Condition, conditionType string) bool {
	c := api.GetCondition(conditions, conditionType)
	return c != nil && c.Status == metav1.ConditionFalse
}

// explainNoTypes says why a pool that is in order has nothing to buy.
func (p *Pool) explainNoTypes() string {
	if len(p.types.all) == 0 {
		return "no instance type is known for its node class: " +
			"its subnets or images are not resolved yet, or the catalog is empty"
	}
	allowed, known := 0, 0
	for i := range p.types.all {
		if p.allowsType(p.types.all[i]) {
			allowed++
			for j := range p.types.all[i].Offerings {
				if p.types.all[i].Offerings[j].AllowedBy(p.Requirements) {
					known++
				}
			}
		}
	}
	if allowed > 0 {
		return fmt.Sprintf(
			"no offering available: %d of %d instance types meet its requirements, "+
				"but none of their %d offerings in its zones and capacity types has a known price and capacity now",
			allowed,
			len(p.types.all),
			known,
		)
	}
	for _, key := range p.Requirements.Keys() {
		want := p.Requirements[key]
		if !slices.ContainsFunc(p.types.all, func(t *catalog.InstanceType) bool {
			have, ok := t.Requirements[key]
			return !ok || have.Intersects(want)
		}) {
			return fmt.Sprintf(
				"none of %d instance types has %s: change spec.template.spec.requirements",
				len(p.types.all),
				want,
			)
		}
	}
	return fmt.Sprintf("none of %d instance types meets all of spec.template.spec.requirements together", len(p.types.all))
}
