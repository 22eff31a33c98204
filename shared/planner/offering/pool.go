package offering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/dense"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Pool is a NodePool or a variant of one, with what new nodes of it can be.
type Pool struct {
	NodePool *api.NodePool
	types    *typeList
	// Template are the requirements of the template together with its labels. Requirements are what a
	// node of the pool meets: the same, or those of a variant.
	Template, Requirements scheduling.Requirements
	// MinValues has the keys with minValues: the instance types of one launch must offer at least so
	// many values of the key.
	MinValues map[string]int
	// limits are positions in Index.Limits, of those that nodes of the pool may take of.
	limits []int
	// mentions says for the keys of Requirements whether the pool's offerings mention them. It is nil
	// if readPoolTypes did not find out.
	mentions map[string]labelMentions
	// FirstType and EndType are the range of the pool's types in Index.PoolTypes.
	FirstType, EndType int
	// Offerings are those of the pool's types. byLimitShare remembers the answer of ByLimitShare.
	Offerings    dense.Set
	byLimitShare []int
	// unfit are offerings that a NodeClaim must not allow.
	unfit []unfitOffering
	// crowded are instance types that the pool could buy, were their nodes not too small for their
	// DaemonSets.
	crowded []crowdedType
	// Problem says why the pool launches no nodes at all. It is empty if the pool does.
	Problem string
}

// Name is the name of the NodePool.
func (p *Pool) Name() string { return p.NodePool.Name }

func (p *Pool) weight() int32 {
	if p.NodePool.Spec.Weight == nil {
		return 0
	}
	return *p.NodePool.Spec.Weight
}

// readPools fills in the limits, and the pools with their pool types and their offerings. The
// offerings are not sorted yet.
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
	daemonSets := &daemonSetSums{all: ReadDaemonSets(ix.Work.Snapshot.DaemonSets, ix.Work.Axes)}
	ix.divide(daemonSets.all)
	for _, pool := range ix.Pools {
		pool.FirstType = len(ix.PoolTypes)
		if pool.Problem == "" {
			ix.readPoolTypes(pool, daemonSets)
		}
		pool.EndType = len(ix.PoolTypes)
		if pool.Problem == "" && pool.FirstType == pool.EndType {
			pool.Problem = ix.explainNoTypes(pool)
		}
	}
}

// readRequirements fills in the requirements and minValues. It returns what is wrong with them.
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
	p.Template, p.Requirements = requirements, requirements
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
