package catalog

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// InstanceType is an instance type as the nodes of one EC2NodeClass have it.
type InstanceType struct {
	Name string `json:"name"`
	// Requirements are the labels of a node of this type. Zone, zone id and capacity type have the
	// values of all offerings.
	Requirements scheduling.Requirements `json:"requirements"`
	// Capacity holds the resources of the whole machine, and Allocatable those that pods and daemon
	// sets may use.
	Capacity    corev1.ResourceList `json:"capacity"`
	Allocatable corev1.ResourceList `json:"allocatable"`
	// Offerings are sorted by price, then zone, then capacity type.
	Offerings []Offering `json:"offerings"`
	// OnDemandPrice is the on-demand price in US dollars an hour, without NodeOverlays; zero if
	// unknown.
	OnDemandPrice float64 `json:"onDemandPrice,omitempty"`
	// Volumes is how many EBS volumes the pods of a node can have attached; zero if it is not known.
	Volumes int `json:"volumes,omitempty"`
	// Kubelet holds the settings that a node's kubelet needs for this type, so that Allocatable is
	// right. It is nil where the image computes them itself.
	Kubelet *api.KubeletConfiguration `json:"kubelet,omitempty"`
	// PlacementGroup is the group into which the class's nodes are launched; nil for none.
	PlacementGroup *api.PlacementGroup `json:"placementGroup,omitempty"`
	// CapacityOverlay is true where a NodeOverlay added to the capacity.
	CapacityOverlay bool `json:"capacityOverlay,omitempty"`
	// Exotic types (bare metal, GPUs, accelerators) are bought only for pods that no other type can
	// hold.
	Exotic bool `json:"exotic,omitempty"`
}

// Offering is one way to buy an instance type.
type Offering struct {
	// CapacityType is on-demand, spot or reserved.
	CapacityType string `json:"capacityType"`
	// Zone is the zone's name, ZoneID its id.
	Zone   string `json:"zone"`
	ZoneID string `json:"zoneID,omitempty"`
	// ReservationID is the capacity reservation of a reserved offering, and ReservationCapacity its
	// free instances. Offerings with the same reservation share these instances.
	ReservationID       string `json:"reservationID,omitempty"`
	ReservationCapacity int    `json:"reservationCapacity,omitempty"`
	// Coverage says which commitment pays for a node of the offering; nil for none.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Requirements are further labels of a node of this offering. Most offerings have none.
	Requirements scheduling.Requirements `json:"requirements,omitempty"`
	// Price is in US dollars an hour. PriceOverlay is true where a NodeOverlay set the instance's.
	Price        float64 `json:"price"`
	PriceOverlay bool    `json:"priceOverlay,omitempty"`
	// Extras is the part of Price that the node costs beside its instance: see WithExtras.
	Extras float64 `json:"extras,omitempty"`
	// Risk is the part of Price for interruptions, which is on no bill: see WithRisk.
	Risk float64 `json:"risk,omitempty"`
	// Available is false where the price is unknown or EC2 recently had no capacity. Unpriced is
	// true where only the price is missing.
	Available bool `json:"available"`
	Unpriced  bool `json:"unpriced,omitempty"`
}

// InstancePrice is the price of the instance alone, in US dollars an hour.
func (o *Offering) InstancePrice() float64 { return o.Price - o.Extras - o.Risk }

// Billed is the part of the price that a bill has, extras included, in US dollars an hour.
func (o *Offering) Billed() float64 { return o.Price - o.Risk }

// CheapestOffering returns the first available offering that the requirements allow, and whether
// there is one.
func (t *InstanceType) CheapestOffering(requirements scheduling.Requirements) (Offering, bool) {
	i := slices.IndexFunc(t.Offerings, func(o Offering) bool { return o.Available && o.AllowedBy(requirements) })
	if i < 0 {
		return Offering{}, false
	}
	return t.Offerings[i], true
}

// AllowedBy reports whether the requirements allow the offering's labels.
func (o *Offering) AllowedBy(requirements scheduling.Requirements) bool {
	if len(requirements) == 0 {
		return true
	}
	r := ReadOfferingRequirements(requirements)
	return r.Allow(o)
}

// OfferingRequirements are requirements prepared for checks against many offerings. They cover the
// labels that offerings determine.
type OfferingRequirements struct {
	// of holds the requirements on zone, zone id, capacity type and reservation, and has tells
	// which of them exist.
	of  [4]scheduling.Requirement
	has [4]bool
	// further holds all requirements, for offerings with labels of their own.
	further scheduling.Requirements
}

// ReadOfferingRequirements prepares requirements for OfferingRequirements.Allow.
func ReadOfferingRequirements(requirements scheduling.Requirements) OfferingRequirements {
	r := OfferingRequirements{further: requirements}
	for i, key := range [...]string{
		corev1.LabelTopologyZone, api.LabelTopologyZoneID, api.CapacityTypeLabelKey, api.LabelCapacityReservationID,
	} {
		r.of[i], r.has[i] = requirements[key]
	}
	return r
}

// Allow reports whether the requirements allow the offering's labels.
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

// Price returns the price of a node in US dollars an hour, by its labels of instance type, zone and
// capacity type. It returns false where the type or its price in the zone is unknown. A reserved
// node has the on-demand price.
func (s *Catalog) Price(labels map[string]string) (float64, bool) {
	name, zone := labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
	i, found := slices.BinarySearchFunc(s.InstanceTypes, name, compareName)
	if !found {
		return 0, false
	}
	info := &s.InstanceTypes[i]
	price := info.onDemandPrice(zone)
	if labels[api.CapacityTypeLabelKey] == api.CapacityTypeSpot {
		price = s.spotPrice(info, zone)
	}
	return price, price > 0
}

// spotPrice returns the spot price, or zero where it is unknown. Before spot prices were ever read,
// it returns the on-demand price.
func (s *Catalog) spotPrice(info *InstanceTypeInfo, zone string) float64 {
	if s.SpotPriceTime.IsZero() && len(info.SpotPrices) == 0 {
		return info.onDemandPrice(zone)
	}
	return info.SpotPrices[zone]
}

// onDemandPrice returns the on-demand price in the zone, or zero where it is unknown.
func (info *InstanceTypeInfo) onDemandPrice(zone string) float64 {
	return cmp.Or(info.ZonePrices[zone], info.OnDemandPrice)
}

// Cheapest returns the cheapest available offering that the requirements allow, with its type's
// name, or false where there is none. Of equal prices it returns the first by name.
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
