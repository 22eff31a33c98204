package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// Architecture is a processor in Lambda's spelling.
type Architecture string

// The processors of the functions.
const (
	ArchitectureArm64 Architecture = "arm64"
	ArchitectureX8664 Architecture = "x86_64"
)

// Reaction is how Whittle learns of changes in the cluster.
type Reaction string

// ReactionPoll acts on ticks only. ReactionAdaptive watches the cluster while there is work.
// ReactionAlways never ends the watch.
const (
	ReactionPoll     Reaction = reactionPoll
	ReactionAdaptive Reaction = reactionAdaptive
	ReactionAlways   Reaction = reactionAlways
)

// Metrics is which of the functions' metrics exist.
type Metrics string

// MetricsFew has the metrics that alarms need or that show the nodes and their price. MetricsFull has
// all, and MetricsOff those of failures alone.
const (
	MetricsFew  = Metrics(metrics.DetailFew)
	MetricsFull = Metrics(metrics.DetailFull)
	MetricsOff  = Metrics(metrics.DetailOff)
)

// AuthenticationMode is how the functions and nodes enter the cluster.
type AuthenticationMode string

// AuthenticationModeAPI uses access entries, also in a cluster with API_AND_CONFIG_MAP.
// AuthenticationModeConfigMap prints lines for the ConfigMap aws-auth.
const (
	AuthenticationModeAPI       AuthenticationMode = modeAPI
	AuthenticationModeConfigMap AuthenticationMode = modeConfigMap
)

// Admission is what happens to writes of nodes and tenants that the admission policies refuse.
type Admission string

// AdmissionAudit marks them in the API server's audit log. AdmissionDeny refuses them. AdmissionOff
// installs no policies.
const (
	AdmissionAudit Admission = admissionAudit
	AdmissionDeny  Admission = admissionDeny
	AdmissionOff   Admission = admissionOff
)

// Binding is who binds pods to the node that was launched for them.
type Binding string

// BindingPlan lets lifecycle bind them, before the scheduler sees the node. BindingScheduler leaves all pods to
// kube-scheduler.
const (
	BindingPlan      Binding = bindByPlan
	BindingScheduler Binding = bindByScheduler
)

// Commitments is whose Reserved Instances and Savings Plans count in prices.
type Commitments string

// CommitmentsAccount counts those of the account, and CommitmentsOff none. Another value is the path of a
// file with the answers of the APIs that know them, which ends in .json, .yaml or .yml.
const (
	CommitmentsAccount Commitments = commitmentsOfAccount
	CommitmentsOff     Commitments = commitmentsOff
)

// PreferencePolicy is whether plans follow preferences of pods.
type PreferencePolicy string

// PreferencePolicyIgnore plans without preferred affinity, ScheduleAnyway and PreferNoSchedule.
const (
	PreferencePolicyRespect PreferencePolicy = "Respect"
	PreferencePolicyIgnore  PreferencePolicy = "Ignore"
)

// MinValuesPolicy is what a requirement's minValues mean where fewer values exist.
type MinValuesPolicy string

// MinValuesPolicyBestEffort lowers minValues to the number that exists.
const (
	MinValuesPolicyStrict     MinValuesPolicy = "Strict"
	MinValuesPolicyBestEffort MinValuesPolicy = "BestEffort"
)

// WhittleProps are the properties of an installation. ClusterName is required, and Release or
// Functions. Every other property has the default of the setting of the same name: README.md lists
// them. ARNs and ids may be attributes of other constructs.
type WhittleProps struct {
	// ClusterName is the name of the EKS cluster. It has to be text that is known at synthesis,
	// because the names of queues and the conditions of rights contain it.
	ClusterName *string

	// Release is the folder of a release, whose functions are deployed without a build. Its sums are
	// checked.
	Release *string
	// ReleaseKey is the public key of minisign that has to have signed the release. The default is no
	// check of a signature, except in a folder with the file infra/release.pub.
	ReleaseKey *string
	// Functions is the folder of built functions, as `make build` leaves it, in place of Release.
	Functions *string
	// Architecture is the processor of the functions. The default is ArchitectureArm64.
	Architecture Architecture

	// Interval is the time between two passes of provision: whole seconds that divide a minute. The
	// default is 10 seconds.
	Interval awscdk.Duration
	// Reaction is how Whittle learns of changes. The default is ReactionAdaptive.
	Reaction Reaction
	// QuietAfter is the time without work after which an adaptive watch ends, 10 seconds to an hour.
	// The default is 5 minutes.
	QuietAfter awscdk.Duration
	// DryRun makes functions plan and log, but launch, evict and terminate nothing. The default is false.
	DryRun *bool
	// Memory is the memory of functions in MB by their names, such as provision, 128 to 10240. A
	// function that is not listed keeps its default.
	Memory *map[string]*float64
	// LogRetention is how many days CloudWatch keeps the functions' logs. The default is 14.
	LogRetention *float64

	// AlarmTopic is the ARN of the SNS topic for the alarms. By default alarms notify nobody.
	AlarmTopic *string
	// AlarmEmail is the address that gets the alarms by mail, from a topic that the construct makes. By
	// default there is none.
	AlarmEmail *string
	// Metrics is which of the functions' metrics exist. The default is MetricsFew.
	Metrics Metrics
	// NodePoolMetrics are names of NodePools whose nodes and price are metrics of their own. By default
	// no pool's are.
	NodePoolMetrics *[]*string
	// Alarms makes the alarms. The default is true.
	Alarms *bool
	// Dashboard makes the dashboard. The default is true.
	Dashboard *bool

	// Subnets are ids of subnets in the cluster's VPC for the functions. A private endpoint needs
	// them. By default the functions run outside a VPC.
	Subnets *[]*string
	// SecurityGroups are ids of the security groups of the functions in Subnets.
	SecurityGroups *[]*string
	// ClusterSecurityGroup is the id of the cluster's security group. A rule there lets SecurityGroups
	// reach port 443. By default there is no rule.
	ClusterSecurityGroup *string

	// NodeRole is the ARN of an existing role for the nodes, which must have an access entry already.
	// By default the construct makes a role.
	NodeRole *string
	// DefaultInstanceProfile is the name of the instance profile of Provisioners whose template names
	// none. By default their nodes get the role of nodes.
	DefaultInstanceProfile *string
	// NodeCNI puts AmazonEKS_CNI_Policy on the role of nodes. The default is true.
	NodeCNI *bool
	// NodeSSM puts AmazonSSMManagedInstanceCore on the role of nodes. The default is false.
	NodeSSM *bool
	// WindowsNodes makes a second role, for nodes that run Windows. The default is false.
	WindowsNodes *bool

	// AuthenticationMode is how functions and nodes enter the cluster. The default is
	// AuthenticationModeAPI.
	AuthenticationMode AuthenticationMode
	// Admission is what happens to writes that the admission policies refuse. The default is
	// AdmissionAudit.
	Admission Admission
	// AllowAutoMode accepts a cluster with EKS Auto Mode. The default is false.
	AllowAutoMode *bool
	// PermissionBoundary is the ARN of the permissions boundary of every role of the installation. By
	// default that of the app or stage holds, if there is one.
	PermissionBoundary *string
	// KmsKey is the ARN of the key for queues and logs. The default is the services' own keys.
	KmsKey *string
	// VolumeKeys are ARNs of the keys that encrypt the nodes' volumes. The default is AWS's own key.
	VolumeKeys *[]*string
	// RedriveRoles are ARNs of roles that may move dead letters back to the queues. By default nobody
	// may.
	RedriveRoles *[]*string

	// TerminateFirst are reasons, Drifted and Unhealthy, for which a node may end before its
	// replacement. By default no node does.
	TerminateFirst *[]*string
	// Binding is who binds pods to the node that was launched for them. The default is BindingPlan.
	Binding Binding
	// PodDeletionCost writes deletion costs on pods of ReplicaSets. The default is false.
	PodDeletionCost *bool
	// Commitments is whose Reserved Instances and Savings Plans count in prices. The default is CommitmentsOff.
	Commitments Commitments
	// CommitmentPercent is the part of each of them that the cluster may use. The default is 100.
	CommitmentPercent *float64
	// MaxDollarsPerHour is the most that the nodes of all NodePools cost together. The default is
	// 0, for no limit.
	MaxDollarsPerHour *float64
	// DispersalPercent is what keeping replicas of a workload apart may add to the price of new nodes, in
	// percent. The default is 1, and 0 leaves it out.
	DispersalPercent *float64
	// ProvisioningRequests launches nodes for ProvisioningRequests. The default is false.
	ProvisioningRequests *bool
	// CapacityBuffers keeps room on nodes for the pods of CapacityBuffers. The default is false.
	CapacityBuffers *bool
	// RebootForRepair reboots a node with a GPU error that a reboot may end. The default is false.
	RebootForRepair *bool
	// EventBus is the name or the ARN of the EventBridge bus that gets Whittle's own events. By default
	// none does.
	EventBus *string
	// FreezeAlarms are CloudWatch alarms that freeze disruption while they ring, by name or ARN. Behind a
	// name, =nodepool/NAME or =ec2nodeclass/NAME limits it. By default there are none.
	FreezeAlarms *[]*string
	// FreezeTaggedAlarms adds alarms with the tag whittle.dev/freeze, whose value is all, nodepool/NAME or
	// ec2nodeclass/NAME. The default is false.
	FreezeTaggedAlarms *bool
	// FreezeOnInsufficientData counts their state INSUFFICIENT_DATA as ringing. The default is false.
	FreezeOnInsufficientData *bool
	// FreezeEvents is the name of an EventBridge bus whose events freeze and thaw. By default none does.
	FreezeEvents *string
	// ZonalShift follows ARC's zonal shifts of the cluster. The default is false.
	ZonalShift *bool

	// PreferencePolicy is whether plans follow preferences. The default is PreferencePolicyRespect.
	PreferencePolicy PreferencePolicy
	// DefaultTopologySpread has the constraints of pods without any, as a list in YAML or JSON. By
	// default there are none.
	DefaultTopologySpread *string
	// MinValuesPolicy is what minValues mean where fewer values exist. The default is
	// MinValuesPolicyStrict.
	MinValuesPolicy MinValuesPolicy
	// DisableDryRun skips the dry runs that ask EC2 whether a class may launch. The default is false.
	DisableDryRun *bool
	// NodeClassCEL allows expressions in the kubelet settings of EC2NodeClasses. The default is false.
	NodeClassCEL *bool
	// KarpenterServiceAccounts are those as which Karpenter may run, as NAMESPACE/NAME. The default are
	// kube-system/karpenter and karpenter/karpenter.
	KarpenterServiceAccounts *[]*string
	// ImageParameters are names of the account's own SSM parameters with image ids that classes may
	// name. A name may end in *. By default there are none.
	ImageParameters *[]*string
	// ReservedENIs is how many network interfaces of each node are not for pods. The default is 0.
	ReservedENIs *float64
	// VmMemoryOverheadPercent is the part of a type's memory that Linux does not see, from 0 to less
	// than 1. The default is 0.075.
	VmMemoryOverheadPercent *float64 //nolint:staticcheck // the setting's name with a capital
}

// Whittle is the installation for one EKS cluster.
type Whittle interface {
	constructs.Construct
	// ClusterName is the name of the EKS cluster.
	ClusterName() *string
	// NodeRole is the role of the nodes that run Linux, for spec.role of an EC2NodeClass.
	NodeRole() awsiam.IRole
	// WindowsNodeRole is the role of the nodes that run Windows; nil without WindowsNodes.
	WindowsNodeRole() awsiam.IRole
	// AlarmArns are the ARNs of the alarms; empty without Alarms.
	AlarmArns() *[]*string
	// DashboardName is the name of the dashboard; nil without Dashboard.
	DashboardName() *string
	// MapRoles are the lines for mapRoles in the ConfigMap aws-auth; nil with access entries.
	MapRoles() *string
}

// NewWhittle adds the installation for one EKS cluster to a stack. The stack may have others, for
// other clusters. As other constructs do, it panics with an error about wrong properties, which it
// names.
func NewWhittle(scope constructs.Construct, id *string, props *WhittleProps) Whittle {
	made, err := newWhittle(scope, *id, props)
	if err != nil {
		panic(err)
	}
	return made
}

func newWhittle(scope constructs.Construct, id string, props *WhittleProps) (*whittle, error) {
	stack, one, err := configure(props)
	if err != nil {
		return nil, err
	}
	account, region := placeOf(awscdk.Stack_Of(scope))
	if err := checkPlace(one.freezeAlarms, account, region); err != nil {
		return nil, err
	}
	// A jsii object of its own can go wherever a construct can, such as into Tags_Of.
	made := &whittle{}
	constructs.NewConstruct_Override(made, scope, jsii.String(id))
	newCluster(made, stack, one)
	return made, nil
}

type whittle struct {
	constructs.Construct
	cluster *cluster
	nodes   nodeRoles
	access  access
	alarms  []*string
}

func (w *whittle) ClusterName() *string          { return &w.cluster.name }
func (w *whittle) NodeRole() awsiam.IRole        { return w.nodes.linux }
func (w *whittle) WindowsNodeRole() awsiam.IRole { return w.nodes.windows }
func (w *whittle) AlarmArns() *[]*string         { return &w.alarms }
func (w *whittle) MapRoles() *string             { return w.access.mapRoles }

func (w *whittle) DashboardName() *string {
	if !w.cluster.configuration.dashboard {
		return nil
	}
	return &w.cluster.prefix
}
