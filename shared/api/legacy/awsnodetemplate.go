package legacy

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSNodeTemplate configures the EC2 instances of the Provisioners that name it. New manifests
// should use EC2NodeClass.
//
// +kubebuilder:resource:path=awsnodetemplates,scope=Cluster,categories=karpenter
// +kubebuilder:subresource:status
type AWSNodeTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec AWSNodeTemplateSpec `json:"spec,omitempty,omitzero"`
	// +optional
	Status AWSNodeTemplateStatus `json:"status,omitempty,omitzero"`
}

// AWSNodeTemplateList is a list of AWSNodeTemplates.
type AWSNodeTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AWSNodeTemplate `json:"items"`
}

// AWSNodeTemplateSpec is the desired state of a template. The inline provider of a Provisioner has
// the same fields, except for userData, amiSelector and detailedMonitoring.
type AWSNodeTemplateSpec struct {
	// The apiVersion of an inline provider. It means nothing here.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// The kind of an inline provider. It means nothing here.
	// +optional
	Kind string `json:"kind,omitempty"`
	// The family of the machine images: AL2, which is the default, Bottlerocket, Ubuntu,
	// Windows2019, Windows2022 or Custom.
	// +optional
	AMIFamily *string `json:"amiFamily,omitempty"`
	// User data, which is merged with the user data that the family needs.
	// +optional
	UserData *string `json:"userData,omitempty"`
	// The images: tags, aws-ids, aws::name and aws::owners, with commas between alternatives.
	// +optional
	AMISelector map[string]string `json:"amiSelector,omitempty"`
	// Whether CloudWatch gets the instance's metrics each minute.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// The name of the nodes' instance profile. Without it, nodes have the profile of the stack's
	// setting defaultInstanceProfile, or else the stack's role of nodes.
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// The subnets: tags or aws-ids, with commas between alternatives. The value * matches any value.
	// +optional
	SubnetSelector map[string]string `json:"subnetSelector,omitempty"`
	// The security groups, like subnets.
	// +optional
	SecurityGroupSelector map[string]string `json:"securityGroupSelector,omitempty"`
	// Tags of the instances and volumes.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The name of a launch template. Nodes cannot be launched with one any more.
	// +optional
	LaunchTemplateName *string `json:"launchTemplate,omitempty"`
	// Settings of the instance metadata service. The default is an enabled service with tokens, a
	// hop limit of 2, and without IPv6.
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// The nodes' disks.
	// +optional
	BlockDeviceMappings []*BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// A context that is passed to EC2 unchanged.
	// +optional
	Context *string `json:"context,omitempty"`
}

// MetadataOptions are the settings of the instance metadata service. A field that is unset among
// others has EC2's default of its time.
type MetadataOptions struct {
	// Whether the service answers: enabled, which is the default, or disabled.
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// Whether the service also answers over IPv6: enabled or disabled, which is the default.
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// The number of network hops that an answer may take. The default beside other fields is 1.
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// Whether a token is required or optional, which is the default beside other fields.
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// BlockDeviceMapping is one disk of an instance.
type BlockDeviceMapping struct {
	// The disk's name in the image, such as /dev/xvda.
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// The EBS volume behind the disk.
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
	// Whether this disk holds the kubelet's data. v1alpha1 does not have it.
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
}

// BlockDevice is an EBS volume.
type BlockDevice struct {
	// Whether EC2 deletes the volume when it terminates the instance.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// Whether the volume is encrypted.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`
	// I/O operations per second.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// The key that encrypts the volume.
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// The snapshot that the volume is made from.
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// Throughput in MiB per second.
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// The volume's size, in whole GiB.
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`
	// The volume's type.
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}

// AWSNodeTemplateStatus is what the template selects.
type AWSNodeTemplateStatus struct {
	// The selected subnets.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// The selected security groups.
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// The selected images.
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// The conditions of the template.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet is a selected subnet.
type Subnet struct {
	// The subnet's id.
	// +required
	ID string `json:"id"`
	// Its zone.
	// +required
	Zone string `json:"zone"`
}

// SecurityGroup is a selected security group.
type SecurityGroup struct {
	// The group's id.
	// +required
	ID string `json:"id"`
	// Its name.
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI is a selected image.
type AMI struct {
	// The image's id.
	// +required
	ID string `json:"id"`
	// Its name.
	// +optional
	Name string `json:"name,omitempty"`
	// The instance types that the image is for.
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}
