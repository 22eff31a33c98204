package catalog

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Resolve returns the instance types that nodes of the class can have, sorted by name. One of the
// images in status.amis must run on the type, and a zone of status.subnets must offer it. An
// offering is available if its price is known, the type suits the class's settings, and the
// observations do not exclude it at the given time. Types without an available offering are
// included, so that a plan can explain why it did not use them. Types for which an expression in the
// class's kubelet settings has no value are left out.
func Resolve(s *Catalog, class *api.EC2NodeClass, observed Observed, now time.Time) []InstanceType {
	zones := subnetZones(s, class)
	images := readImages(class)
	m := &model{class: class, settings: s.Settings, observed: observed, now: now, group: placementGroup(class)}
	m.readExpressions()
	common := m
	reservations := reservationsByType(class)
	var types []InstanceType
	for i := range s.InstanceTypes {
		info := &s.InstanceTypes[i]
		if architecture(info) == "" {
			continue
		}
		m, known := common.of(info)
		if !known {
			continue
		}
		requirements := s.labels(info, class)
		image, ok := firstImage(images, requirements)
		if !ok {
			continue
		}
		if os := requirements[corev1.LabelOSStable]; os.Empty() {
			continue
		}
		suits := m.suits(info)
		offerings := m.offerings(s, info, zones, suits)
		offerings = append(offerings, m.coveredOfferings(info, offerings)...)
		reserved := m.reservedOfferings(info, reservations[info.InstanceType], zones, suits)
		if len(offerings)+len(reserved) == 0 {
			continue
		}
		offerings = withReserved(offerings, reserved)
		addOfferingLabels(requirements, offerings)
		if len(reserved) > 0 {
			openReservationLabels(requirements)
		}
		addPlacementLabels(requirements, m.group)
		capacity := m.capacity(info, image)
		types = append(types, InstanceType{
			Name:           info.InstanceType,
			Requirements:   requirements,
			Capacity:       capacity,
			Allocatable:    m.allocatable(capacity, info),
			Volumes:        attachments(info, class),
			Kubelet:        m.kubeletSettings(info),
			Offerings:      offerings,
			PlacementGroup: m.group,
			OnDemandPrice:  info.OnDemandPrice,
			Exotic: info.BareMetal || len(info.Gpus) > 0 || len(info.InferenceAccelerators) > 0 ||
				len(info.NeuronDevices) > 0,
		})
	}
	observed.Unavailable.leaveOutOf(types, class.Status.Subnets, now)
	slices.SortFunc(types, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

// model holds the facts that are common to all instance types of one class.
type model struct {
	class    *api.EC2NodeClass
	settings Settings
	observed Observed
	group    *api.PlacementGroup // nil where the class has none
	now      time.Time
	// expressions are the class's kubelet expressions, and values their values by instance type.
	expressions []api.KubeletExpression
	values      map[string]kubelet.Values
}

// image is one of the class's images with its requirements.
type image struct {
	id           string
	requirements scheduling.Requirements
}

func readImages(class *api.EC2NodeClass) []image {
	var images []image
	for _, ami := range class.Status.AMIs {
		// An image with invalid requirements matches no type.
		term := corev1.NodeSelectorTerm{MatchExpressions: ami.Requirements}
		if requirements, err := scheduling.FromNodeSelectorTerm(term); err == nil {
			images = append(images, image{ami.ID, requirements})
		}
	}
	return images
}

// ImageOf returns the id of the class's image for a node with the labels, or false where none runs
// on it.
func ImageOf(class *api.EC2NodeClass, labels map[string]string) (string, bool) {
	return firstImage(readImages(class), scheduling.FromLabels(labels))
}

// firstImage returns the first image that runs on nodes with the labels, or false where none does.
func firstImage(images []image, labels scheduling.Requirements) (string, bool) {
	for _, image := range images {
		if labels.IsCompatible(image.requirements, scheduling.UndefinedIsAbsent) {
			return image.id, true
		}
	}
	return "", false
}

// subnetZones returns the zones of the class's subnets, by name.
func subnetZones(s *Catalog, class *api.EC2NodeClass) map[string]AvailabilityZone {
	zones := map[string]AvailabilityZone{}
	for _, subnet := range class.Status.Subnets {
		zone := AvailabilityZone{ZoneName: subnet.Zone, ZoneID: subnet.ZoneID}
		if zone.ZoneID == "" {
			if i := slices.IndexFunc(s.Zones, func(z AvailabilityZone) bool { return z.ZoneName == subnet.Zone }); i >= 0 {
				zone.ZoneID = s.Zones[i].ZoneID
			}
		}
		zones[subnet.Zone] = zone
	}
	return zones
}

func (m *model) offerings(
	s *Catalog, info *InstanceTypeInfo, zones map[string]AvailabilityZone, suits bool,
) []Offering {
	var offerings []Offering
	for _, name := range info.Zones {
		zone, ok := zones[name]
		if !ok {
			continue
		}
		for _, capacityType := range []string{api.CapacityTypeOnDemand, api.CapacityTypeSpot} {
			if !slices.Contains(info.SupportedUsageClasses, capacityType) {
				continue
			}
			price := info.onDemandPrice(name)
			if capacityType == api.CapacityTypeSpot {
				price = s.spotPrice(info, name)
			}
			toBeHad := suits && !m.observed.Unavailable.HasFor(m.class, capacityType, info.InstanceType, name, m.now)
			offerings = append(offerings, Offering{
				CapacityType: capacityType, Zone: name, ZoneID: zone.ZoneID, Price: price,
				Available: toBeHad && price > 0, Unpriced: toBeHad && price <= 0,
			})
		}
	}
	return offerings
}

// sortOfferings sorts by price, then zone, then capacity type, then reservation.
func sortOfferings(offerings []Offering) {
	slices.SortStableFunc(offerings, func(a, b Offering) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), strings.Compare(a.Zone, b.Zone), strings.Compare(
			a.CapacityType, b.CapacityType,
		),
			strings.Compare(a.ReservationID, b.ReservationID))
	})
}

func addOfferingLabels(requirements scheduling.Requirements, offerings []Offering) {
	var zones, zoneIDs, capacityTypes []string
	for _, o := range offerings {
		zones = append(zones, o.Zone)
		capacityTypes = append(capacityTypes, o.CapacityType)
		if o.ZoneID != "" {
			zoneIDs = append(zoneIDs, o.ZoneID)
		}
	}
	requirements.Add(
		scheduling.In(corev1.LabelTopologyZone, zones...), scheduling.In(api.LabelTopologyZoneID, zoneIDs...),
		scheduling.In(api.CapacityTypeLabelKey, capacityTypes...),
	)
}
