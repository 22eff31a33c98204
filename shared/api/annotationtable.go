package api

// Annotation describes an annotation that Whittle reads or writes.
//
// +kubebuilder:object:generate=false
type Annotation struct {
	Key string
	// On names the kinds of the objects that have it.
	On []string
	// Meaning is a sentence for people, with the possible values.
	Meaning string
	// Default is the value that an absent annotation stands for. It is empty where absence has no
	// equivalent value.
	Default string
	// Internal is true for an annotation that functions write and people do not set.
	Internal bool
}

// Annotations returns every annotation that Whittle reads or writes on NodePools, NodeClaims, nodes
// and pods: first those that people set, then those that functions write.
func Annotations() []Annotation { return append(peoplesAnnotations(), functionsAnnotations()...) }

func peoplesAnnotations() []Annotation {
	pool := []string{NodePoolKind}
	return []Annotation{
		{Key: DoNotDisruptAnnotationKey, On: []string{
			"pod", "node",
		}, Meaning: "`true` protects from voluntary disruption for ever. " +
			"A duration such as `4h` protects for that time from the pod's start, or the node's creation."},
		{Key: DoNotRepairAnnotationKey, On: []string{"node"},
			Meaning: "`true` keeps the node although it is unhealthy. `do-not-disrupt` does not."},
		{Key: DisruptionCostAnnotationKey, On: []string{"pod"},
			Meaning: "What the pod's eviction costs: an integer, where 134217728 counts as much as an ordinary pod. " +
				"It wins over `controller.kubernetes.io/pod-deletion-cost`."},
		{Key: ConsumeRequestAnnotationKey, On: []string{"pod"},
			Meaning: "Name of the ProvisioningRequest that has room for the pod. No node is launched for the pod meanwhile."},
		{Key: OldConsumeRequestAnnotationKey, On: []string{"pod"}, Meaning: "The same under its former name."},
		{Key: KueueRequiredTopologyAnnotationKey, On: []string{"pod template"},
			Meaning: "Kueue's name for `" + RequiredTopologyAnnotationKey + "`."},
		{Key: PodDeletionCostAnnotationKey, On: []string{"pod"},
			Meaning: "The same for a pod without `karpenter.sh/disruption-cost`. It does not count with the setting " +
				"`podDeletionCost`, which writes it on pods where you have not."},
		{
			Key: SafeToEvictAnnotationKey, On: []string{"pod"},
			Meaning: "`false` protects the pod's node from voluntary disruption.",
		},
		{
			Key: ScaleDownDisabledAnnotationKey, On: []string{"node"},
			Meaning: "`true` protects the node from voluntary disruption.",
		},
		{Key: RequiredTopologyAnnotationKey, On: []string{"pod template"},
			Meaning: "Key of a node label. All pods of the gang come to nodes with one value of it."},
		{Key: ExpireWithinBudgetsAnnotationKey, On: pool, Default: "false",
			Meaning: "`true` replaces expired nodes before it ends them, within the budgets."},
		{Key: MoveByRestartAnnotationKey, On: []string{"pod template", NodePoolKind}, Default: "false",
			Meaning: "`true` moves a Deployment whose pods are all on one node by a restart, new pods first. " +
				"The namespace must allow it."},
		{Key: RebalancePolicyAnnotationKey, On: pool, Default: RebalanceReplace,
			Meaning: "`Replace` replaces a spot node that EC2 recommends to replace. `Ignore` leaves it."},
		{Key: SecurityGroupPolicyAnnotationKey, On: []string{EC2NodeClassKind}, Default: SecurityGroupsAtLeast,
			Meaning: "`AtLeast`: a node that lacks a selected security group has drifted. `Equal`: so has one with others, " +
				"as in Karpenter."},
		{Key: ReleaseAnnotationKey, On: []string{NodePoolKind, EC2NodeClassKind}, Default: "10m",
			Meaning: "How long the first nodes of a release must be healthy before drift replaces more. `off` replaces " +
				"within the budgets alone, as Karpenter does. The NodePool's wins over its class's."},
		{Key: TimeZoneAnnotationKey, On: pool, Default: "UTC",
			Meaning: "IANA time zone of the pool's windows, and of the schedules of its budgets without a `timeZone`."},
		{Key: SleepAnnotationKey, On: pool,
			Meaning: "Windows in which the pool launches nothing and its nodes leave, such as `Sun-Fri 20:00-07:00; Sat,Sun` " +
				"or `0 20 * * mon-fri for 11h`."},
		{Key: WakeAheadAnnotationKey, On: pool, Default: "5m",
			Meaning: "The pool launches again this long before its sleep ends, so that nodes are there at the hour."},
		{Key: MaintenanceWindowAnnotationKey, On: pool,
			Meaning: "Windows in which nodes of the pool may be disrupted, for every reason but repair and the pool's sleep. " +
				"An interruption never waits."},
		{Key: NodeFeeAnnotationKey, On: pool, Default: "0",
			Meaning: "What agents and licences charge for each node, in US dollars an hour. It counts as part of its price."},
		{Key: InterruptionCostAnnotationKey, On: pool, Default: "the instance's price of a quarter of an hour",
			Meaning: "What one interruption of a spot node costs, in US dollars. Spot offerings that EC2 took back lately " +
				"count as so much dearer. `0` leaves interruptions out of the price."},
		{Key: DispersalPercentAnnotationKey, On: pool, Default: "1",
			Meaning: "Plans keep at most half of a workload's replicas on one node and in one spot pool. They pay at most " +
				"this percentage of the price of the pool's new nodes for that. `0` leaves replicas where they cost least."},
		{Key: SpotToSpotTypesAnnotationKey, On: pool, Default: "15",
			Meaning: "Consolidation moves pods of a spot node to another spot node only with at least so many cheaper " +
				"instance types. With fewer, nodes go from one scarce offering to the next, and are interrupted more often."},
		{Key: MinimumSavingsAnnotationKey, On: pool, Default: "0.001",
			Meaning: "A consolidation move saves at least this for each pod that it evicts, in US dollars an hour."},
		{Key: MinimumSavingsPercentAnnotationKey, On: pool, Default: "15",
			Meaning: "A consolidation move saves at least this percentage of the price of the nodes that it takes away."},
		{Key: SettleTimeAnnotationKey, On: pool, Default: "10m",
			Meaning: "Consolidation leaves a node alone for this time after its initialization, " +
				"and after pods were moved to it. The default is none where the pool has a `consolidateAfter`."},
		{Key: JobSavingsAnnotationKey, On: pool, Default: "2",
			Meaning: "A consolidation move that restarts running Jobs saves at least this multiple of what their room costs. " +
				"`0` counts them as other pods."},
		{Key: KeepJobsAnnotationKey, On: pool, Default: "false",
			Meaning: "`true`: consolidation leaves a node alone while a pod of a Job runs on it, or of a controller whose " +
				"kind ends with Job. Drift, expiry, repair and interruptions still end such nodes."},
		{Key: SteerPodsAnnotationKey, On: pool, Default: "false",
			Meaning: "`true`: at most half of the nodes, those that consolidation would take next, have the soft taint `" +
				CandidateTaintKey + "`. New pods go to other nodes if these have room."},
	}
}

func functionsAnnotations() []Annotation {
	claims := []string{NodeClaimKind}
	pools := []string{NodePoolKind, NodeClaimKind}
	classes := []string{EC2NodeClassKind, NodeClaimKind}
	internal := []Annotation{
		{
			Key: NodePoolHashAnnotationKey, On: pools,
			Meaning: "Hash of the pool's template. A different one on the claim means drift.",
		},
		{Key: NodePoolHashVersionAnnotationKey, On: pools, Meaning: "Version of the algorithm of that hash."},
		{
			Key: AnnotationEC2NodeClassHash, On: classes,
			Meaning: "Hash of the class's spec. A different one on the claim means drift.",
		},
		{Key: AnnotationEC2NodeClassHashVersion, On: classes, Meaning: "Version of the algorithm of that hash."},
		{Key: NodeClaimTerminationTimestampAnnotationKey, On: claims,
			Meaning: "Time after which the node's pods are deleted despite any protection."},
		{Key: NodeClaimMinValuesRelaxedAnnotationKey, On: claims, Meaning: "`true` where minValues were lowered."},
		{Key: PriceOverlayAppliedAnnotationKey, On: claims, Meaning: "A NodeOverlay changed the claim's prices."},
		{Key: CapacityOverlayAppliedAnnotationKey, On: claims, Meaning: "A NodeOverlay changed the claim's capacity."},
		{Key: RebootPreBootIDAnnotationKey, On: claims, Meaning: "Boot id of the node before its reboot."},
		{Key: RebootTerminationGracePeriodAnnotationKey, On: claims,
			Meaning: "Time that the drain before a reboot may take. `0s` means no drain."},
		{
			Key: AnnotationInstanceTagged, On: claims,
			Meaning: "`true` once the instance has its node's and claim's name as tags.",
		},
		{Key: AnnotationClusterNameTagged, On: claims, Meaning: "`true` once the instance has the cluster's name as a tag."},
		{Key: AnnotationInstanceProfile, On: claims, Meaning: "Instance profile of the instance."},
		{Key: AttemptAnnotationKey, On: claims, Meaning: "Number of the launch attempt."},
		{Key: FailedAttemptsAnnotationKey, On: claims, Meaning: "Number of launches that EC2 refused. They delay the next."},
		{Key: UnseenSinceAnnotationKey, On: claims, Meaning: "Time since which EC2 does not say whether it launched."},
		{Key: BatchAnnotationKey, On: claims, Meaning: "Place in a batch that one call launches: id/size/index."},
		{Key: GangAnnotationKey, On: claims, Meaning: "Gang that the claim was planned for. It needs all of its claims."},
		{Key: CommitmentAnnotationKey, On: claims,
			Meaning: "Commitment that pays for the instance, and the units that it takes: id=units."},
		{Key: NominatedPodsAnnotationKey, On: claims, Meaning: "UIDs of the pods that the claim was planned for."},
		{Key: EmptySinceAnnotationKey, On: claims, Meaning: "Time at which the node was first seen empty."},
		{
			Key: ProposedAnnotationKey, On: claims,
			Meaning: "Consolidation move that waits for its validation: time and claims.",
		},
		{Key: ReplacedByAnnotationKey, On: claims, Meaning: "Claims that replace this one."},
		{Key: ReplacesAnnotationKey, On: claims, Meaning: "Claims that this one replaces."},
		{Key: ReplacesDriftAnnotationKey, On: claims, Meaning: "Drifts of the claims that this one replaces: reason/hash."},
		{Key: ReplaceAfterAnnotationKey, On: claims, Meaning: "Time before which a failed replacement is not tried again."},
		{Key: ManagedDeletionCostAnnotationKey, On: []string{"pod"},
			Meaning: "Value of `controller.kubernetes.io/pod-deletion-cost` that Whittle wrote. Another is not Whittle's."},
		{Key: RestartingSinceAnnotationKey, On: claims, Meaning: "Time of the restart that moves pods off the node."},
		{Key: RebootsAnnotationKey, On: claims, Meaning: "Times of the node's last two reboots."},
		{
			Key: RebalanceRecommendedAnnotationKey, On: claims,
			Meaning: "Time of EC2's recommendation to replace the spot instance.",
		},
		{Key: DepartsAtAnnotationKey, On: claims, Meaning: "Time at which AWS takes the instance."},
		{
			Key: DepartsBecauseAnnotationKey, On: claims,
			Meaning: "Health event, status event or reservation that announced it.",
		},
		{
			Key: InterruptedAnnotationKey, On: []string{"node"},
			Meaning: "Reason of the event for which interrupt took the node out of use.",
		},
		{Key: DepartureWithdrawnAnnotationKey, On: claims, Meaning: "Time and Health event of the last withdrawal."},
	}
	for i := range internal {
		internal[i].Internal = true
	}
	return internal
}
