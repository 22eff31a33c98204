package nodeclass

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Facts are what EC2 says of the things that a class selects. A problem is what
// kept a thing from being read, in words for the class's owner.
type Facts struct {
	Subnets        []Subnet
	SecurityGroups []api.SecurityGroup
	Images         []Image

	InstanceProfile string

	SubnetsProblem, SecurityGroupsProblem, ImagesProblem, InstanceProfileProblem string
}

// Subnet is a subnet that a term selects.
type Subnet struct {
	ID, Zone, ZoneID string
	FreeAddresses    int
}

// Image is a machine image that a term selects.
type Image struct {
	ID, Name     string
	Architecture string // as Kubernetes names it: amd64 or arm64
	Variant      Variant
	Created      time.Time
	Deprecated   bool
}

// Variant is what hardware an image is made for.
type Variant string

const (
	VariantAny      Variant = ""         // selected by id, name or tag: nothing is known
	VariantStandard Variant = "standard" // no accelerator
	VariantNVIDIA   Variant = "nvidia"
	VariantNeuron   Variant = "neuron"
)

// Resolve gives the class's status by what EC2 says. It changes neither argument.
func Resolve(class *api.EC2NodeClass, facts Facts, now time.Time) api.EC2NodeClassStatus {
	status := api.EC2NodeClassStatus{
		Subnets:              subnets(facts.Subnets),
		SecurityGroups:       securityGroups(facts.SecurityGroups),
		AMIs:                 images(facts.Images),
		InstanceProfile:      facts.InstanceProfile,
		CapacityReservations: class.Status.CapacityReservations,
		Conditions:           slices.Clone(class.Status.Conditions),
	}
	set := func(conditionType, reason, problem string) {
		condition := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, ObservedGeneration: class.Generation}
		if problem != "" {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, reason, problem
		}
		api.SetCondition(&status.Conditions, condition, now)
	}
	set(api.ConditionTypeSubnetsReady, api.ReasonSubnetsNotFound,
		problem(facts.SubnetsProblem, len(status.Subnets), "spec.subnetSelectorTerms selects no subnet: compare its tags and ids with the VPC's subnets"))
	set(api.ConditionTypeSecurityGroupsReady, api.ReasonSecurityGroupsNotFound,
		problem(facts.SecurityGroupsProblem, len(status.SecurityGroups), "spec.securityGroupSelectorTerms selects no security group: compare its tags, ids and names with the VPC's groups"))
	set(api.ConditionTypeAMIsReady, api.ReasonAMINotFound,
		problem(facts.ImagesProblem, len(status.AMIs), "spec.amiSelectorTerms selects no available image for x86_64 or arm64"))
	set(api.ConditionTypeInstanceProfileReady, api.ReasonInstanceProfileNotFound,
		problem(facts.InstanceProfileProblem, len(status.InstanceProfile), "spec.role or spec.instanceProfile gives no instance profile"))
	validation := Unsupported(class)
	if err := class.Validate(); err != nil {
		validation = append(validation, err.Error())
	}
	set(api.ConditionTypeValidationSucceeded, "ValidationFailed", strings.Join(validation, "; "))
	set(api.ConditionTypePlacementGroupReady, "", "") // a class that selects one is refused above
	api.SetReady(&status.Conditions, api.EC2NodeClassReadyDependents(), class.Generation, now)
	return status
}

// problem is the reading's problem or, when nothing was found, the given one.
func problem(reading string, found int, nothing string) string {
	if reading == "" && found == 0 {
		return nothing
	}
	return reading
}

// Stale tells whether the class must be resolved again: its spec has changed
// since, or it is not ready. A ready class is refreshed by lifecycle's minute.
func Stale(class *api.EC2NodeClass) bool {
	ready := api.GetCondition(class.Status.Conditions, api.ConditionReady)
	return ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != class.Generation
}

// subnets are in the order of their free addresses, the fullest last.
func subnets(found []Subnet) []api.Subnet {
	sorted := slices.SortedFunc(slices.Values(found), func(a, b Subnet) int {
		return cmp.Or(cmp.Compare(b.FreeAddresses, a.FreeAddresses), cmp.Compare(a.ID, b.ID))
	})
	var list []api.Subnet
	for _, subnet := range slices.CompactFunc(sorted, func(a, b Subnet) bool { return a.ID == b.ID }) {
		list = append(list, api.Subnet{ID: subnet.ID, Zone: subnet.Zone, ZoneID: subnet.ZoneID})
	}
	return list
}

func securityGroups(found []api.SecurityGroup) []api.SecurityGroup {
	sorted := slices.SortedFunc(slices.Values(found), func(a, b api.SecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(sorted, func(a, b api.SecurityGroup) bool { return a.ID == b.ID })
}

// images keeps the newest image of each architecture and variant; one that is
// not deprecated goes before one that is.
func images(found []Image) []api.AMI {
	sorted := slices.SortedFunc(slices.Values(found), func(a, b Image) int {
		return cmp.Or(deprecatedLast(a, b), b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	seen := map[string]bool{}
	var list []api.AMI
	for _, image := range sorted {
		key := image.Architecture + "/" + string(image.Variant)
		if seen[key] || image.Architecture == "" {
			continue
		}
		seen[key] = true
		list = append(list, api.AMI{ID: image.ID, Name: image.Name, Deprecated: image.Deprecated, Requirements: requirements(image)})
	}
	slices.SortFunc(list, func(a, b api.AMI) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func deprecatedLast(a, b Image) int {
	switch {
	case a.Deprecated == b.Deprecated:
		return 0
	case a.Deprecated:
		return 1
	}
	return -1
}

// requirements say on which instance types the image runs.
func requirements(image Image) []corev1.NodeSelectorRequirement {
	list := []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{image.Architecture}},
	}
	gpu, accelerator := api.LabelInstanceGPUCount, api.LabelInstanceAcceleratorCount
	switch image.Variant {
	case VariantStandard:
		list = append(list, corev1.NodeSelectorRequirement{Key: gpu, Operator: corev1.NodeSelectorOpDoesNotExist},
			corev1.NodeSelectorRequirement{Key: accelerator, Operator: corev1.NodeSelectorOpDoesNotExist})
	case VariantNVIDIA:
		list = append(list, corev1.NodeSelectorRequirement{Key: gpu, Operator: corev1.NodeSelectorOpExists})
	case VariantNeuron:
		list = append(list, corev1.NodeSelectorRequirement{Key: accelerator, Operator: corev1.NodeSelectorOpExists})
	}
	return list
}

// Parameters are the SSM parameters that hold the images of the class's alias,
// by name, for a Kubernetes minor version such as 1.36.
func Parameters(class *api.EC2NodeClass, kubernetes string) (map[string]Image, error) {
	alias, found := class.Alias()
	if !found {
		return nil, nil
	}
	if alias.Family != api.AMIFamilyAL2023 {
		return nil, fmt.Errorf("alias %s@%s is not supported yet: use al2023", strings.ToLower(alias.Family), alias.Version)
	}
	parameters := map[string]Image{}
	for _, variant := range []struct {
		architecture, ec2 string
		variant           Variant
	}{
		{api.ArchitectureAmd64, "x86_64", VariantStandard},
		{api.ArchitectureArm64, "arm64", VariantStandard},
		{api.ArchitectureAmd64, "x86_64", VariantNVIDIA},
		{api.ArchitectureArm64, "arm64", VariantNVIDIA},
		{api.ArchitectureAmd64, "x86_64", VariantNeuron},
	} {
		image := "recommended"
		if alias.Version != api.AliasVersionLatest {
			image = fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", variant.ec2, variant.variant, kubernetes, alias.Version)
		}
		name := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%s/image_id", kubernetes, variant.ec2, variant.variant, image)
		parameters[name] = Image{Architecture: variant.architecture, Variant: variant.variant}
	}
	return parameters, nil
}
