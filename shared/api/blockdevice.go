package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// BlockDeviceMapping is one disk of an instance.
type BlockDeviceMapping struct {
	// The name that the image knows the disk by, such as /dev/xvda.
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// The EBS volume behind the disk.
	// +kubebuilder:validation:XValidation:rule="has(self.snapshotID) || has(self.volumeSize)",message="a volume needs snapshotID or volumeSize"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeInitializationRate) || has(self.snapshotID)",message="volumeInitializationRate needs snapshotID: only a volume that is made from a snapshot is initialized"
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
	// Whether the kubelet's data lies on this disk, so that its size is the node's
	// ephemeral storage. At most one disk says so.
	// +optional
	RootVolume bool `json:"rootVolume,omitempty"`
}

// BlockDevice is an EBS volume.
type BlockDevice struct {
	// Whether the volume goes with its instance.
	// +optional
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
	// Whether the volume is encrypted.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`
	// Operations a second, for the types gp3, io1 and io2.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// The key that encrypts the volume, by id, alias or ARN.
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// The snapshot that the volume is made from.
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// MiB a second, for the type gp3.
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// MiB a second at which the snapshot is copied to the volume.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
	// The volume's size. EC2 counts in GiB; other units are rounded up.
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty" hash:"string"`
	// The volume's type.
	// +kubebuilder:validation:Enum=standard;io1;io2;gp2;gp3;sc1;st1
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}
