package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// aspect is a value of one of the labels by which things are left out.
type aspect struct{ key, value string }

func aspectValue(key string, pool *pool, typ *catalog.InstanceType, offering *catalog.Offering) string {
	switch key {
	case api.NodePoolLabelKey:
		return pool.name()
	case corev1.LabelTopologyZone:
		return offering.Zone
	case api.CapacityTypeLabelKey:
		return offering.CapacityType
	}
	return typ.Name
}

// leavesOut reports whether the plan makes no use of the offering.
func (p *offerings) leavesOut(pool *pool, typ *catalog.InstanceType, offering *catalog.Offering) bool {
	return slices.ContainsFunc(p.leftOut, func(a aspect) bool { return aspectValue(a.key, pool, typ, offering) == a.value })
}
