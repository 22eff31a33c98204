package api

import "strings"

// Annotations of the group karpenter.sh.
const (
	// DoNotDisruptAnnotationKey protects a pod or a node from voluntary disruption. Its value is
	// "true", or a Go duration from the pod's start or the node's creation.
	DoNotDisruptAnnotationKey = Group + "/do-not-disrupt"
	// DoNotRepairAnnotationKey "true", on a node or its claim, keeps an unhealthy node from repair, and
	// from nothing else.
	DoNotRepairAnnotationKey = Group + "/do-not-repair"
	// DisruptionCostAnnotationKey, on a pod, is the cost of its eviction as a 32-bit integer. It wins
	// over the pod's deletion cost.
	DisruptionCostAnnotationKey = Group + "/disruption-cost"
	// NodePoolHashAnnotationKey is the hash of the pool's template that a claim was made from.
	NodePoolHashAnnotationKey = Group + "/nodepool-hash"
	// NodePoolHashVersionAnnotationKey is the version of the algorithm of that hash.
	NodePoolHashVersionAnnotationKey = Group + "/nodepool-hash-version"
	// NodePoolHashVersion is the current value of NodePoolHashVersionAnnotationKey.
	NodePoolHashVersion = "v3"
	// NodeClaimTerminationTimestampAnnotationKey is the time (RFC 3339) after which a draining
	// node's pods are deleted, even where a disruption budget or an annotation protects them.
	NodeClaimTerminationTimestampAnnotationKey = Group + "/nodeclaim-termination-timestamp"
	// NodeClaimMinValuesRelaxedAnnotationKey is "true" where minValues could not be met and were
	// lowered.
	NodeClaimMinValuesRelaxedAnnotationKey = Group + "/nodeclaim-min-values-relaxed"
	// PriceOverlayAppliedAnnotationKey marks a claim whose prices an overlay changed.
	PriceOverlayAppliedAnnotationKey = Group + "/price-overlay-applied"
	// CapacityOverlayAppliedAnnotationKey marks a claim whose capacity an overlay changed.
	CapacityOverlayAppliedAnnotationKey = Group + "/capacity-overlay-applied"
	// RebootPreBootIDAnnotationKey is the boot id of a claim's node before its reboot. It is written
	// before EC2 is asked for the reboot, and removed after it.
	RebootPreBootIDAnnotationKey = Group + "/reboot-pre-boot-id"
	// RebootTerminationGracePeriodAnnotationKey is how long the drain before a reboot may take, as a Go
	// duration. 0s means no drain, and an absent one that the drain has no limit.
	RebootTerminationGracePeriodAnnotationKey = Group + "/reboot-termination-grace-period"
)

// Annotations of the group karpenter.k8s.aws.
const (
	// AnnotationEC2NodeClassHash is the hash of the node class that a claim was made from.
	AnnotationEC2NodeClassHash = AWSGroup + "/ec2nodeclass-hash"
	// AnnotationEC2NodeClassHashVersion is the version of the algorithm of that hash.
	AnnotationEC2NodeClassHashVersion = AWSGroup + "/ec2nodeclass-hash-version"
	// EC2NodeClassHashVersion is the current value of AnnotationEC2NodeClassHashVersion.
	EC2NodeClassHashVersion = "v6"
	// AnnotationInstanceTagged is "true" once the instance has the tags that are known only after
	// registration.
	AnnotationInstanceTagged = AWSGroup + "/tagged"
	// AnnotationClusterNameTagged is "true" once the instance has EKSClusterNameTagKey.
	AnnotationClusterNameTagged = AWSCompatibilityGroup + "/cluster-name-tagged"
	// AnnotationInstanceProfile is the instance profile that a claim was launched with.
	AnnotationInstanceProfile = AWSGroup + "/instance-profile-name"
)

// Annotations of Cluster Autoscaler. Whittle honours them, so that manifests written for it keep
// their meaning. https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
const (
	// SafeToEvictAnnotationKey "false" on a pod keeps its node from voluntary disruption.
	SafeToEvictAnnotationKey = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	// ScaleDownDisabledAnnotationKey "true" on a node keeps it from voluntary disruption.
	ScaleDownDisabledAnnotationKey = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
)

// PodDeletionCostAnnotationKey orders the pods of a ReplicaSet for deletion: the lowest value goes
// first.
// https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#pod-deletion-cost
const PodDeletionCostAnnotationKey = "controller.kubernetes.io/pod-deletion-cost"

// KueueRequiredTopologyAnnotationKey is Kueue's name for RequiredTopologyAnnotationKey, on the pod
// template of a job.
// https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/
const KueueRequiredTopologyAnnotationKey = "kueue.x-k8s.io/podset-required-topology"

// OwnGroup prefixes the keys of Whittle, which Karpenter does not have.
const OwnGroup = "whittle.dev"

// Annotations of Whittle that people set.
const (
	// RequiredTopologyAnnotationKey, on the pods of a gang, is a key of node labels, such as that
	// of the zone. All pods of the gang come to nodes with one value of that label.
	RequiredTopologyAnnotationKey = OwnGroup + "/required-topology"
	// RebalancePolicyAnnotationKey, on a NodePool, is what a rebalance recommendation of EC2 does
	// to its spot nodes: RebalanceReplace, which is the default, or RebalanceIgnore.
	RebalancePolicyAnnotationKey = OwnGroup + "/rebalance-policy"
	// ExpireWithinBudgetsAnnotationKey "true", on a NodePool, replaces expired nodes as drifted
	// ones: replacement first, within the pool's budgets. The default, "false", is Karpenter's
	// behaviour.
	ExpireWithinBudgetsAnnotationKey = OwnGroup + "/expire-within-budgets"
	// MoveByRestartAnnotationKey "true" moves the only pod of a Deployment by a restart of the
	// Deployment. It stands on a pod template, or on a NodePool for the pods of all its nodes.
	// "false" on a pod template overrides the NodePool.
	MoveByRestartAnnotationKey = OwnGroup + "/move-by-restart"
	// NodeFeeAnnotationKey, on a NodePool, is what agents and licences charge for each of its nodes,
	// in US dollars an hour. NodePool.NodeFee reads it.
	NodeFeeAnnotationKey = OwnGroup + "/node-fee"
	// InterruptionCostAnnotationKey, on a NodePool, is what one interruption of a spot node costs, in US
	// dollars. NodePool.InterruptionCost reads it.
	InterruptionCostAnnotationKey = OwnGroup + "/interruption-cost"
	// SpotToSpotTypesAnnotationKey, on a NodePool, is how many cheaper instance types a spot node needs for
	// a move to another spot node.
	SpotToSpotTypesAnnotationKey = OwnGroup + "/spot-to-spot-types"
	// MinimumSavingsAnnotationKey, on a NodePool, is the amount that a consolidation move must save
	// for each pod that it evicts, in US dollars an hour.
	MinimumSavingsAnnotationKey = OwnGroup + "/consolidation-minimum-savings"
	// DispersalPercentAnnotationKey, on a NodePool, is what keeping replicas of a workload apart may add to
	// the price of its new nodes, in percent.
	DispersalPercentAnnotationKey = OwnGroup + "/dispersal-percent"
	// MinimumSavingsPercentAnnotationKey, on a NodePool, is the part of the price of the nodes
	// taken away that a consolidation move must save, in percent.
	MinimumSavingsPercentAnnotationKey = OwnGroup + "/consolidation-minimum-savings-percent"
	// SettleTimeAnnotationKey, on a NodePool, is a Go duration: how long consolidation leaves a
	// node alone after its initialization, and after pods were moved to it.
	SettleTimeAnnotationKey = OwnGroup + "/consolidation-settle-time"
	// KeepJobsAnnotationKey, on a NodePool, is "true" where consolidation leaves nodes alone on which a
	// pod of a Job runs.
	KeepJobsAnnotationKey = OwnGroup + "/consolidation-keep-jobs"
	// JobSavingsAnnotationKey, on a NodePool, is how many times the price of the room of running Jobs
	// consolidation must save where it restarts them, such as "2". "0" counts them as other pods.
	JobSavingsAnnotationKey = OwnGroup + "/consolidation-job-savings"
	// SteerPodsAnnotationKey, on a NodePool, is "true" where nodes that consolidation would take next have
	// the taint CandidateTaintKey.
	SteerPodsAnnotationKey = OwnGroup + "/steer-pods"
	// TimeZoneAnnotationKey, on a NodePool, is the IANA name of the time zone of its windows, and of the
	// schedules of its budgets that name none.
	TimeZoneAnnotationKey = OwnGroup + "/time-zone"
	// SleepAnnotationKey, on a NodePool, has the windows in which it launches nothing and its nodes
	// leave, in the grammar of package hours.
	SleepAnnotationKey = OwnGroup + "/sleep"
	// WakeAheadAnnotationKey, on a NodePool, is a Go duration: how long before the end of a sleep it
	// launches again.
	WakeAheadAnnotationKey = OwnGroup + "/wake-ahead"
	// MaintenanceWindowAnnotationKey, on a NodePool, has the windows in which its nodes may be disrupted,
	// in the grammar of package hours.
	MaintenanceWindowAnnotationKey = OwnGroup + "/maintenance-window"
	// ReleaseAnnotationKey, on a NodePool or else its EC2NodeClass, is ReleaseOff, or a Go duration: how long
	// the first nodes of a release must be healthy before drift goes on.
	ReleaseAnnotationKey = OwnGroup + "/release"
	// SecurityGroupPolicyAnnotationKey, on an EC2NodeClass, is how its instances' security groups are
	// compared with those that it selects: SecurityGroupsAtLeast, which is the default, or
	// SecurityGroupsEqual.
	SecurityGroupPolicyAnnotationKey = OwnGroup + "/security-group-policy"
)

// Values of SecurityGroupPolicyAnnotationKey.
const (
	SecurityGroupsAtLeast = "AtLeast"
	SecurityGroupsEqual   = "Equal"
)

// ReleaseOff is the value of ReleaseAnnotationKey that asks for no stages.
const ReleaseOff = "off"

// Values of RebalancePolicyAnnotationKey.
const (
	RebalanceReplace = "Replace"
	RebalanceIgnore  = "Ignore"
)

// Annotations of Whittle that its functions write on NodeClaims, and one on pods, to remember between invocations.
// Times are in RFC 3339; lists have commas between their elements.
const (
	// AttemptAnnotationKey counts the launches tried for a claim. The claim's UID and the attempt
	// make the client token by which EC2 recognises a repeated call.
	AttemptAnnotationKey = OwnGroup + "/attempt"
	// FailedAttemptsAnnotationKey counts the launches of a claim that EC2 refused. They delay the
	// next attempt.
	FailedAttemptsAnnotationKey = OwnGroup + "/failed-attempts"
	// UnseenSinceAnnotationKey is the time, in RFC 3339, since which EC2 does not say whether it
	// launched an instance for the claim's attempt.
	UnseenSinceAnnotationKey = OwnGroup + "/unseen-since"
	// BatchAnnotationKey is a claim's place in a batch of equal claims that one call launches:
	// id/size/index. The batch's id and the attempt make the client token of that call.
	BatchAnnotationKey = OwnGroup + "/batch"
	// CommitmentAnnotationKey, on a claim whose instance a commitment pays for, is the Reserved Instance or the
	// Savings Plan, and how many of its units the instance takes: id=units.
	CommitmentAnnotationKey = OwnGroup + "/commitment"
	// GangAnnotationKey, on a claim that was planned for pods of one gang alone, is the gang's
	// namespace and name. The gang has no pod to spare, so that a part of its claims is of no use.
	GangAnnotationKey = OwnGroup + "/gang"
	// NominatedPodsAnnotationKey lists the UIDs of the pods that a claim was planned for. Until the
	// scheduler binds these pods, each later plan finds them pending again. Packing them onto the
	// nodes in flight in another order could leave some out, and launch a node too many. The list
	// also keeps a node from counting as empty while its pods are being moved to it.
	NominatedPodsAnnotationKey = OwnGroup + "/nominated-pods"
	// EmptySinceAnnotationKey is the time at which the claim's node was first seen empty. It is
	// removed when a pod comes to the node.
	EmptySinceAnnotationKey = OwnGroup + "/empty-since"
	// ProposedAnnotationKey, on the first claim of a consolidation move, is the time of the
	// proposal and the names of the claims whose nodes the move takes away.
	ProposedAnnotationKey = OwnGroup + "/proposed"
	// ReplacedByAnnotationKey lists the claims that replace a claim. It is empty where other nodes
	// have room for its pods.
	ReplacedByAnnotationKey = OwnGroup + "/replaced-by"
	// ReplacesAnnotationKey lists the claims that a claim was made to replace.
	ReplacesAnnotationKey = OwnGroup + "/replaces"
	// ReplacesDriftAnnotationKey, on a claim that was made to replace drifted ones, lists their drifts:
	// reason/hash of the message. A claim that has drifted in the same way was made in vain.
	ReplacesDriftAnnotationKey = OwnGroup + "/replaces-drift"
	// ReplaceAfterAnnotationKey, on a claim whose replacement failed, is the time before which no
	// other replacement is tried.
	ReplaceAfterAnnotationKey = OwnGroup + "/replace-after"
	// ManagedDeletionCostAnnotationKey, on a pod, is the value of PodDeletionCostAnnotationKey that
	// Whittle wrote. Where the two differ, the cost is another writer's.
	ManagedDeletionCostAnnotationKey = OwnGroup + "/pod-deletion-cost"
	// RestartingSinceAnnotationKey, on a claim whose replacements are ready, is the time of the
	// restart of Deployments that moves their pods off the claim's node.
	RestartingSinceAnnotationKey = OwnGroup + "/restarting-since"
	// RebootsAnnotationKey lists the times of the last reboots of a claim's node.
	RebootsAnnotationKey = OwnGroup + "/reboots"
	// RebalanceRecommendedAnnotationKey is the time of EC2's recommendation to replace a spot
	// instance, because it is more likely than others to be interrupted.
	RebalanceRecommendedAnnotationKey = OwnGroup + "/rebalance-recommended"
	// DepartsAtAnnotationKey is the time at which AWS takes the instance: maintenance begins, or
	// its capacity block is cleared.
	DepartsAtAnnotationKey = OwnGroup + "/departs-at"
	// DepartsBecauseAnnotationKey names the source of DepartsAtAnnotationKey: the ARN of a Health
	// event, the id of an event in the instance's status, or the id of a capacity reservation. Both
	// annotations are removed when their source ends.
	DepartsBecauseAnnotationKey = OwnGroup + "/departs-because"
	// InterruptedAnnotationKey, on a node that interrupt took out of use, is the reason of its event.
	InterruptedAnnotationKey = OwnGroup + "/interrupted"
	// DepartureWithdrawnAnnotationKey is the time and the ARN of the last Health event that withdrew a
	// departure. An announcement from before that time does not count.
	DepartureWithdrawnAnnotationKey = OwnGroup + "/departure-withdrawn"
)

// Names returns the names that an annotation lists, such as those of ReplacedByAnnotationKey.
func (c *NodeClaim) Names(annotation string) []string {
	return strings.FieldsFunc(c.Annotations[annotation], func(r rune) bool { return r == ',' })
}
