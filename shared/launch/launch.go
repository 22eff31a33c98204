package launch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ErrNoOffering means that no offering is left that the claim allows. All are unavailable for now,
// or the zones of the EC2NodeClass have none.
var ErrNoOffering = errors.New("no offering is available")

// Input is what Build decides by.
type Input struct {
	// Claim is the claim, or for a batch the result of Group.Claim.
	Claim *api.NodeClaim
	Class *api.EC2NodeClass
	// Types are resolved for the class, with the NodeOverlays of the claim's pool.
	Types   []catalog.InstanceType
	Cluster nodeclass.Cluster
	// Unavailable are the offerings that EC2 has been short of since Types were resolved, at the
	// time Now. Nil means none.
	Unavailable *catalog.Unavailable
	Now         time.Time
	// Addresses are the free addresses of the class's subnets. Without them the order of subnets in
	// the class's status decides.
	Addresses *Addresses
}

// Request is a request to EC2 for one instance, or for one instance for each claim of a batch.
type Request struct {
	// Name names the claim or the batch in errors and logs.
	Name        string
	ClientToken string // the same for each repetition of an attempt
	// Repeated means that an earlier request may have had the token.
	Repeated bool
	// Count is how many instances are asked for.
	Count int
	// Whole means that fewer instances than Count are of no use. All overrides are in one zone
	// then, without which EC2 takes no such request.
	Whole        bool
	CapacityType string
	// ReservationType and Interruptible are those of the capacity reservations that a request for
	// reserved capacity names. All of them are of one kind.
	ReservationType string
	Interruptible   bool
	// Prioritized asks EC2 for the override that is cheapest by the request's prices, because a
	// NodeOverlay made some of them.
	Prioritized bool
	// Context is the class's spec.context.
	Context   string
	Templates []Template
	// OtherImages means that the class has types of another processor architecture than those of
	// Templates. What is wrong with the images here may not be wrong with theirs.
	OtherImages bool
	// Tags are those of instances, volumes and the fleet. api.BatchTagKey or api.NodeClaimTagKey
	// names the batch or the claim that the instances were launched for.
	Tags map[string]string
	// PodsPerNode is the least number of pods that one of the types takes. Each node takes at least
	// as many addresses of its subnet.
	PodsPerNode int
	// OnDemandPrice is the lowest on-demand price of each type, in dollars an hour. The savings of
	// a launch are measured against it.
	OnDemandPrice map[string]float64
}

// Template is a launch template with the overrides that may be launched from it.
type Template struct {
	Content nodeclass.LaunchTemplate
	// ReservationID is the capacity reservation that the template launches into, if any.
	ReservationID string
	Overrides     []Override
}

// Override is one way to get the instance: a type in a subnet.
type Override struct {
	InstanceType, Zone, SubnetID string
	Price                        float64 // dollars an hour
}

// Overrides are all of the request's.
func (r *Request) Overrides() []Override {
	var all []Override
	for _, template := range r.Templates {
		all = append(all, template.Overrides...)
	}
	return all
}

// inOneZone reports whether all overrides are in the same zone.
func (r *Request) inOneZone() bool {
	all := r.Overrides()
	return !slices.ContainsFunc(all, func(o Override) bool { return o.Zone != all[0].Zone })
}

// Find returns the override of an instance type in a subnet, and its template. It returns false
// when there is none.
func (r *Request) Find(instanceType, subnetID string) (Override, Template, bool) {
	for _, template := range r.Templates {
		for _, override := range template.Overrides {
			if override.InstanceType == instanceType && override.SubnetID == subnetID {
				return override, template, true
			}
		}
	}
	return Override{}, Template{}, false
}

// Build decides the request for the claim. Equal input gives the same request, byte for byte. The
// error is ErrNoOffering where a later pass may find an offering. Every other error names what is
// wrong with the claim or its class.
func Build(in Input) (Request, error) {
	claim := in.Claim
	requirements, err := Requirements(claim)
	if err != nil {
		return Request{}, err
	}
	batch, err := BatchOf(claim)
	if err != nil {
		return Request{}, err
	}
	chosen, err := in.choose(requirements)
	if err != nil {
		return Request{}, fmt.Errorf("nodeclaim %q: %w", claim.Name, err)
	}
	request := Request{
		Name:            fmt.Sprintf("nodeclaim %q", claim.Name),
		ClientToken:     Token(claim),
		Count:           max(batch.Size, 1),
		CapacityType:    chosen.capacityType,
		ReservationType: chosen.reservation.ReservationType,
		Interruptible:   chosen.reservation.Interruptible,
		Prioritized:     slices.ContainsFunc(chosen.offers, func(o offer) bool { return o.priceOverlay }),
		Tags:            Tags(claim, in.Class, in.Cluster.Name),
		PodsPerNode:     chosen.podsPerNode(),
		OnDemandPrice:   chosen.onDemandPrice(),
	}
	if batch.ID != "" {
		request.Name = "batch " + batch.ID
	}
	if in.Class.Spec.Context != nil && !relaxed(claim) {
		request.Context = *in.Class.Spec.Context
	}
	if request.Templates, err = in.templates(chosen, request.Tags); err != nil {
		return Request{}, err
	}
	if len(request.Templates) == 0 {
		return Request{}, fmt.Errorf(
			"nodeclaim %q: no image of ec2nodeclass %q runs on any of its instance types: widen spec.amiSelectorTerms",
			claim.Name, in.Class.Name)
	}
	request.OtherImages = in.hasOtherImages(request.Templates)
	request.Whole = claim.Annotations[api.GangAnnotationKey] != "" && request.Count > 1 &&
		request.CapacityType != api.CapacityTypeReserved && request.inOneZone()
	return request, nil
}

// Requirements are the claim's requirements of its node. The error names an invalid requirement.
func Requirements(claim *api.NodeClaim) (scheduling.Requirements, error) {
	requirements, err := scheduling.FromTerms(claim.Spec.Requirements)
	if err != nil {
		return nil, fmt.Errorf("nodeclaim %q: spec.requirements: %w", claim.Name, err)
	}
	return requirements, nil
}

// Token is the client token of the claim's attempt, or of its batch's. EC2 takes at most 64 ASCII
// characters.
func Token(claim *api.NodeClaim) string {
	attempt := cmp.Or(claim.Annotations[api.AttemptAnnotationKey], "1")
	if batch, err := BatchOf(claim); err == nil && batch.ID != "" {
		return batch.ID + "-" + attempt
	}
	return string(claim.UID) + "-" + attempt
}

// Tags are the tags of everything that is launched for the claim, or for its batch.
func Tags(claim *api.NodeClaim, class *api.EC2NodeClass, cluster string) map[string]string {
	tags := maps.Clone(class.Spec.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[api.ClusterTagKey(cluster)] = api.ClusterTagOwned
	tags[api.EKSClusterNameTagKey] = cluster
	tags[api.NodePoolLabelKey] = claim.Labels[api.NodePoolLabelKey]
	tags[api.LabelNodeClass] = class.Name
	if batch, err := BatchOf(claim); err == nil && batch.ID != "" {
		// The answer decides which claim gets which instance. The instance gets the claim's name
		// when its node registers.
		tags[api.BatchTagKey] = Token(claim)
	} else {
		tags[api.NodeClaimTagKey] = claim.Name
	}
	return tags
}

// OfType are the requirements that depend on the instance type. Others, such as the pool's own
// labels, hold for every type.
func OfType(requirements scheduling.Requirements) scheduling.Requirements {
	kept := scheduling.Requirements{}
	for key, requirement := range requirements {
		if scheduling.IsWellKnown(key) && key != api.NodePoolLabelKey && key != api.LabelNodeClass {
			kept[key] = requirement
		}
	}
	return kept
}

// relaxed returns whether the planner lowered the claim's minValues to what is available.
func relaxed(claim *api.NodeClaim) bool {
	return claim.Annotations[api.NodeClaimMinValuesRelaxedAnnotationKey] == "true"
}

// withoutClaim drops the tags that differ from launch to launch.
func withoutClaim(tags map[string]string) map[string]string {
	shared := maps.Clone(tags)
	delete(shared, api.NodeClaimTagKey)
	delete(shared, api.BatchTagKey)
	return shared
}

// byTypeAndZone is the order of a template's overrides. It must not depend on prices, which change
// while a token lives.
func byTypeAndZone(a, b Override) int {
	return cmp.Or(strings.Compare(a.InstanceType, b.InstanceType), strings.Compare(a.Zone, b.Zone),
		strings.Compare(a.SubnetID, b.SubnetID))
}
