package attacks

import "github.com/whittle-dev/whittle/testdata/lab/simulate/overlay"

// Attack is something that an actor tries, the bound that it meets, and the test that shows the bound.
type Attack struct {
	Actor, Tries, Bound string
	// Package is from the project's folder, and Test is a test of it.
	Package, Test string
	// Fault lets the attack through, so that the test fails.
	Fault []overlay.Replacement
}

// Actors, from the one with the least rights.
const (
	tenant    = "people with the role admin in one namespace"
	node      = "root on a node"
	function  = "a function whose credentials are stolen"
	principal = "a principal of the account"
	publisher = "people who build or release"
)

func replace(file, before, after string) []overlay.Replacement {
	return []overlay.Replacement{{File: file, Old: before, New: after}}
}

// All returns every attack.
func All() []Attack {
	const policies = "functions/install/manifests/manifests.go"
	auditsOnly := replace(policies, "if err != nil || mode != ModeDeny {", "if err != nil || mode == ModeDeny {")
	return []Attack{
		{
			Actor: node, Tries: "reports a thousand processors, so that the pods of other nodes move to it",
			Bound: "a node has at most what its claim and its instance type know. One that says more gets no pods, and is " +
				"reported",
			Package: "./shared/consolidation", Test: "TestANodeThatClaimsToBeLargeGetsNoPods",
			Fault: replace("shared/plan/node.go", "return membership.Allocatable(n.NodeClaim, n.Node)",
				"return n.Node.Status.Allocatable"),
		},
		{
			Actor: node, Tries: "reports a capacity that fills or evades the limits of its pool",
			Bound:   "limits count what the claim says",
			Package: "./shared/consolidation", Test: "TestANodeDoesNotDecideAboutTheLimitsOfItsPool",
			Fault: replace("shared/membership/bounds.go", "if claim == nil || len(claim.Status.Capacity) == 0 {",
				"if claim == nil || len(capacity) > 0 {"),
		},
		{
			Actor: node, Tries: "writes the label of a pool on a node without a claim, so that the pool's limit is reached",
			Bound:   "a node without a claim counts for no pool",
			Package: "./shared/snapshot", Test: "TestANodeWithoutAClaimCountsForNoPool",
			Fault: replace("shared/plan/node.go", "\t\treturn \"\"\n\t}\n\treturn n.NodeClaim.Labels[api.NodePoolLabelKey]",
				"\t\treturn n.Label(api.NodePoolLabelKey)\n\t}\n\treturn n.NodeClaim.Labels[api.NodePoolLabelKey]"),
		},
		{
			Actor: node, Tries: "reports 5,000 volumes that it can attach",
			Bound:   "no more than any instance type attaches",
			Package: "./shared/volumes", Test: "TestLimits",
			Fault: replace("shared/volumes/index.go", "const mostVolumes = 128", "const mostVolumes = 1 << 30"),
		},
		{
			Actor: node, Tries: "joins with the providerID of an instance that has not joined, to get its labels and pods",
			Bound:   "lifecycle registers a node only under the name that EC2 gives the instance",
			Package: "./functions/lifecycle", Test: "TestAThiefGetsNothingOfAnothersClaim",
			Fault: append(replace("shared/membership/join.go", "if claim.Status.NodeName == \"\" && hostName == \"\" {",
				"if claim.Status.NodeName == \"\" {"),
				replace("shared/membership/join.go", "launched && name == id", "launched && id != name+name")...),
		},
		{
			Actor: node, Tries: "joins with the providerID of another node, so that the other is removed as an empty one",
			Bound:   "the registered name decides whose node it is. Nothing disrupts a claim with two nodes, and it is reported",
			Package: "./shared/snapshot", Test: "TestASecondNodeWithTheProviderIDOfAnother",
			Fault: replace("shared/membership/join.go", "if Named(claim, hostName, node.Name) {",
				"if !Named(claim, hostName, node.Name) {"),
		},
		{
			Actor: node, Tries: "loses its finalizer while it is drained, and comes back as another",
			Bound:   "an admission policy, with `admission: deny`",
			Package: "./functions/install/attacks", Test: "TestANodeCannotComeBackAsAnother", Fault: auditsOnly,
		},
		{
			Actor: node, Tries: "protects itself and its pods by annotations, finalizers and costs",
			Bound:   "an admission policy, with `admission: deny`",
			Package: "./functions/install/attacks", Test: "TestWhatANodeMayWrite", Fault: auditsOnly,
		},
		{
			Actor: node, Tries: "annotates itself with do-not-disrupt, to outlive `expireAfter`",
			Bound:   "an expired node's own annotation keeps it no longer",
			Package: "./shared/disruption", Test: "TestCandidates",
			Fault: replace("shared/disruption/candidates.go", `why != "" || reason != ReasonExpired {`,
				`why != "" || reason != "" {`),
		},
		{
			Actor: node, Tries: "removes the labels by which it is a candidate",
			Bound:   "decisions take these labels from the claim, and lifecycle restores them",
			Package: "./functions/lifecycle/nodeclaim", Test: "TestJoining",
			Fault: replace("functions/lifecycle/nodeclaim/vanished.go",
				"labels := membership.Labels(p.claim, p.node); labels != nil {",
				"labels := membership.Labels(p.claim, p.node); labels != nil && p.now.IsZero() {"),
		},
		{
			Actor: tenant, Tries: "creates a DaemonSet that no quota admits, which raises the price of each node",
			Bound:   "a DaemonSet counts as far as its controller could create pods, and an event names it",
			Package: "./shared/snapshot", Test: "TestADaemonSetCountsAsFarAsItHasPods",
			Fault: replace("shared/snapshot/uncounted.go", "due <= 0 ||", "due <= 1<<30 ||"),
		},
		{
			Actor: tenant, Tries: "creates a DaemonSet that fits no instance type, which stops all launches",
			Bound:   "a DaemonSet outside kube-system counts up to nine tenths of the largest type",
			Package: "./shared/snapshot", Test: "TestADaemonSetCountsAsFarAsItHasPods",
			Fault: replace("shared/snapshot/uncounted.go", "greatestShare = 0.9", "greatestShare = 1e9"),
		},
		{
			Actor: tenant, Tries: "writes what only Whittle writes: claims, pools, its state, its mark of managed costs",
			Bound:   "RBAC, and an admission policy with `admission: deny`",
			Package: "./functions/install/attacks", Test: "TestWhatATenantMayWrite", Fault: auditsOnly,
		},
		{
			Actor: principal, Tries: "sends a forged event to a queue, with `sqs:SendMessage` on everything",
			Bound:   "the queue's policy denies it to all but the rules and the functions that send there",
			Package: "./infra", Test: "TestQueuesRefuseOthers",
			Fault: replace("infra/queues.go", "awsiam.Effect_DENY", "awsiam.Effect_ALLOW"),
		},
		{
			Actor: principal, Tries: "has an event of another account, region or source delivered",
			Bound:   "interrupt drops messages that its rules could not have sent",
			Package: "./functions/interrupt", Test: "TestForeignMessagesAreDropped",
			Fault: replace("functions/interrupt/handler.go", "foreign != nil {", "foreign != nil && h.region == \"\" {"),
		},
		{
			Actor: principal, Tries: "has one event name every node of a cluster",
			Bound:   "more than ten NodeClaims end only where EC2 says the same of each",
			Package: "./functions/interrupt/response", Test: "TestOneMessageEndsFewNodes",
			Fault: replace("functions/interrupt/response/doubt.go", "len(named) > MaximumNamed {", "len(named) > 1<<30 {"),
		},
		{
			Actor: principal, Tries: "invokes install with a deletion, so that every function loses its rights",
			Bound:   "a deletion names the installed id, or orders the removal by name",
			Package: "./functions/install", Test: "TestRemovalIsOrdered",
			Fault: replace("functions/install/remove.go", "if !ordered && id != installedID(h.cluster) {",
				"if !ordered && id == installedID(h.cluster) {"),
		},
		{
			Actor: principal, Tries: "invokes install with an address of its own for the answer",
			Bound:   "install answers S3's addresses, and does nothing for others",
			Package: "./functions/install", Test: "TestAForeignAnswerDoesNothing",
			Fault: replace("functions/install/answer.go", `if asked.Scheme != "https" || asked.User != nil || !`,
				`if asked.Scheme == "none" && !`),
		},
		{
			Actor: function, Tries: "forges the status of pods with lifecycle's right to nominate",
			Bound:   "an admission policy, with `admission: audit` too",
			Package: "./functions/install/attacks", Test: "TestWhatLifecycleMayWriteOnPods",
			Fault: replace(policies, `read("admission/*.yaml")
	if err != nil || mode`, `read("admission/nodes.yaml")
	if err != nil || mode`),
		},
		{
			Actor: publisher, Tries: "changes a function and its sum in a release that somebody else signed",
			Bound:   "with `releaseKey`, the deployment refuses sums that the key did not sign",
			Package: "./infra", Test: "TestOnlyASignedReleaseIsDeployedWithAKey",
			Fault: replace("infra/signature/signature.go", "if !minisign.Verify(key, sums, text) {", "if len(sums) == 0 {"),
		},
		{
			Actor: publisher, Tries: "signs a changed release with another key",
			Bound:   "with `releaseKey`, the deployment accepts one key",
			Package: "./infra", Test: "TestOnlyASignedReleaseIsDeployedWithAKey",
			Fault: append(replace("infra/signature/signature.go", "if read.KeyID != key.ID() {", "if read.KeyID == 0 {"),
				replace("infra/signature/signature.go", "if !minisign.Verify(key, sums, text) {", "if len(sums) == 0 {")...),
		},
		{
			Actor: publisher, Tries: "gives an older signed release, whose faults are known, as the newest",
			Bound:   "with `releaseKey`, the signed version has to be that of the clone that deploys",
			Package: "./infra", Test: "TestOnlyASignedReleaseIsDeployedWithAKey",
			Fault: replace("infra/releasesums.go", "if source.Version != version.Version {", `if source.Version == "" {`),
		},
	}
}
