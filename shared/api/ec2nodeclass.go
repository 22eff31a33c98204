package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClass configures the EC2 instances of nodes: subnets, image, role, disks and settings.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ec2nodeclasses,scope=Cluster,categories=karpenter,shortName={ec2nc,ec2ncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether nodes may be launched with it"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Role",type="string",JSONPath=".spec.role",priority=1,description="The nodes' IAM role"
type EC2NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec EC2NodeClassSpec `json:"spec"`
	// +optional
	Status EC2NodeClassStatus `json:"status,omitempty,omitzero"`

	// Unreadable has the fields of a stored object that cannot be read, by path, with the reason. They
	// are unset here. It is nil for an object whose fields are all read.
	Unreadable map[string]string `json:"-"`
}

// EC2NodeClassList is a list of EC2NodeClasses.
//
// +kubebuilder:object:root=true
type EC2NodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EC2NodeClass `json:"items"`
}

// The hash tags below, and the order of the fields, are Karpenter's. They determine the hash that
// detects drifted nodes, which package nodeclass computes. Fields that it ignores are compared with
// the node itself.

// EC2NodeClassSpec is the desired state of a node class.
//
// +kubebuilder:validation:XValidation:rule="has(self.role) != has(self.instanceProfile)",message="exactly one of role and instanceProfile must be set"
// +kubebuilder:validation:XValidation:rule="has(self.amiFamily) || self.amiSelectorTerms.exists(term, has(term.alias))",message="amiFamily must be set where amiSelectorTerms has no alias: add amiFamily"
// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(term, !has(term.alias) || term.alias.split('@')[0] == self.amiFamily.lowerAscii())",message="amiFamily must be the family of the alias or Custom: remove amiFamily, the alias implies it"
type EC2NodeClassSpec struct {
	// The subnets that nodes may be launched in. A subnet needs to match one term.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +required
	// +kubebuilder:validation:XValidation:rule="self.all(term, has(term.tags) || has(term.id))",message="each term of subnetSelectorTerms needs tags or id"
	// +kubebuilder:validation:XValidation:rule="!self.all(term, has(term.id) && has(term.tags))",message="a term of subnetSelectorTerms has either id or tags: make two terms of it"
	SubnetSelectorTerms []SubnetSelectorTerm `json:"subnetSelectorTerms" hash:"ignore"`
	// The security groups of the nodes. A group needs to match one term.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +required
	// +kubebuilder:validation:XValidation:rule="self.all(term, has(term.tags) || has(term.id) || has(term.name))",message="each term of securityGroupSelectorTerms needs tags, id or name"
	// +kubebuilder:validation:XValidation:rule="!self.all(term, has(term.id) && (has(term.tags) || has(term.name)))",message="a term of securityGroupSelectorTerms with id has nothing else: make two terms of it"
	// +kubebuilder:validation:XValidation:rule="!self.all(term, has(term.name) && (has(term.tags) || has(term.id)))",message="a term of securityGroupSelectorTerms with name has nothing else: make two terms of it"
	SecurityGroupSelectorTerms []SecurityGroupSelectorTerm `json:"securityGroupSelectorTerms" hash:"ignore"`
	// The capacity reservations that nodes may use. Without a term, Whittle targets no reservation.
	// +kubebuilder:validation:MaxItems=30
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(term, has(term.tags) || has(term.id) || has(term.instanceMatchCriteria))",message="each term of capacityReservationSelectorTerms needs tags, id or instanceMatchCriteria"
	// +kubebuilder:validation:XValidation:rule="!self.all(term, has(term.id) && (has(term.tags) || has(term.ownerID) || has(term.instanceMatchCriteria)))",message="a term of capacityReservationSelectorTerms with id has nothing else: make two terms of it"
	CapacityReservationSelectorTerms []CapacityReservationSelectorTerm `json:"capacityReservationSelectorTerms,omitempty" hash:"ignore"`
	// The placement group of the nodes.
	// +optional
	PlacementGroupSelector *PlacementGroupSelector `json:"placementGroupSelector,omitempty"`
	// Whether the nodes get a public address. Where it is unset, the subnet decides.
	// +optional
	AssociatePublicIPAddress *bool `json:"associatePublicIPAddress,omitempty"`
	// The number of address prefixes that the primary network interface of each node gets.
	// +kubebuilder:validation:Minimum=0
	// +optional
	IPPrefixCount *int32 `json:"ipPrefixCount,omitempty" hash:"ignore"`
	// The machine images that nodes may be launched from.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=30
	// +required
	// +kubebuilder:validation:XValidation:rule="self.all(term, has(term.tags) || has(term.id) || has(term.name) || has(term.alias) || has(term.ssmParameter))",message="each term of amiSelectorTerms needs alias, id, name, tags or ssmParameter"
	// +kubebuilder:validation:XValidation:rule="!self.exists(term, has(term.id) && (has(term.alias) || has(term.tags) || has(term.name) || has(term.owner)))",message="a term of amiSelectorTerms with id has nothing else: make two terms of it"
	// +kubebuilder:validation:XValidation:rule="!self.exists(term, has(term.alias) && (has(term.id) || has(term.tags) || has(term.name) || has(term.owner) || has(term.ssmParameter)))",message="a term of amiSelectorTerms with alias has nothing else: remove the other fields"
	// +kubebuilder:validation:XValidation:rule="!self.exists(term, has(term.alias)) || self.size() == 1",message="an alias must be the only term of amiSelectorTerms: remove the other terms"
	AMISelectorTerms []AMISelectorTerm `json:"amiSelectorTerms" hash:"ignore"`
	// The image's operating system, which determines the format of the user data. An alias in
	// amiSelectorTerms implies it. Without an alias it is required.
	// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Custom;Windows2019;Windows2022;Windows2025
	// +optional
	AMIFamily *string `json:"amiFamily,omitempty" hash:"ignore"`
	// User data. It is merged with the user data that the family needs. The family Custom gets it
	// unchanged.
	// +optional
	UserData *string `json:"userData,omitempty"`
	// The name of the nodes' IAM role, for which Whittle makes an instance profile. Exactly one of
	// role and instanceProfile is set.
	// +kubebuilder:validation:MinLength=1
	// +optional
	Role string `json:"role,omitempty"`
	// The name of an existing instance profile.
	// +kubebuilder:validation:MinLength=1
	// +optional
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// Tags of the instances, volumes, fleets and launch templates of this class.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != '')",message="a tag needs a key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('kubernetes.io/cluster'))",message="tags beginning with kubernetes.io/cluster are set by the launch: remove them"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['eks:eks-cluster-name', 'karpenter.sh/nodepool', 'karpenter.sh/nodeclaim', 'karpenter.k8s.aws/ec2nodeclass']))",message="the tags eks:eks-cluster-name, karpenter.sh/nodepool, karpenter.sh/nodeclaim and karpenter.k8s.aws/ec2nodeclass are set by the launch: remove them"
	Tags map[string]string `json:"tags,omitempty"`
	// Settings of the nodes' kubelet: any field of KubeletConfiguration, kubelet.config.k8s.io/v1beta1.
	// The condition ValidationSucceeded names those that the AMI family cannot have.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty" hash:"ignore"`
	// The nodes' disks. Without any, nodes have the disks of the family.
	// +kubebuilder:validation:MaxItems=50
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.filter(mapping, has(mapping.rootVolume) && mapping.rootVolume).size() <= 1",message="only one of blockDeviceMappings may be the rootVolume"
	BlockDeviceMappings []*BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// The use of instance store disks. RAID0 joins them and gives them to the kubelet and the
	// container runtime.
	// +optional
	InstanceStorePolicy *InstanceStorePolicy `json:"instanceStorePolicy,omitempty"`
	// The network interfaces that instances are launched with.
	// +kubebuilder:validation:MaxItems=150
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.exists(i, i.networkCardIndex == 0 && i.deviceIndex == 0 && i.interfaceType == 'interface')",message="networkInterfaces needs one with networkCardIndex 0, deviceIndex 0 and interfaceType interface"
	// +kubebuilder:validation:XValidation:rule="self.all(i, self.filter(other, other.networkCardIndex == i.networkCardIndex && other.deviceIndex == i.deviceIndex).size() == 1)",message="two networkInterfaces have the same networkCardIndex and deviceIndex"
	// +kubebuilder:validation:XValidation:rule="self.all(i, i.interfaceType != 'efa-only' || self.filter(other, other.networkCardIndex == i.networkCardIndex && other.interfaceType == 'efa-only').size() == 1)",message="a network card has at most one interface of the type efa-only"
	NetworkInterfaces []NetworkInterface `json:"networkInterfaces,omitempty"`
	// Whether CloudWatch gets the instance's metrics each minute.
	// +optional
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`
	// Settings of the instance metadata service.
	// +kubebuilder:default:={httpEndpoint: "enabled", httpProtocolIPv6: "disabled", httpPutResponseHopLimit: 1, httpTokens: "required"}
	// +optional
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// Whether the instances run Nitro Enclaves. With enabled, only instance types that support them
	// are launched.
	// +optional
	EnclaveOptions *EnclaveOptions `json:"enclaveOptions,omitempty"`
	// Idle times after which the instance's security groups forget a connection. With them, only
	// instance types with the Nitro hypervisor are launched.
	// +optional
	ConnectionTracking *ConnectionTracking `json:"connectionTracking,omitempty"`
	// A context that is passed to EC2 unchanged. AWS reserves it for special uses.
	// +optional
	Context *string `json:"context,omitempty"`
	// Options of the instances' processors.
	// +optional
	CPUOptions *CPUOptions `json:"cpuOptions,omitempty"`
}

// InstanceStorePolicy is the use of instance store disks.
//
// +kubebuilder:validation:Enum=RAID0
type InstanceStorePolicy string

// InstanceStorePolicyRAID0 joins the instance store disks into one array.
const InstanceStorePolicyRAID0 InstanceStorePolicy = "RAID0"

// MetadataOptions are the settings of the instance metadata service.
type MetadataOptions struct {
	// Whether the service answers.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +kubebuilder:default:=enabled
	// +optional
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// Whether the service also answers over IPv6.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +kubebuilder:default:=disabled
	// +optional
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// The number of network hops that an answer may take. With one, only pods that use the host's
	// network reach the service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	// +kubebuilder:default:=1
	// +optional
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// Whether a session token (IMDSv2) is required.
	// +kubebuilder:validation:Enum=required;optional
	// +kubebuilder:default:=required
	// +optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// ConnectionTracking holds idle times in seconds.
//
// +kubebuilder:validation:XValidation:rule="has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",message="connectionTracking needs at least one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout"
type ConnectionTracking struct {
	// For established TCP connections.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=432000
	// +optional
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	// For UDP flows with traffic in both directions.
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=180
	// +optional
	UDPStreamTimeout *int32 `json:"udpStreamTimeout,omitempty"`
	// For UDP flows with traffic in one direction.
	// +kubebuilder:validation:Minimum=30
	// +kubebuilder:validation:Maximum=60
	// +optional
	UDPTimeout *int32 `json:"udpTimeout,omitempty"`
}

// EnclaveOptions are options of Nitro Enclaves.
type EnclaveOptions struct {
	// Whether Nitro Enclaves may run on the instance.
	// +required
	Enabled bool `json:"enabled"`
}

// CPUOptions are options of an instance's processors.
type CPUOptions struct {
	// Whether virtual machines may run inside the instance. With enabled, only instance types that
	// support it are launched.
	// +kubebuilder:validation:Enum=enabled;disabled
	// +optional
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}

// Enclaves reports whether the class asks for Nitro Enclaves.
func (c *EC2NodeClass) Enclaves() bool {
	return c.Spec.EnclaveOptions != nil && c.Spec.EnclaveOptions.Enabled
}
