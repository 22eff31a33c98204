package nodeclass

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// LaunchTemplate is the content of an EC2 launch template. Equal contents have
// equal names, so that a template is shared by all launches that need it and
// found again by any invocation.
type LaunchTemplate struct {
	Name               string                    `json:"-"`
	ImageID            string                    `json:"imageId"`
	InstanceProfile    string                    `json:"instanceProfile"`
	SecurityGroups     []string                  `json:"securityGroups"`
	UserData           string                    `json:"userData"` // not in base64
	BlockDevices       []*api.BlockDeviceMapping `json:"blockDevices"`
	MetadataOptions    *api.MetadataOptions      `json:"metadataOptions"`
	DetailedMonitoring bool                      `json:"detailedMonitoring"`
	PublicIPAddress    *bool                     `json:"publicIPAddress"`
	SpotRequest        bool                      `json:"spotRequest,omitempty"` // whether the tags are a spot request's as well
	Tags               map[string]string         `json:"tags"`
}

// MaximumUserData is how many bytes EC2 takes before base64.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const MaximumUserData = 16 << 10

// templatePrefix begins the names of launch templates, as Karpenter's do.
const templatePrefix = "karpenter.k8s.aws/"

// Template is the launch template for an image of the class's status. tags are
// those of the instances' network interfaces and of the template itself.
func Template(class *api.EC2NodeClass, image api.AMI, join Join, variation Variation, tags map[string]string) (LaunchTemplate, error) {
	userData, err := UserData(class, join)
	if err != nil {
		return LaunchTemplate{}, err
	}
	if len(userData) > MaximumUserData {
		return LaunchTemplate{}, fmt.Errorf("ec2nodeclass %q: user data has %d bytes, EC2 takes %d: shorten spec.userData", class.Name, len(userData), MaximumUserData)
	}
	template := LaunchTemplate{
		ImageID:         image.ID,
		InstanceProfile: class.Status.InstanceProfile,
		UserData:        userData,
		BlockDevices:    BlockDevices(class),
		MetadataOptions: class.Spec.MetadataOptions,
		PublicIPAddress: class.Spec.AssociatePublicIPAddress,
		SpotRequest:     variation.SpotRequest,
		Tags:            tags,
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
