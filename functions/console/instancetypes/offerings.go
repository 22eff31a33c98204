package instancetypes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// offering is an offering in a form that both file formats convert to.
type offering struct {
	requirements        scheduling.Requirements
	price               float64
	available           bool
	reservationCapacity int
}

// offerings returns one offering for each zone and capacity type that the file's offering names.
// Labels of other keys stay requirements.
func (o *offering) offerings(typ scheduling.Requirements) []catalog.Offering {
	rest := maps.Clone(o.requirements)
	values := func(key string) []string {
		wanted, named := rest[key]
		have, known := typ[key]
		switch {
		case named && known:
			wanted = wanted.Intersection(have)
		case known:
			wanted = have
		}
		list, finite := wanted.Values()
		if !named && !known || !finite {
			return []string{""}
		}
		delete(rest, key)
		return list
	}
	single := func(key string) string {
		value, ok := rest[key].Single()
		if ok {
			delete(rest, key)
		}
		return value
	}
	zoneID, reservation := single(api.LabelTopologyZoneID), single(api.LabelCapacityReservationID)
	zones := values(corev1.LabelTopologyZone)
	capacityTypes := values(api.CapacityTypeLabelKey)
	if len(rest) == 0 {
		rest = nil
	}
	var all []catalog.Offering
	for _, zone := range zones {
		for _, capacityType := range capacityTypes {
			all = append(all, catalog.Offering{
				CapacityType: capacityType, Zone: zone, ZoneID: zoneID, ReservationID: reservation,
				ReservationCapacity: o.reservationCapacity,
				Requirements:        rest, Price: o.price, Available: o.available,
			})
		}
	}
	return all
}

// finish sorts the offerings and adds their labels to the type's.
func finish(t *catalog.InstanceType) {
	slices.SortStableFunc(t.Offerings, func(a, b catalog.Offering) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), strings.Compare(a.Zone, b.Zone),
			strings.Compare(a.CapacityType, b.CapacityType),
			strings.Compare(a.ReservationID, b.ReservationID))
	})
	for _, label := range []struct {
		key string
		of  func(*catalog.Offering) string
	}{
		{corev1.LabelTopologyZone, func(o *catalog.Offering) string { return o.Zone }},
		{api.LabelTopologyZoneID, func(o *catalog.Offering) string { return o.ZoneID }},
		{api.CapacityTypeLabelKey, func(o *catalog.Offering) string { return o.CapacityType }},
	} {
		if _, ok := t.Requirements[label.key]; ok {
			continue
		}
		var values []string
		for i := range t.Offerings {
			if value := label.of(&t.Offerings[i]); value != "" {
				values = append(values, value)
			}
		}
		if len(values) > 0 {
			t.Requirements.Add(scheduling.In(label.key, values...))
		}
	}
}

// allocatable returns the capacity less the overheads, at least zero. Huge pages reduce the memory.
func allocatable(capacity corev1.ResourceList, overheads ...corev1.ResourceList) corev1.ResourceList {
	left := capacity.DeepCopy()
	take := func(name corev1.ResourceName, amount resource.Quantity) {
		have, ok := left[name]
		if !ok {
			return
		}
		have.Sub(amount)
		if have.Sign() < 0 {
			have = *resource.NewQuantity(0, have.Format)
		}
		left[name] = have
	}
	for _, overhead := range overheads {
		for name, amount := range overhead {
			take(name, amount)
		}
	}
	for name, amount := range capacity {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			take(corev1.ResourceMemory, amount)
		}
	}
	return left
}
