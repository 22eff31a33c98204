package offering

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// Exclusion excludes the offerings that have a value of an attribute. The key is the label of the
// NodePool, the zone, the capacity type or the instance type.
type Exclusion struct{ Key, Value string }

// AttributeValue is the value that an offering has of an exclusion's key.
func AttributeValue(key string, pool *Pool, typ *catalog.InstanceType, offering *catalog.Offering) string {
	switch key {
	case api.NodePoolLabelKey:
		return pool.Name()
	case corev1.LabelTopologyZone:
		return offering.Zone
	case api.CapacityTypeLabelKey:
		return offering.CapacityType
	}
	return typ.Name
}

// excludes reports whether the plan must not use the offering.
func (ix *Index) excludes(pool *Pool, typ *catalog.InstanceType, offering *catalog.Offering) bool {
	return slices.ContainsFunc(ix.Exclusions, func(e Exclusion) bool {
		return AttributeValue(e.Key, pool, typ, offering) == e.Value
	})
}
