package check

import "github.com/whittle-dev/whittle/shared/api"

// Fact is something that was read, or the error of its reading.
type Fact[T any] struct {
	Value T
	Err   error
}

// Read makes a fact of what a reading returned.
func Read[T any](value T, err error) Fact[T] { return Fact[T]{value, err} }

// Facts are what was read of an account and a cluster. Options are what the deployment will have.
type Facts struct {
	Options
	Identity Fact[string] // the ARN of the caller
	Cluster  Fact[Cluster]
	// Bootstrap is the version of CDK's bootstrap stack, 0 for none.
	Bootstrap Fact[int]
	// SpotRole says whether the service-linked role of EC2 Spot exists.
	SpotRole Fact[bool]
	// NodeRole is the role of the option NodeRole.
	NodeRole Fact[Role]
	// Quotas has vCPUs by the quota's code.
	Quotas Fact[map[string]float64]
	// Concurrency is the number of Lambda invocations that the account may run at a time, and that no
	// function has reserved.
	Concurrency Fact[int]
	Subnets     Fact[[]Subnet] // those in which nodes will run
	Groups      Fact[[]string] // ids of the security groups that nodes will have
	// Way is how the functions' subnets reach AWS's APIs; nil for functions outside a VPC.
	Way  Fact[*Way]
	Kube Fact[Kube]
}

// Options are settings of the deployment that is to come.
type Options struct {
	ClusterName        string
	AuthenticationMode string // API or CONFIG_MAP
	NodeRole           string // the ARN of an existing role; empty for one that the stack makes
	FunctionSubnets    []string
	AllowAutoMode      bool
	EventBus           string // where the functions' own events go; empty for none
	ZonalShift         bool
}

// Cluster is what EKS tells of the cluster.
type Cluster struct {
	Status, Version    string
	AuthenticationMode string // API, API_AND_CONFIG_MAP or CONFIG_MAP
	Private            bool   // whether the endpoint answers in the VPC
	PublicCIDRs        []string
	AutoMode           bool
}

// Role is an IAM role for nodes.
type Role struct {
	Exists bool
	// TrustsEC2 says whether EC2 may assume the role.
	TrustsEC2 bool
	Policies  []string // names of the attached managed policies
	// HasEntry says whether the cluster has an access entry for the role.
	HasEntry bool
}

// Subnet is a subnet for nodes.
type Subnet struct {
	ID, Zone string
	Free     int // addresses
	// Selected says that an EC2NodeClass selects the subnet. Else the tag karpenter.sh/discovery does.
	Selected bool
}

// Way is how subnets reach AWS's APIs.
type Way struct {
	// WithoutNAT are the subnets whose route table has no NAT gateway.
	WithoutNAT []string
	Endpoints  []string // services with an interface endpoint in the VPC, such as sqs
}

// Kube is what the API server tells.
type Kube struct {
	// Definitions has, by the name of a CustomResourceDefinition, who manages it, such as Helm;
	// missing for one that does not exist.
	Definitions map[string]string
	// Karpenter is the holder of Karpenter's Lease, empty where none leads.
	Karpenter string
	CNI       string // the name of the DaemonSet that gives pods their addresses, empty for none that is known
	NodePools []api.NodePool
	// NodeClasses are the EC2NodeClasses.
	NodeClasses []api.EC2NodeClass
	// Rolls are warnings about pools that a new image replaces at once.
	Rolls []string
}
