package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// pool is a NodePool as new nodes can be made from it.
type pool struct {
	api *api.NodePool
	// types are those of the pool's class, by name.
	types []*catalog.InstanceType
	// requirements are those of the template with its labels, as what a node of the pool will have.
	requirements scheduling.Requirements
	// open are the keys of requirements whose value neither the pool nor the instance type decides: the first pod that cares decides it.
	open map[string]bool
	// minValues are the keys that the types of one launch must offer several values of, with how many.
	minValues map[string]int
	limits    []limit
	// configs are the pool's: a range of problem.configs.
	firstConfig, endConfig int
	// columns are those of the configs.
	columns bitset
	// problem is why the pool makes no nodes at all; empty if it does.
	problem string
}

func (p *pool) name() string { return p.api.Name }

func (p *pool) weight() int32 {
	if p.api.Spec.Weight == nil {
		return 0
	}
	return *p.api.Spec.Weight
}

// config is an instance type in a pool: what a node has, whatever its zone and price.
type config struct {
	pool *pool
	typ  *catalog.InstanceType
	// free is the allocatable less the daemon sets.
	free vector
	// daemons are the requests of the daemon sets that will run on the node, daemonPorts the node's ports that they take.
	daemons     corev1.ResourceList
	daemonPorts []hostPort
	// use is what a node takes of the pool's limits, in their order.
	use []int64
	// columns are those that buy it, cheapest first.
	columns []int
}

// readPools fills in pools, configs and columns. Pools are sorted by weight, heaviest first, then by name.
func (p *problem) readPools() {
	classes := map[string]*api.EC2NodeClass{}
	for i := range p.snapshot.NodeClasses {
		classes[p.snapshot.NodeClasses[i].Name] = &p.snapshot.NodeClasses[i]
	}
	for i := range p.snapshot.NodePools {
		nodePool := &p.snapshot.NodePools[i]
		pool := &pool{api: nodePool}
		p.pools = append(p.pools, pool)
		pool.types = p.typesOfPool(nodePool.Name)
		if pool.problem = poolProblem(nodePool, classes, pool.types); pool.problem == "" {
			pool.problem = pool.readRequirements()
		}
	}
	slices.SortFunc(p.pools, func(a, b *pool) int {
		return cmp.Or(-cmp.Compare(a.weight(), b.weight()), strings.Compare(a.name(), b.name()))
	})
	p.readLimits()
	daemons := readDaemons(p.snapshot.DaemonSets, p.axes)
	for _, pool := range p.pools {
		pool.firstConfig = len(p.configs)
		if pool.problem == "" {
			p.readConfigs(pool, daemons)
		}
		pool.endConfig = len(p.configs)
		if pool.problem == "" && pool.firstConfig == pool.endConfig {
			pool.problem = pool.explainNoTypes()
		}
	}
}

// typesOfPool are the pool's instance types, by name whatever order the snapshot has them in.
func (p *problem) typesOfPool(name string) []*catalog.InstanceType {
	if types, ok := p.types[name]; ok {
		return types
	}
	all := p.snapshot.InstanceTypes[name]
	types := make([]*catalog.InstanceType, len(all))
	for i := range all {
		types[i] = &all[i]
	}
	slices.SortStableFunc(types, func(a, b *catalog.InstanceType) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		// A name may stand for one type with each operating system.
		return strings.Compare(a.Requirements.String(), b.Requirements.String())
	})
	p.types[name] = types
	return types
}

// poolProblem is why a pool makes no nodes, whatever the pods.
func poolProblem(nodePool *api.NodePool, classes map[string]*api.EC2NodeClass, types []*catalog.InstanceType) string {
	switch ref := nodePool.Spec.Template.Spec.NodeClassRef; {
	case nodePool.DeletionTimestamp != nil:
		return "is being deleted"
	case nodePool.Spec.Replicas != nil:
		return "has a fixed number of nodes (spec.replicas) and launches none for pods"
	case isFalse(nodePool.Status.Conditions, api.ConditionReady):
		return fmt.Sprintf("is not ready: %s", api.GetCondition(nodePool.Status.Conditions, api.ConditionReady).Message)
	case len(types) > 0 && (ref == nil || classes[ref.Name] == nil):
		return "" // it is planned with the instance types as given
	case ref == nil:
		return "names no node class: set spec.template.spec.nodeClassRef"
	case classes[ref.Name] == nil:
		return fmt.Sprintf("node class %q does not exist: create it or change spec.template.spec.nodeClassRef", ref.Name)
	case classes[ref.Name].DeletionTimestamp != nil:
		return fmt.Sprintf("node class %q is being deleted", ref.Name)
	case isFalse(classes[ref.Name].Status.Conditions, api.ConditionReady):
		return fmt.Sprintf("node class %q is not ready: %s", ref.Name, api.GetCondition(classes[ref.Name].Status.Conditions, api.ConditionReady).Message)
	}
	return ""
}

func (p *pool) readRequirements() string {
	template := &p.api.Spec.Template
	requirements, err := scheduling.FromTerms(template.Spec.Requirements)
	if err != nil {
		return fmt.Sprintf("spec.template.spec.requirements: %v", err)
	}
	requirements.Merge(scheduling.FromLabels(template.Labels))
	requirements.Add(scheduling.In(api.NodePoolLabelKey, p.api.Name))
	if ref := template.Spec.NodeClassRef; ref != nil {
		requirements.Add(scheduling.In(ref.Group+"/"+strings.ToLower(ref.Kind), ref.Name))
	}
	p.requirements = requirements
	p.minValues = map[string]int{}
	p.open = map[string]bool{}
	decided := decidedKeys(p.types)
	for _, key := range requirements.Keys() {
		r := requirements[key]
		if r.Empty() {
			return fmt.Sprintf("spec.template.spec.requirements and labels allow no value of %q: they contradict each other", key)
		}
		if n, ok := r.MinValues(); ok && n > 1 {
			p.minValues[key] = n
		}
		if _, single := r.Single(); !single && !decided[key] {
			p.open[key] = true
		}
	}
	for i := range p.types {
		for key := range p.types[i].Requirements {
			if _, ok := requirements[key]; !ok && !decided[key] {
				p.open[key] = true
			}
		}
	}
	return ""
}

// decidedKeys are the label keys that a column decides: those of its offering, and those of which each type has one value or none.
func decidedKeys(types []*catalog.InstanceType) map[string]bool {
	decided := map[string]bool{}
	note := func(requirements scheduling.Requirements) {
		for key, r := range requirements {
			values, list := r.Values()
			one := list && len(values) <= 1
			if before, seen := decided[key]; !seen || before {
				decided[key] = one
			}
		}
	}
	for i := range types {
		note(types[i].Requirements)
		for j := range types[i].Offerings {
			note(types[i].Offerings[j].Requirements)
		}
	}
	for _, key := range offeringKeys {
		decided[key] = true
	}
	return decided
}

// offeringKeys are the labels that the offering decides, not the instance type.
var offeringKeys = [...]string{corev1.LabelTopologyZone, api.LabelTopologyZoneID, api.CapacityTypeLabelKey}

// readConfigs adds the pool's types that its requirements allow, with their available offerings.
func (p *problem) readConfigs(pool *pool, daemons []*daemon) {
	forPool := daemonsOf(daemons, pool)
	for _, typ := range pool.types {
		if !pool.allowsType(typ) {
			continue
		}
		// Where the same daemon sets run the node is the same: most often for all offerings.
		byDaemons := map[string][]*catalog.Offering{}
		running := make([]byte, len(forPool))
		for j := range typ.Offerings {
			offering := &typ.Offerings[j]
			if !offering.Available || !offering.AllowedBy(pool.requirements) {
				continue
			}
			for i, d := range forPool {
				running[i] = 0
				if d.runsOn(pool, typ, offering) {
					running[i] = 1
				}
			}
			byDaemons[string(running)] = append(byDaemons[string(running)], offering)
		}
		for _, running := range sortedKeys(byDaemons) {
			c := config{pool: pool, typ: typ, use: pool.use(typ.Capacity), free: p.axes.supply(typ.Allocatable)}
			for i, d := range forPool {
				if running[i] == 0 {
					continue
				}
				if c.daemons == nil {
					c.daemons = corev1.ResourceList{}
				}
				addLists(c.daemons, d.requests)
				c.daemonPorts = append(c.daemonPorts, d.ports...)
				c.free.sub(d.need)
			}
			if slices.ContainsFunc(c.free, func(amount int64) bool { return amount < 0 }) {
				continue // too small for its daemon sets
			}
			for _, offering := range byDaemons[running] {
				p.columns = append(p.columns, column{config: len(p.configs), offering: offering})
			}
			p.configs = append(p.configs, c)
		}
	}
}

// allowsType reports whether the pool's requirements leave room for the type, its offerings apart.
func (p *pool) allowsType(typ *catalog.InstanceType) bool {
	for key, want := range p.requirements {
		if have, ok := typ.Requirements[key]; ok && !have.Intersects(want) {
			return false
		}
	}
	return true
}

func isFalse(conditions []metav1.Condition, conditionType string) bool {
	c := api.GetCondition(conditions, conditionType)
	return c != nil && c.Status == metav1.ConditionFalse
}
