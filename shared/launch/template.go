package launch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// variety is what the launch templates of one request differ in. place is the image's among the
// class's, and kubelet is the JSON of the instance type's kubelet settings.
type variety struct {
	place     int
	variation nodeclass.Variation // without Kubelet
	kubelet   string
}

// vary sets the variety of each offer. An offer whose type no image runs on is left out.
func (in *Input) vary(requirements scheduling.Requirements, offers []offer) ([]offer, error) {
	reservations := in.reservations()
	var varied []offer
	for _, o := range offers {
		image := imageFor(in.Class.Status.AMIs, o.of.Requirements)
		if image == nil {
			continue
		}
		kubelet, err := json.Marshal(o.of.Kubelet)
		if err != nil {
			return nil, fmt.Errorf("instance type %q: encoding its kubelet settings: %w", o.InstanceType, err)
		}
		o.variety = variety{in.place(image.ID), in.variation(requirements, o, reservations[o.reservationID]), string(kubelet)}
		varied = append(varied, o)
	}
	return varied, nil
}

// templates are the launch templates of the offers, in the order of the class's images. There is
// one for each image and variation that some offer needs.
func (in *Input) templates(c chosen, tags map[string]string) ([]Template, error) {
	join := nodeclass.Join{Cluster: in.Cluster, Labels: joinLabels(in.Claim), Taints: joinTaints(in.Claim)}
	grouped := map[variety][]offer{}
	for _, o := range c.offers {
		grouped[o.variety] = append(grouped[o.variety], o)
	}
	var made []Template
	for _, key := range slices.SortedFunc(maps.Keys(grouped), compareVarieties) {
		offers := grouped[key]
		variation := key.variation
		variation.Kubelet = offers[0].of.Kubelet
		content, err := nodeclass.Template(in.Class, in.Class.Status.AMIs[key.place], join, variation, withoutClaim(tags))
		if err != nil {
			return nil, err
		}
		overrides := make([]Override, len(offers))
		for i := range offers {
			overrides[i] = offers[i].Override
		}
		slices.SortFunc(overrides, byTypeAndZone)
		made = append(made, Template{Content: content, ReservationID: variation.ReservationID, Overrides: overrides})
	}
	return made, nil
}

// variation is what the launch template of an offer has beyond the class's own.
func (in *Input) variation(
	requirements scheduling.Requirements, o offer, reservation api.CapacityReservation,
) nodeclass.Variation {
	variation := nodeclass.Variation{
		Enclaves:    wants(in.Claim, api.ResourceNitroSandbox),
		Tenancy:     tenancy(requirements),
		SpotRequest: o.capacityType == api.CapacityTypeSpot,
	}
	if o.reservationID != "" {
		variation.ReservationID = o.reservationID
		variation.ReservationType = api.CapacityReservationTypeDefault
		if reservation.ReservationType != "" {
			variation.ReservationType = reservation.ReservationType
		}
		variation.Interruptible = reservation.Interruptible
	}
	if wanted, has := requirements[api.LabelPlacementGroupPartition]; has {
		variation.Partition = lowest(wanted)
	}
	// A class that lists its interfaces chooses those for EFA itself.
	if wants(in.Claim, api.ResourceEFA) && len(in.Class.Spec.NetworkInterfaces) == 0 {
		interfaces := o.of.Capacity[api.ResourceEFA]
		variation.Interfaces = int(interfaces.Value())
	}
	return variation
}

// lowest is the least number that is allowed, or zero if no number is.
func lowest(wanted scheduling.Requirement) int {
	least := 0
	values, _ := wanted.Values()
	for _, value := range values {
		if number, err := strconv.Atoi(value); err == nil && number > 0 && (least == 0 || number < least) {
			least = number
		}
	}
	return least
}

// tenancy is dedicated where the claim does not allow the default.
func tenancy(requirements scheduling.Requirements) string {
	if wanted, has := requirements[api.LabelInstanceTenancy]; has && !wanted.Has(api.TenancyDefault) &&
		wanted.Has(api.TenancyDedicated) {
		return api.TenancyDedicated
	}
	return api.TenancyDefault
}

// place is the image's index among the class's images.
func (in *Input) place(image string) int {
	return slices.IndexFunc(in.Class.Status.AMIs, func(known api.AMI) bool { return known.ID == image })
}

// compareVarieties orders by everything in which varieties of one request differ.
func compareVarieties(a, b variety) int {
	return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.variation.ReservationID, b.variation.ReservationID),
		cmp.Compare(a.variation.Partition, b.variation.Partition),
		cmp.Compare(a.variation.Interfaces, b.variation.Interfaces), strings.Compare(a.kubelet, b.kubelet))
}

// hasOtherImages returns whether the class launches types of a processor architecture that no template's
// image is for. They have another image.
func (in *Input) hasOtherImages(templates []Template) bool {
	used := map[string]bool{}
	for _, template := range templates {
		for _, override := range template.Overrides {
			used[override.InstanceType] = true
		}
	}
	architectures := map[string]bool{}
	for i := range in.Types {
		if used[in.Types[i].Name] {
			architectures[architecture(&in.Types[i])] = true
		}
	}
	return slices.ContainsFunc(in.Types, func(t catalog.InstanceType) bool {
		return !architectures[architecture(&t)] && imageFor(in.Class.Status.AMIs, t.Requirements) != nil
	})
}

func architecture(of *catalog.InstanceType) string {
	values, _ := of.Requirements[corev1.LabelArchStable].Values()
	return strings.Join(values, ",")
}

// imageFor is the first image that runs on the instance type, or nil.
func imageFor(images []api.AMI, instanceType scheduling.Requirements) *api.AMI {
	for i := range images {
		wanted, err := scheduling.FromNodeSelectorTerm(corev1.NodeSelectorTerm{MatchExpressions: images[i].Requirements})
		if err == nil && instanceType.IsCompatible(wanted, scheduling.UndefinedIsAbsent) {
			return &images[i]
		}
	}
	return nil
}

// joinLabels are the labels that a node gives itself. All nodes of a pool and class have them in
// common, and so share a launch template. The labels of the instance type and zone follow when the
// node registers.
func joinLabels(claim *api.NodeClaim) map[string]string {
	labels := map[string]string{}
	for key, value := range claim.Labels {
		ofType := strings.HasPrefix(key, api.AWSGroup+"/") && key != api.LabelNodeClass
		if !ofType && key != api.LabelTopologyZoneID {
			labels[key] = value
		}
	}
	return labels
}

// joinTaints are the taints that a node has before any pod can run on it.
func joinTaints(claim *api.NodeClaim) []corev1.Taint {
	taints := slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints)
	return append(taints, api.UnregisteredNoExecuteTaint())
}
