package nodeclass

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// LaunchTemplate is the content of an EC2 launch template. Equal contents have equal names, so that
// all launches share a template and every invocation finds it.
type LaunchTemplate struct {
	Name               string                    `json:"-"`
	ImageID            string                    `json:"imageId"`
	InstanceProfile    string                    `json:"instanceProfile"`
	SecurityGroups     []string                  `json:"securityGroups"`
	UserData           string                    `json:"userData"` // without base64
	BlockDevices       []*api.BlockDeviceMapping `json:"blockDevices"`
	MetadataOptions    *api.MetadataOptions      `json:"metadataOptions"`
	DetailedMonitoring bool                      `json:"detailedMonitoring"`
	CPUOptions         *api.CPUOptions           `json:"cpuOptions,omitempty"`
	// NetworkInterfaces are empty where the default interface needs only the security groups.
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// PlacementGroup is the group's id, and Partition its partition. Zero leaves the partition to
	// EC2.
	PlacementGroup string `json:"placementGroup,omitempty"`
	Partition      int    `json:"partition,omitempty"`
	Tenancy        string `json:"tenancy,omitempty"` // empty is default
	Enclaves       bool   `json:"enclaves,omitempty"`
	// ReservationID is empty for a launch without any reservation, including open ones.
	ReservationID   string `json:"reservationId,omitempty"`
	ReservationType string `json:"reservationType,omitempty"`
	Interruptible   bool   `json:"interruptible,omitempty"`
	// SpotRequest is true where the tags also go to a spot request.
	SpotRequest bool              `json:"spotRequest,omitempty"`
	Tags        map[string]string `json:"tags"`
}

// templatePrefix is the prefix of the names of launch templates, as in Karpenter.
const templatePrefix = "karpenter.k8s.aws/"

// Template returns the launch template for an image of the class's status. The tags are those of
// the instances' network interfaces and of the template itself. The error names the class and the
// field.
func Template(
	class *api.EC2NodeClass, image api.AMI, join Join, variation Variation, tags map[string]string,
) (LaunchTemplate, error) {
	if public := class.Spec.AssociatePublicIPAddress; variation.Interfaces > 1 && public != nil && *public {
		return LaunchTemplate{}, fmt.Errorf(
			"ec2nodeclass %q: spec.associatePublicIPAddress: EC2 gives no public address to an instance with %d interfaces "+
				"for EFA: remove it, or ask for types with one",
			class.Name, variation.Interfaces,
		)
	}
	userData, err := userData(class, image, join, variation.Kubelet)
	if err != nil {
		return LaunchTemplate{}, err
	}
	if err := checkSize(class, userData); err != nil {
		return LaunchTemplate{}, err
	}
	template := LaunchTemplate{
		ImageID:           image.ID,
		InstanceProfile:   class.Status.InstanceProfile,
		UserData:          userData,
		BlockDevices:      BlockDevices(class),
		MetadataOptions:   class.Spec.MetadataOptions,
		CPUOptions:        class.Spec.CPUOptions,
		NetworkInterfaces: networkInterfaces(class, join.Cluster.IPv6(), variation.Interfaces),
		Enclaves:          variation.Enclaves || class.Enclaves(),
		ReservationID:     variation.ReservationID,
		SpotRequest:       variation.SpotRequest,
		Tags:              tags,
	}
	if variation.ReservationID != "" {
		template.ReservationType, template.Interruptible = variation.ReservationType, variation.Interruptible
	}
	if variation.Tenancy != api.TenancyDefault {
		template.Tenancy = variation.Tenancy
	}
	if err := place(class, &template, variation.Partition); err != nil {
		return LaunchTemplate{}, err
	}
	for _, group := range class.Status.SecurityGroups {
		template.SecurityGroups = append(template.SecurityGroups, group.ID)
	}
	slices.Sort(template.SecurityGroups)
	if class.Spec.DetailedMonitoring != nil {
		template.DetailedMonitoring = *class.Spec.DetailedMonitoring
	}
	content, err := json.Marshal(template)
	if err != nil {
		return LaunchTemplate{}, fmt.Errorf("ec2nodeclass %q: encoding its launch template: %w", class.Name, err)
	}
	sum := sha256.Sum256(content)
	template.Name = templatePrefix + hex.EncodeToString(sum[:16])
	return template, nil
}

// place puts the instance into the class's placement group. It returns an error where the group is
// not resolved, because the class must not launch outside it.
func place(class *api.EC2NodeClass, template *LaunchTemplate, partition int) error {
	group := class.Status.PlacementGroup
	switch {
	case class.Spec.PlacementGroupSelector == nil && partition == 0:
		return nil
	case class.Spec.PlacementGroupSelector == nil || group == nil:
		return fmt.Errorf(
			"ec2nodeclass %q: status.placementGroup is not known: see the condition %s", class.Name,
			api.ConditionTypePlacementGroupReady,
		)
	case partition > int(group.PartitionCount):
		return fmt.Errorf(
			"ec2nodeclass %q: partition %d was asked for, placement group %s has %d", class.Name, partition, group.ID,
			group.PartitionCount,
		)
	}
	template.PlacementGroup, template.Partition = group.ID, partition
	return nil
}
