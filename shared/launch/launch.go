// Package launch turns a NodeClaim into a request for one instance: which
// launch templates, which instance types in which subnets, under which token. It
// is pure; shared/fleet carries a request out.
package launch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// maximumTypes is how many instance types one request names. EC2 takes more, but
// the request must stay within its size limit; Karpenter sends as many.
const maximumTypes = 60

// ErrNoOffering tells that no offering is left that the claim allows: all are
// unavailable for now, or the NodeClass's zones have none.
var ErrNoOffering = errors.New("no offering is available")

// Input is what a launch is decided by.
type Input struct {
	Claim   *api.NodeClaim
	Class   *api.EC2NodeClass
	Types   []catalog.InstanceType // as resolved for the class, with the NodeOverlays of the claim's pool
	Cluster nodeclass.Cluster
}

// Request asks EC2 for one instance.
type Request struct {
	Claim        string
	ClientToken  string // the same for each try of the same attempt
	CapacityType string
	// Prioritized asks for the cheapest override by the prices given here, since a NodeOverlay made some of them, rather than by EC2's own.
	Prioritized bool
	Templates   []Template
	Tags        map[string]string
}

// Template is a launch template with what may be launched from it.
type Template struct {
	Content   nodeclass.LaunchTemplate
	Overrides []Override
}

// Override is one way to get the instance: a type in a subnet.
type Override struct {
	InstanceType, Zone, SubnetID string
	Price                        float64 // dollars an hour
}

// Build decides the request for the claim. The same input gives the same
// request, byte for byte, so that a repeated call is recognised by its token.
func Build(in Input) (Request, error) {
	claim := in.Claim
	requirements, err := Requirements(claim)
	if err != nil {
		return Request{}, err
	}
	offers := offers(in, OfType(requirements))
	if len(offers) == 0 {
		return Request{}, fmt.Errorf("nodeclaim %q: %w: %s", claim.Name, ErrNoOffering, requirements)
	}
	request := Request{
		Claim:        claim.Name,
		ClientToken:  Token(claim),
		CapacityType: offers[0].capacityType,
		Prioritized:  slices.ContainsFunc(offers, func(o offer) bool { return o.priceOverlay }),
		Tags:         Tags(claim, in.Class, in.Cluster.Name),
	}
	for _, image := range in.Class.Status.AMIs {
		template, err := template(in, image, offers, request.Tags)
		if err != nil {
			return Request{}, err
		}
		if len(template.Overrides) > 0 {
			request.Templates = append(request.Templates, template)
		}
	}
	if len(request.Templates) == 0 {
		return Request{}, fmt.Errorf("nodeclaim %q: no image of ec2nodeclass %q runs on any of its instance types: widen spec.amiSelectorTerms", claim.Name, in.Class.Name)
	}
	return request, nil
}

// Requirements are what the claim's node must be, by its labels and requirements.
func Requirements(claim *api.NodeClaim) (scheduling.Requirements, error) {
	requirements, err := scheduling.FromTerms(claim.Spec.Requirements)
	if err != nil {
		return nil, fmt.Errorf("nodeclaim %q: spec.requirements: %w", claim.Name, err)
	}
	return requirements, nil
}

// Token identifies one attempt to launch for the claim. EC2 takes at most 64
// ASCII characters.
func Token(claim *api.NodeClaim) string {
	attempt := cmp.Or(claim.Annotations[api.AttemptAnnotationKey], "1")
	return string(claim.UID) + "-" + attempt
}

// Tags are those of everything that is launched for the claim.
func Tags(claim *api.NodeClaim, class *api.EC2NodeClass, cluster string) map[string]string {
	tags := maps.Clone(class.Spec.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[api.ClusterTagKey(cluster)] = api.ClusterTagOwned
	tags[api.EKSClusterNameTagKey] = cluster
	tags[api.NodePoolLabelKey] = claim.Labels[api.NodePoolLabelKey]
	tags[api.LabelNodeClass] = class.Name
	tags[api.NodeClaimTagKey] = claim.Name
	return tags
}

// offer is an override before its image is known.
type offer struct {
	Override
	capacityType string
	priceOverlay bool
	requirements scheduling.Requirements // of the instance type
}

// OfType are the requirements that an instance type settles. The others, such as
// the pool's own labels, hold whatever the type.
func OfType(requirements scheduling.Requirements) scheduling.Requirements {
	kept := scheduling.Requirements{}
	for key, requirement := range requirements {
		if scheduling.IsWellKnown(key) && key != api.NodePoolLabelKey && key != api.LabelNodeClass {
			kept[key] = requirement
		}
	}
	return kept
}

// offers are the ways to get the claim's instance, the cheapest type first: all
// of one capacity type, spot where the claim allows both.
func offers(in Input, requirements scheduling.Requirements) []offer {
	subnets := map[string]string{}
	for _, subnet := range in.Class.Status.Subnets {
		if _, has := subnets[subnet.Zone]; !has {
			subnets[subnet.Zone] = subnet.ID // the one with most free addresses
		}
	}
	byCapacityType := map[string][]offer{}
	onDemandFrom := 0.0
	for i := range in.Types {
		instanceType := &in.Types[i]
		if !instanceType.Requirements.IsCompatible(requirements, scheduling.UndefinedIsAbsent) ||
			!fits(in.Claim.Spec.Resources.Requests, instanceType.Allocatable) {
			continue
		}
		for _, offering := range instanceType.Offerings {
			subnet, has := subnets[offering.Zone]
			if !has || !offering.Available || !offering.AllowedBy(requirements) {
				continue
			}
			if offering.CapacityType == api.CapacityTypeOnDemand && (onDemandFrom == 0 || offering.Price < onDemandFrom) {
				onDemandFrom = offering.Price
			}
			byCapacityType[offering.CapacityType] = append(byCapacityType[offering.CapacityType], offer{
				Override:     Override{InstanceType: instanceType.Name, Zone: offering.Zone, SubnetID: subnet, Price: offering.Price},
				capacityType: offering.CapacityType,
				priceOverlay: offering.PriceOverlay,
				requirements: instanceType.Requirements,
			})
		}
	}
	// Spot that costs more than on-demand would is no bargain.
	spot := slices.DeleteFunc(byCapacityType[api.CapacityTypeSpot], func(o offer) bool { return onDemandFrom > 0 && o.Price > onDemandFrom })
	if len(spot) > 0 {
		return cheapest(spot)
	}
	return cheapest(byCapacityType[api.CapacityTypeOnDemand])
}

// cheapest sorts offers by price and keeps those of the first maximumTypes types.
func cheapest(offers []offer) []offer {
	slices.SortFunc(offers, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), strings.Compare(a.InstanceType, b.InstanceType), strings.Compare(a.Zone, b.Zone))
	})
	types := map[string]bool{}
	return slices.DeleteFunc(offers, func(o offer) bool {
		if !types[o.InstanceType] && len(types) == maximumTypes {
			return true
		}
		types[o.InstanceType] = true
		return false
	})
}

func fits(requests, allocatable corev1.ResourceList) bool {
	for name, requested := range requests {
		if available := allocatable[name]; requested.Cmp(available) > 0 {
			return false
		}
	}
	return true
}

// template is the launch template of an image with the offers that it runs on
// and that no image before it in the class's list does.
func template(in Input, image api.AMI, offers []offer, tags map[string]string) (Template, error) {
	content, err := nodeclass.Template(in.Class, image, nodeclass.Join{
		Cluster: in.Cluster, Labels: joinLabels(in.Claim), Taints: joinTaints(in.Claim),
	}, nodeclass.Variation{}, withoutClaim(tags))
	if err != nil {
		return Template{}, err
	}
	made := Template{Content: content}
	for _, offer := range offers {
		if first := imageFor(in.Class.Status.AMIs, offer.requirements); first != nil && first.ID == image.ID {
			made.Overrides = append(made.Overrides, offer.Override)
		}
	}
	return made, nil
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

// joinLabels are the labels that a node gives itself: those that all nodes of
// its pool and class share, so that they share a launch template. The labels of
// its instance type and zone follow when it registers.
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

// joinTaints are the taints that a node has before any pod can come to it.
func joinTaints(claim *api.NodeClaim) []corev1.Taint {
	taints := slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints)
	return append(taints, api.UnregisteredNoExecuteTaint())
}

// withoutClaim drops the tag that differs from claim to claim.
func withoutClaim(tags map[string]string) map[string]string {
	shared := maps.Clone(tags)
	delete(shared, api.NodeClaimTagKey)
	return shared
}
