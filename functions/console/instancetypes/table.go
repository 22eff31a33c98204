// Package instancetypes reads the instance types that a plan is made with from a file:
// in Karpenter's kwok form, in the snapshot form, or as the catalogue that Whittle keeps
// in a cluster. Without a file there is the built-in table.
package instancetypes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// Table is what can be bought.
type Table struct {
	// WellKnownLabels are keys that pods may ask for although no NodePool defines them,
	// beside those built in.
	WellKnownLabels []string

	// types are for every NodePool that pools has no list for.
	types []catalog.InstanceType
	pools map[string][]catalog.InstanceType

	// facts are what types are made from for each node class, where the table is a
	// catalogue; nil where types are given as they are.
	facts    *catalog.Snapshot
	observed catalog.Observed
	now      time.Time
	// assume says that what nobody has resolved of a class is taken for granted: where
	// there is no cluster, nobody will.
	assume bool
	// byClass remembers what has been made for a class.
	byClass map[string][]catalog.InstanceType
}

// Builtin is the built-in table.
func Builtin(now time.Time) (*Table, error) {
	facts, err := builtin.Snapshot(now)
	if err != nil {
		return nil, err
	}
	return &Table{facts: facts, now: now, assume: true, byClass: map[string][]catalog.InstanceType{}}, nil
}

// OfCatalog is what a cluster's catalogue has, by what has been observed since: without
// the offerings that are not available, with the capacity that nodes were seen to have
// and the reservations that have instances left.
func OfCatalog(facts *catalog.Snapshot, observed catalog.Observed, now time.Time) *Table {
	return &Table{facts: facts, observed: observed, now: now, byClass: map[string][]catalog.InstanceType{}}
}

// Of are the types that nodes of a NodePool can be; class is the pool's node class, nil
// if it is not known.
func (t *Table) Of(pool *api.NodePool, class *api.EC2NodeClass) []catalog.InstanceType {
	if t.facts == nil {
		if types, ok := t.pools[pool.Name]; ok {
			return types
		}
		return t.types
	}
	if class == nil {
		if !t.assume {
			return nil
		}
		class = &api.EC2NodeClass{}
		if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil {
			class.Name = ref.Name
		}
		class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@" + api.AliasVersionLatest}}
	}
	types, ok := t.byClass[class.Name]
	if !ok {
		if t.assume {
			class = t.assumed(class)
		}
		types = catalog.Resolve(t.facts, class, t.observed, t.now)
		t.byClass[class.Name] = types
	}
	return types
}

// assumed is the class with a subnet in each zone and images for both architectures,
// where its status has none.
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
			class.Status.AMIs = append(class.Status.AMIs, api.AMI{ID: "ami-" + architecture, Requirements: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{architecture}},
			}})
		}
	}
	return class
}
