package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClassStatus is the last result of resolving a node class's selectors.
type EC2NodeClassStatus struct {
	// The subnets, the one with the most free addresses first.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`
	// The security groups.
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	// The capacity reservations.
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
	// The placement group.
	// +optional
	PlacementGroup *PlacementGroup `json:"placementGroup,omitempty"`
	// The machine images.
	// +optional
	AMIs []AMI `json:"amis,omitempty"`
	// The instance profile that instances are launched with.
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`
	// The conditions of the class. Ready summarises them.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet is a subnet that nodes may be launched in.
type Subnet struct {
	// The subnet's id.
	// +required
	ID string `json:"id"`
	// The availability zone's name, such as us-east-1a.
	// +required
	Zone string `json:"zone"`
	// The availability zone's id, such as use1-az1. It names the same zone in every account.
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
	// Whether the subnet gives its instances a public IPv4 address, unless
	// spec.associatePublicIPAddress says otherwise. Karpenter does not write this field.
	// +optional
	PublicIPv4 bool `json:"publicIPv4,omitempty"`
}

// SecurityGroup is a security group of the nodes.
type SecurityGroup struct {
	// The group's id.
	// +required
	ID string `json:"id"`
	// The group's name.
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI is a machine image and the requirements of the nodes that can run it.
type AMI struct {
	// The image's id.
	// +required
	ID string `json:"id"`
	// Whether its publisher has deprecated the image.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// The image's name.
	// +optional
	Name string `json:"name,omitempty"`
	// Conditions on the labels of nodes that can run it, such as the architecture.
	// +required
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// Values of a capacity reservation's reservationType.
const (
	CapacityReservationTypeDefault       = "default"
	CapacityReservationTypeCapacityBlock = "capacity-block"
)

// Values of a capacity reservation's state.
const (
	CapacityReservationStateActive   = "active"
	CapacityReservationStateExpiring = "expiring"
)

// CapacityReservation is a capacity reservation that nodes may use.
type CapacityReservation struct {
	// The availability zone's name.
	// +required
	AvailabilityZone string `json:"availabilityZone"`
	// The end of the reservation, if it has one.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// The reservation's id.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +required
	ID string `json:"id"`
	// The instances that use the reservation: open or targeted.
	// +kubebuilder:validation:Enum=open;targeted
	// +required
	InstanceMatchCriteria string `json:"instanceMatchCriteria"`
	// The instance type that is reserved.
	// +required
	InstanceType string `json:"instanceType"`
	// The account that the reservation belongs to.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +required
	OwnerID string `json:"ownerID"`
	// The type of the reservation: default or capacity-block.
	// +kubebuilder:validation:Enum=default;capacity-block
	// +kubebuilder:default:=default
	// +optional
	ReservationType string `json:"reservationType,omitempty"`
	// The state of the reservation: active, or expiring when it is about to end.
	// +kubebuilder:validation:Enum=active;expiring
	// +kubebuilder:default:=active
	// +optional
	State string `json:"state,omitempty"`
	// Whether the owner may reclaim the capacity while instances use it.
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
}

// Values of a placement group's strategy.
const (
	PlacementGroupStrategyCluster   = "cluster"
	PlacementGroupStrategyPartition = "partition"
	PlacementGroupStrategySpread    = "spread"
)

// PlacementGroup is the placement group that nodes are launched into.
type PlacementGroup struct {
	// The group's id.
	// +kubebuilder:validation:Pattern=`^pg-[0-9a-z]+$`
	// +required
	ID string `json:"id"`
	// The group's name.
	// +optional
	Name string `json:"name,omitempty"`
	// The group's strategy: cluster, partition or spread.
	// +kubebuilder:validation:Enum=cluster;partition;spread
	// +required
	Strategy string `json:"strategy"`
	// The number of partitions of a group with the strategy partition. They are counted from 1.
	// +optional
	PartitionCount int32 `json:"partitionCount,omitempty"`
	// The level of a group with the strategy spread: rack or host.
	// +optional
	SpreadLevel string `json:"spreadLevel,omitempty"`
}
