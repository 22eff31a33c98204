package instancetypes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/kubelet/evaluation"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/nodecost"
)

// Table holds the instance types for a plan.
type Table struct {
	// WellKnownLabels are keys that pods may require although no NodePool defines them, besides the
	// built-in ones.
	WellKnownLabels []string
	// MaximumTypes is the greatest number of types of a claim; zero for the planner's own.
	MaximumTypes int
	// Prices is a line that says where the prices come from, for people.
	Prices string

	// types are for the NodePools without a list in pools.
	types []catalog.InstanceType
	pools map[string][]catalog.InstanceType
	// reservations is a file's label key for reservations; empty for AWS's.
	reservations string

	// facts are the catalogue from which each node class resolves its types. Without a catalogue it
	// is nil.
	facts    *catalog.Catalog
	observed catalog.Observed
	now      time.Time
	// assume fills an unresolved class. Without a cluster nobody resolves it.
	assume bool
	// builtin says that the facts are the built-in ones, which lack some of EC2's types.
	builtin bool
	// byClass caches the types of each class.
	byClass map[string][]catalog.InstanceType
}

// Builtin returns the built-in table.
func Builtin(now time.Time) (*Table, error) {
	facts, err := builtin.Catalog(now)
	if err != nil {
		return nil, err
	}
	priced, err := builtin.PricesTime()
	if err != nil {
		return nil, err
	}
	return &Table{
		Prices: fmt.Sprintf("built in, %s, %s; spot prices are examples",
			builtin.Region, priced.Format("2006-01")),
		facts: facts, now: now, assume: true, builtin: true, byClass: map[string][]catalog.InstanceType{},
	}, nil
}

// OfAWS returns what a region offers, for plans without a cluster.
func OfAWS(facts *catalog.Catalog, now time.Time) *Table {
	table := OfCatalog(facts, catalog.Observed{}, now)
	table.Prices, table.assume = "AWS, "+facts.Region+"; "+facts.PriceAges(now), true
	return table
}

// OfCatalog returns a cluster's catalogue with later observations: without unavailable offerings,
// with the observed capacity of nodes, and with the instances left in reservations.
func OfCatalog(facts *catalog.Catalog, observed catalog.Observed, now time.Time) *Table {
	return &Table{
		Prices: "the cluster's catalogue; " + facts.PriceAges(now),
		facts:  facts, observed: observed, now: now, byClass: map[string][]catalog.InstanceType{},
	}
}

// Reserved sets the free instances of capacity reservations, by id, for plans without a cluster.
func (t *Table) Reserved(free map[string]int) { t.observed.Reservations = free }

// Of returns the types for a NodePool. class is the pool's node class, or nil if it is unknown.
func (t *Table) Of(pool *api.NodePool, class *api.EC2NodeClass) []catalog.InstanceType {
	if t.facts == nil {
		if types, ok := t.pools[pool.Name]; ok {
			return types
		}
		return t.types
	}
	if class = t.classOf(pool, class); class == nil {
		return nil
	}
	types, ok := t.byClass[class.Name]
	if !ok {
		if t.assume {
			class = t.assumed(class)
		}
		types = catalog.Resolve(t.facts, nodeclass.Planned(class), t.observed, t.now)
		t.byClass[class.Name] = types
	}
	return types
}

// evaluate evaluates the class's kubelet expressions, for a plan without a cluster. It returns why the
// class has no types, or an empty text. In a cluster, lifecycle evaluates them. The types of a
// user's own table do not depend on the class.
func (t *Table) evaluate(class *api.EC2NodeClass) (problem string, err error) {
	if !t.assume || !kubelet.HasExpressions(class) {
		return "", nil
	}
	inputs, err := kubelet.Inputs(class)
	if err != nil {
		return "", err
	}
	evaluated, err := evaluation.Of(class, t.facts)
	if err != nil {
		return "", err
	}
	if t.observed.Kubelet == nil {
		t.observed.Kubelet = kubelet.Evaluations{}
	}
	t.observed.Kubelet[inputs] = evaluated
	return evaluated.Message, nil
}

// extras returns what a node of the pool costs an hour beside its instance. class is as for Of.
func (t *Table) extras(pool *api.NodePool, class *api.EC2NodeClass) float64 {
	return nodecost.Extras(t.facts, t.classOf(pool, class), pool)
}

// classOf returns the class. Offline it returns a class with AL2023 for an unknown one.
func (t *Table) classOf(pool *api.NodePool, class *api.EC2NodeClass) *api.EC2NodeClass {
	if class != nil || !t.assume {
		return class
	}
	class = &api.EC2NodeClass{}
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
		class.Name = ref.Name
	}
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@" + api.AliasVersionLatest}}
	return class
}

// assumed returns the class. Where its status is empty, it gets a subnet in each zone and images
// for both architectures.
func (t *Table) assumed(class *api.EC2NodeClass) *api.EC2NodeClass {
	class = class.DeepCopy()
	if len(class.Status.Subnets) == 0 {
		for i, zone := range t.facts.Zones {
			class.Status.Subnets = append(
				class.Status.Subnets, api.Subnet{ID: fmt.Sprintf("subnet-%d", i), Zone: zone.ZoneName, ZoneID: zone.ZoneID},
			)
		}
	}
	if len(class.Status.AMIs) == 0 {
		for _, architecture := range []string{api.ArchitectureAmd64, api.ArchitectureArm64} {
			id := "ami-" + architecture
			class.Status.AMIs = append(class.Status.AMIs, api.AMI{ID: id, Requirements: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{architecture}},
			}})
		}
	}
	return class
}
