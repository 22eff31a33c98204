package catalog

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// InstanceType is an instance type as nodes of one EC2NodeClass will be.
type InstanceType struct {
	Name string `json:"name"`
	// Requirements are the labels that a node of this type gets. Those of zone, zone id and capacity type have every value that an offering has.
	Requirements scheduling.Requirements `json:"requirements"`
	// Capacity is all of the machine; Allocatable is what of it daemon sets and pods may use.
	Capacity    corev1.ResourceList `json:"capacity"`
	Allocatable corev1.ResourceList `json:"allocatable"`
	// Offerings are sorted by price, then zone, then capacity type.
	Offerings []Offering `json:"offerings"`
	// OnDemandPrice is what the type costs an hour on demand, whatever NodeOverlays make of the offerings' prices; zero if it is not known.
	OnDemandPrice float64 `json:"onDemandPrice,omitempty"`
	// Kubelet is what a node's kubelet must be told of its type so that Allocatable comes true; nil where its image works that out by itself.
	Kubelet *api.KubeletConfiguration `json:"kubelet,omitempty"`
	// CapacityOverlay says that a NodeOverlay has added to the capacity.
	CapacityOverlay bool `json:"capacityOverlay,omitempty"`
	// Exotic types (bare metal, GPUs, accelerators) are bought only for pods that no other type can hold.
	Exotic bool `json:"exotic,omitempty"`
}

// Offering is one way to buy an instance type.
type Offering struct {
	// CapacityType is on-demand, spot or reserved.
	CapacityType string `json:"capacityType"`
	// Zone is the zone's name, ZoneID its id.
	Zone   string `json:"zone"`
	ZoneID string `json:"zoneID,omitempty"`
	// ReservationID is the capacity reservation that a reserved offering takes its instances from, ReservationCapacity how many that has left. Offerings
	// with the same reservation share its instances.
	ReservationID       string `json:"reservationID,omitempty"`
	ReservationCapacity int    `json:"reservationCapacity,omitempty"`
	// Requirements are the further labels that a node bought through this offering gets; most offerings have none.
	Requirements scheduling.Requirements `json:"requirements,omitempty"`
	// Price is US dollars an hour. PriceOverlay says that a NodeOverlay made it.
	Price        float64 `json:"price"`
	PriceOverlay bool    `json:"priceOverlay,omitempty"`
	// Available is false where the price is unknown or EC2 lately had no capacity. Unpriced says that only the price is wanting.
	Available bool `json:"available"`
	Unpriced  bool `json:"unpriced,omitempty"`
}

// CheapestOffering is the first available offering of the type that the requirements allow, and whether there is one.
func (t *InstanceType) CheapestOffering(requirements scheduling.Requirements) (Offering, bool) {
	i := slices.IndexFunc(t.Offerings, func(o Offering) bool { return o.Available && o.AllowedBy(requirements) })
	if i < 0 {
		return Offering{}, false
	}
	return t.Offerings[i], true
}

// AllowedBy reports whether the requirements allow the labels that the offering decides.
func (o *Offering) AllowedBy(requirements scheduling.Requirements) bool {
	if len(requirements) == 0 {
		return true
	}
	r := ReadOfferingRequirements(requirements)
	return r.Allow(o)
}

// OfferingRequirements are requirements as far as they concern the labels that offerings decide: read once, they can be held against many offerings.
type OfferingRequirements struct {
	// of are the requirements on zone, zone id, capacity type and reservation, has which of them there are.
	of  [4]scheduling.Requirement
	has [4]bool
	// further are all of the requirements, for offerings with labels of their own.
	further scheduling.Requirements
}

// ReadOfferingRequirements reads requirements for OfferingRequirements.Allow.
func ReadOfferingRequirements(requirements scheduling.Requirements) OfferingRequirements {
	r := OfferingRequirements{further: requirements}
	for i, key := range [...]string{corev1.LabelTopologyZone, api.LabelTopologyZoneID, api.CapacityTypeLabelKey, api.LabelCapacityReservationID} {
		r.of[i], r.has[i] = requirements[key]
	}
	return r
}

// Allow reports whether the requirements allow the labels that the offering decides.
func (r *OfferingRequirements) Allow(o *Offering) bool {
	for i, value := range [...]string{o.Zone, o.ZoneID, o.CapacityType, o.ReservationID} {
		if r.has[i] && value != "" && !r.of[i].Has(value) {
			return false
		}
	}
	for key, have := range o.Requirements {
		if wanted, ok := r.further[key]; ok && !wanted.Intersects(have) {
			return false
		}
	}
	return true
}

// Price looks up what a node costs in US dollars an hour by its labels of instance type, zone and capacity type. It is false where the type, or its
// price there, is not known. A reserved node costs what on-demand would.
func (s *Snapshot) Price(labels map[string]string) (float64, bool) {
	name, zone := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
	i, found := slices.BinarySearchFunc(s.InstanceTypes, name, compareName)
	if !found {
		return 0, false
	}
	info := &s.InstanceTypes[i]
	price := info.OnDemandPrice
	if labels[api.CapacityTypeLabelKey] == api.CapacityTypeSpot {
		price = s.spotPrice(info, zone)
	}
	return price, price > 0
}

// spotPrice is zero where it is not known. Until spot prices have been read at all, on-demand prices stand in for them.
func (s *Snapshot) spotPrice(info *InstanceTypeInfo, zone string) float64 {
	if s.SpotPriceTime.IsZero() && len(info.SpotPrices) == 0 {
		return info.OnDemandPrice
	}
	return info.SpotPrices[zone]
}

// Cheapest is the price in US dollars an hour of the cheapest available offering among the types that the requirements allow, with its type's name; false
// if there is none. Of equal prices the first by name counts.
func Cheapest(types []InstanceType, requirements scheduling.Requirements) (string, Offering, bool) {
	var bestName string
	var best Offering
	for i := range types {
		if !types[i].Requirements.IsCompatible(requirements, scheduling.UndefinedIsAbsent) {
			continue
		}
		offering, ok := types[i].CheapestOffering(requirements)
		if ok && (bestName == "" || offering.Price < best.Price || offering.Price == best.Price && types[i].Name < bestName) {
			bestName, best = types[i].Name, offering
		}
	}
	return bestName, best, bestName != ""
}

func compareName(info InstanceTypeInfo, name string) int {
	return strings.Compare(info.InstanceType, name)
}
