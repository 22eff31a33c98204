package api

// Labels of the group karpenter.sh.
const (
	// NodePoolLabelKey names the node pool of a claim, a node and (as a tag) an instance.
	NodePoolLabelKey = Group + "/nodepool"
	// ProvisionerNameLabelKey names the Provisioner of a node. A NodePool with this label on itself
	// gives it to its nodes, because pods of Provisioners may select it.
	ProvisionerNameLabelKey = Group + "/provisioner-name"
	// CapacityTypeLabelKey is the purchase option of a node: on-demand, spot or reserved.
	CapacityTypeLabelKey = Group + "/capacity-type"
	// NodeInitializedLabelKey is "true" on a node that is ready for its pods.
	NodeInitializedLabelKey = Group + "/initialized"
	// NodeRegisteredLabelKey is "true" on a node that has its claim's labels and taints.
	NodeRegisteredLabelKey = Group + "/registered"
	// NodeDoNotSyncTaintsLabelKey "true" leaves a registering node's taints as they are.
	NodeDoNotSyncTaintsLabelKey = Group + "/do-not-sync-taints"
)

// Values of CapacityTypeLabelKey.
const (
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeSpot     = "spot"
	CapacityTypeReserved = "reserved"
)

// Values of the label kubernetes.io/arch.
const (
	ArchitectureAmd64 = "amd64"
	ArchitectureArm64 = "arm64"
)

// Labels of the group karpenter.k8s.aws. The labels of an instance type derive from the answer of
// DescribeInstanceTypes; a label that cannot be derived is absent.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html
const (
	// LabelNodeClass names the EC2NodeClass of a node; also an EC2 tag.
	LabelNodeClass = AWSGroup + "/ec2nodeclass"
	// LabelInstanceHypervisor is nitro, xen, or empty for metal.
	LabelInstanceHypervisor = AWSGroup + "/instance-hypervisor"
	// LabelInstanceEncryptionInTransitSupported is true or false.
	LabelInstanceEncryptionInTransitSupported = AWSGroup + "/instance-encryption-in-transit-supported"
	// LabelInstanceCategory is the letters that a family starts with, such as c, m or r.
	LabelInstanceCategory = AWSGroup + "/instance-category"
	// LabelInstanceFamily is the type's name up to the dot.
	LabelInstanceFamily = AWSGroup + "/instance-family"
	// LabelInstanceGeneration is the number in a family's name.
	LabelInstanceGeneration = AWSGroup + "/instance-generation"
	// LabelInstanceSize is the type's name after the dot.
	LabelInstanceSize = AWSGroup + "/instance-size"
	// LabelInstanceCapabilityFlex is true for flex families.
	LabelInstanceCapabilityFlex = AWSGroup + "/instance-capability-flex"
	// LabelInstanceLocalNVME is the total of the instance's own NVMe disks in GB.
	LabelInstanceLocalNVME = AWSGroup + "/instance-local-nvme"
	// LabelInstanceCPU is the number of vCPUs.
	LabelInstanceCPU = AWSGroup + "/instance-cpu"
	// LabelInstanceCPUManufacturer is intel, amd or aws.
	LabelInstanceCPUManufacturer = AWSGroup + "/instance-cpu-manufacturer"
	// LabelInstanceCPUSustainedClockSpeedMhz is the sustained clock in MHz.
	LabelInstanceCPUSustainedClockSpeedMhz = AWSGroup + "/instance-cpu-sustained-clock-speed-mhz"
	// LabelInstanceMemory is the memory in MiB.
	LabelInstanceMemory = AWSGroup + "/instance-memory"
	// LabelInstanceEBSBandwidth is the maximum bandwidth to EBS in Mbit/s.
	LabelInstanceEBSBandwidth = AWSGroup + "/instance-ebs-bandwidth"
	// LabelInstanceNetworkBandwidth is the baseline bandwidth of the network in Mbit/s.
	LabelInstanceNetworkBandwidth = AWSGroup + "/instance-network-bandwidth"
	// LabelInstanceGPUName is the GPU's name, in lower case with hyphens.
	LabelInstanceGPUName = AWSGroup + "/instance-gpu-name"
	// LabelInstanceGPUManufacturer is the GPU's maker, in lower case.
	LabelInstanceGPUManufacturer = AWSGroup + "/instance-gpu-manufacturer"
	// LabelInstanceGPUCount is the number of GPUs.
	LabelInstanceGPUCount = AWSGroup + "/instance-gpu-count"
	// LabelInstanceGPUMemory is the memory of one GPU in MiB.
	LabelInstanceGPUMemory = AWSGroup + "/instance-gpu-memory"
	// LabelInstanceAcceleratorName is the machine learning accelerator, such as inferentia.
	LabelInstanceAcceleratorName = AWSGroup + "/instance-accelerator-name"
	// LabelInstanceAcceleratorManufacturer is the accelerator's maker.
	LabelInstanceAcceleratorManufacturer = AWSGroup + "/instance-accelerator-manufacturer"
	// LabelInstanceAcceleratorCount is the number of accelerators.
	LabelInstanceAcceleratorCount = AWSGroup + "/instance-accelerator-count"
	// LabelInstanceTenancy is default or dedicated.
	LabelInstanceTenancy = AWSGroup + "/instance-tenancy"
	// LabelNitroSandbox says whether the type supports Nitro Enclaves.
	LabelNitroSandbox = AWSGroup + "/nitro-sandbox"
	// LabelCapacityReservationID names the capacity reservation that a node uses.
	LabelCapacityReservationID = AWSGroup + "/capacity-reservation-id"
	// LabelCapacityReservationType is default or capacity-block.
	LabelCapacityReservationType = AWSGroup + "/capacity-reservation-type"
	// LabelCapacityReservationInterruptible is true where EC2 may reclaim the reservation.
	LabelCapacityReservationInterruptible = AWSGroup + "/capacity-reservation-interruptible"
	// LabelPlacementGroupID names the placement group that a node is in.
	LabelPlacementGroupID = AWSGroup + "/placement-group-id"
	// LabelPlacementGroupPartition is the partition of the placement group, counted from 1.
	LabelPlacementGroupPartition = AWSGroup + "/placement-group-partition"
)

// LabelInstanceID is the id of a claim's instance. It lets an event about an instance find its
// claim without listing all claims. Nodes do not get it.
const LabelInstanceID = OwnGroup + "/instance-id"

// Values of LabelInstanceTenancy.
const (
	TenancyDefault   = "default"
	TenancyDedicated = "dedicated"
)

// Labels of other groups that select nodes and that k8s.io/api does not name.
const (
	// LabelTopologyZoneID is the availability zone's id, such as use1-az1.
	LabelTopologyZoneID = "topology.k8s.aws/zone-id"
	// LabelTopologyZoneEBS is the zone label of the EBS CSI driver's volumes.
	LabelTopologyZoneEBS = "topology.ebs.csi.aws.com/zone"
	// LabelExcludeFromLoadBalancers takes a draining node out of load balancers. Its value is
	// ExcludeFromLoadBalancersValue.
	LabelExcludeFromLoadBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
	// ExcludeFromLoadBalancersValue tells the autoscaler's label from one that a person set.
	ExcludeFromLoadBalancersValue = "karpenter"
)

// Resource names that instance types may have beyond Kubernetes' own.
const (
	ResourceNVIDIAGPU          = "nvidia.com/gpu"
	ResourceAMDGPU             = "amd.com/gpu"
	ResourceAWSNeuron          = "aws.amazon.com/neuron"
	ResourceAWSNeuronCore      = "aws.amazon.com/neuroncore"
	ResourceHabanaGaudi        = "habana.ai/gaudi"
	ResourceAWSPodENI          = "vpc.amazonaws.com/pod-eni"
	ResourcePrivateIPv4Address = "vpc.amazonaws.com/PrivateIPv4Address"
	ResourceEFA                = "vpc.amazonaws.com/efa"
	ResourceNitroSandbox       = "eks.amazonaws.com/nitro-sandbox"
	// ResourceNodes counts nodes. Only limits use it.
	ResourceNodes = "nodes"
	// ResourceDollarsPerHour is what nodes cost in US dollars an hour. Only limits use it.
	ResourceDollarsPerHour = OwnGroup + "/dollars-per-hour"
)
