package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// BlockDeviceMapping is one disk of an instance.
type BlockDeviceMapping struct {
	// The disk's name in the image, such as /dev/xvda.
	// +optional
	DeviceName *string `json:"deviceName,omitempty"`
	// The EBS volume behind the disk.
	// +kubebuilder:validation:XValidation:rule="has(self.snapshotID) || has(self.volumeSize)",message="a volume needs snapshotID or volumeSize"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeInitializationRate) || has(self.snapshotID)",message="volumeInitializationRate needs snapshotID: only a volume that is made from a snapshot is initialized"
	// +optional
	EBS *BlockDevice `json:"ebs,omitempty"`
	// Whether this disk holds the kubelet's data. Its size is then the node's ephemeral storage. At
	// most one disk has this.
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
	// I/O operations per second, for the types gp3, io1 and io2.
	// +optional
	IOPS *int64 `json:"iops,omitempty"`
	// The key that encrypts the volume, by id, alias or ARN.
	// +optional
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// The snapshot that the volume is made from.
	// +optional
	SnapshotID *string `json:"snapshotID,omitempty"`
	// Throughput in MiB per second, for the type gp3.
	// +optional
	Throughput *int64 `json:"throughput,omitempty"`
	// Rate in MiB per second at which the snapshot is copied to the volume.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=300
	// +optional
	VolumeInitializationRate *int32 `json:"volumeInitializationRate,omitempty"`
	// The volume's size. EC2 uses whole GiB; other sizes are rounded up.
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty" hash:"string"`
	// The volume's type.
	// +kubebuilder:validation:Enum=standard;io1;io2;gp2;gp3;sc1;st1
	// +optional
	VolumeType *string `json:"volumeType,omitempty"`
}
