package offering

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// Exclusion is a value of one of the labels by which things are left out.
type Exclusion struct{ Key, Value string }

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

// excludes reports whether the plan makes no use of the offering.
func (ix *Index) excludes(pool *Pool, typ *catalog.InstanceType, offering *catalog.Offering) bool {
	return slices.ContainsFunc(
		ix.Exclusions,
		func(a Exclusion) bool { return AttributeValue(a.Key, pool, typ, offering) == a.Value },
	)
}
