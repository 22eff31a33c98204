package infra

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// These are CloudWatch's prices in us-east-1 in $/month: of a series of a metric, of a metric that an
// alarm evaluates, and of a dashboard beyond an account's first three.
// https://aws.amazon.com/cloudwatch/pricing/
const (
	seriesPrice    = 0.30
	evaluatedPrice = 0.10
	dashboardPrice = 3.00
)

// poolPrice is the price of the metrics of one NodePool in $/month.
func poolPrice() float64 { return float64(len(metrics.OfPools())) * seriesPrice }

// What happens to writes that the admission policies refuse.
const (
	admissionAudit = "audit"
	admissionDeny  = "deny"
	admissionOff   = "off"
)

// Who binds pods to the node that was launched for them.
const (
	bindByPlan      = "plan"
	bindByScheduler = "scheduler"
)

// Which commitments count in prices.
const (
	commitmentsOff       = "off"
	commitmentsOfAccount = "account"
)

// stackSettings returns the settings of the whole stack.
func stackSettings() []setting[configuration] {
	return []setting[configuration]{
		{
			key: "architecture", fallback: "`arm64`", example: "x86_64",
			meaning: "processor of the functions: `arm64` or `x86_64`",
			set:     func(c *configuration, value any) (err error) { c.architecture, err = architecture(value); return err },
		},
		{
			key: "functions", fallback: "`build/functions/<architecture>`", example: "build/functions/arm64",
			meaning: "folder of the built functions",
			set:     func(c *configuration, value any) (err error) { c.functions, err = text(value, "a folder"); return err },
		},
		{
			key: "release", example: "build/release/0.9.0",
			meaning: "folder of a release, whose functions are deployed without a build",
			set:     func(c *configuration, value any) (err error) { c.release, err = text(value, "a folder"); return err },
		},
		{
			key: "releaseKey", fallback: "that of `infra/release.pub`, if it exists",
			example: "RWRFWEFNUExFIXRoaXMgaXMgYW4gZXhhbXBsZSBhbmQgbm8ga2V5IDot",
			meaning: "public key of minisign that has to have signed the [release](#releases). Without a key, nobody checks " +
				"signatures",
			set: func(c *configuration, value any) (err error) { c.releaseKey, err = releaseKey(value); return err },
		},
		{
			key: "tags", example: "team=platform,stage=prod",
			meaning: "tags on every resource of the stack. The file may hold a map",
			set:     func(c *configuration, value any) (err error) { c.tags, err = tags(value); return err },
		},
	}
}

// clusterSettings returns the settings that hold for all clusters, or for one in its part of the
// file.
func clusterSettings() []setting[clusterConfiguration] {
	type cluster = clusterConfiguration
	return []setting[cluster]{
		{
			key: "interval", fallback: "`10s`", example: "10s",
			meaning: "time between two passes of provision: whole seconds that divide a minute",
			set:     func(c *cluster, value any) (err error) { c.interval, err = interval(value); return err },
		},
		{
			key: "reaction", fallback: "`adaptive`", example: reactionPoll,
			meaning: "`poll` acts on ticks only. `adaptive` watches the cluster while there is work, and then acts at once. " +
				"`always` never ends the watch, for $4.38/month. A dry run polls",
			set: func(c *cluster, value any) (err error) {
				c.reaction, err = oneOf(value, reactionPoll, reactionAdaptive, reactionAlways)
				return err
			},
		},
		{
			key: "quietAfter", fallback: "`5m`", example: "2m",
			meaning: "time without work after which an adaptive watch ends, 10s to 1h",
			set:     func(c *cluster, value any) (err error) { c.quietAfter, err = quietAfter(value); return err },
		},
		{
			key: "dryRun", fallback: "`false`", example: "true",
			meaning: "`true` makes functions plan, log and show, but launch, evict and terminate nothing. [Deploy](#deploy) " +
				"says what such a deployment still writes",
			set: func(c *cluster, value any) (err error) { c.dryRun, err = truth(value); return err },
		},
		{
			key: "memory", fallback: memoryDefaults(), example: "provision=2048",
			meaning: "memory of functions in MB, 128 to 10240. The file may hold a map",
			set:     func(c *cluster, value any) (err error) { c.memory, err = memory(value); return err },
		},
		{
			key: "logRetention", fallback: "`14`", example: "30",
			meaning: "days that CloudWatch keeps the functions' logs: one of CloudWatch's numbers",
			set:     func(c *cluster, value any) (err error) { c.logRetention, err = retention(value); return err },
		},
		{
			key: "alarmTopic", example: "arn:aws:sns:us-east-1:123456789012:pages",
			meaning: "ARN of the SNS topic for the cluster's alarms. Not with `alarms: false`",
			set:     func(c *cluster, value any) (err error) { c.alarmTopic, err = arnOf(value, "sns", ""); return err },
		},
		{
			key: "alarmEmail", example: "oncall@example.com",
			meaning: "address that gets the cluster's alarms by mail, from a topic of the stack. Its owner has to confirm the " +
				"first mail",
			set: func(c *cluster, value any) (err error) { c.alarmEmail, err = address(value); return err },
		},
		{
			key: "metrics", fallback: "`few`", example: string(metrics.DetailFull),
			meaning: fmt.Sprintf("`full` has %d series of [metrics](../shared/metrics/README.md) for $%.2f/month. `few` has "+
				"those that alarms need. They have values, and cost, only in hours in which something is wrong. `off` has "+
				"those of failures alone, and no alarm that needs another",
				metrics.DetailFull.Series(), seriesPrice*float64(metrics.DetailFull.Series())),
			set: func(c *cluster, value any) error {
				if value == false {
					value = string(metrics.DetailOff) // as YAML reads off
				}
				detail, err := oneOf(value, string(metrics.DetailFull), string(metrics.DetailFew), string(metrics.DetailOff))
				c.metrics = metrics.Detail(detail)
				return err
			},
		},
		{
			key: "nodePoolMetrics", example: "default,gpu",
			meaning: fmt.Sprintf("names of up to %d NodePools whose nodes and price are [metrics](../shared/metrics/README.md) "+
				"of their own, with each value of `metrics`: $%.2f/month for a pool", metrics.MaximumPools, poolPrice()),
			set: func(c *cluster, value any) (err error) { c.nodePoolMetrics, err = nodePools(value); return err },
		},
		{
			key: "alarms", fallback: "`true`", example: "false",
			meaning: "`false` makes no alarms: you see failures only where you look",
			set:     func(c *cluster, value any) (err error) { c.alarms, err = truth(value); return err },
		},
		{
			key: "terminationProtection", fallback: "`true`", example: "false",
			meaning: "`false` lets CloudFormation delete the stack. [Removal](#removal) has the steps",
			set:     func(c *cluster, value any) (err error) { c.terminationProtection, err = truth(value); return err },
		},
		{
			key: "dashboard", fallback: "`true`", example: "false",
			meaning: "`false` makes no dashboard. The first three of an account are free",
			set:     func(c *cluster, value any) (err error) { c.dashboard, err = truth(value); return err },
		},
		{
			key: "subnets", example: "subnet-0a1b2c3d,subnet-4e5f6a7b",
			meaning: "ids of subnets in the cluster's VPC for the functions. A private endpoint needs them. They must reach " +
				"AWS's APIs by a NAT gateway or endpoints",
			set: func(c *cluster, value any) (err error) { c.subnets, err = ids(value, "subnet"); return err },
		},
		{
			key: "securityGroups", example: "sg-0a1b2c3d",
			meaning: "ids of the security groups of the functions in these subnets",
			set:     func(c *cluster, value any) (err error) { c.securityGroups, err = ids(value, "sg"); return err },
		},
		{
			key: "clusterSecurityGroup", example: "sg-4e5f6a7b",
			meaning: "id of the cluster's security group. A rule there lets the functions reach port 443",
			set: func(c *cluster, value any) error {
				groups, err := ids(value, "sg")
				c.clusterSecurityGroup = strings.Join(groups, ",")
				return err
			},
		},
		{
			key: "nodeRole", fallback: "one that the stack makes", example: "arn:aws:iam::123456789012:role/nodes",
			meaning: "ARN of an existing role for the nodes. It must have an access entry already",
			set:     func(c *cluster, value any) (err error) { c.nodeRole, err = arnOf(value, "iam", "role/"); return err },
		},
		{
			key: "defaultInstanceProfile", fallback: "none: these nodes get the stack's role, or `nodeRole`",
			example: "KarpenterNodeInstanceProfile-prod",
			meaning: "name of the instance profile of [Provisioners](../shared/api/README.md#kinds-before-v1) whose template " +
				"names none: Karpenter's setting aws.defaultInstanceProfile. Its role has to be the stack's, or `nodeRole`",
			set: func(c *cluster, value any) (err error) {
				c.defaultInstanceProfile, err = profileName(value)
				return err
			},
		},
		{
			key: "nodeCNI", fallback: "`true`", example: "false",
			meaning: "`false` takes AmazonEKS_CNI_Policy off the role of nodes, by which root on a node may change other " +
				"nodes' network interfaces. The VPC CNI then needs a role of its own, or no pod gets an address",
			set: func(c *cluster, value any) (err error) { c.nodeCNI, err = truth(value); return err },
		},
		{
			key: "nodeSSM", fallback: "`false`", example: "true",
			meaning: "`true` puts AmazonSSMManagedInstanceCore on the role of nodes. Session Manager and SSM's patches need " +
				"it. Root on a node may then read the account's parameters",
			set: func(c *cluster, value any) (err error) { c.nodeSSM, err = truth(value); return err },
		},
		{
			key: "windowsNodes", fallback: "`false`", example: "true",
			meaning: "`true` makes a second role, for classes whose nodes run Windows. The output `NodeWindowsRoleName` has " +
				"its name. Not with `nodeRole`: then give a role of yours for Windows its access entry",
			set: func(c *cluster, value any) (err error) { c.windowsNodes, err = truth(value); return err },
		},
		{
			key: "authenticationMode", fallback: "`API`", example: modeConfigMap,
			meaning: "the cluster's mode: `API`, also for API_AND_CONFIG_MAP, or `CONFIG_MAP`. With `CONFIG_MAP` you add the " +
				"lines to aws-auth that the deployment prints",
			set: func(c *cluster, value any) (err error) {
				c.authenticationMode, err = oneOf(value, modeAPI, modeConfigMap)
				return err
			},
		},
		{
			key: "admission", fallback: "`audit`", example: admissionDeny,
			meaning: "what happens to writes of nodes and tenants that [admission policies](security.md) refuse: " +
				"`audit` marks them in the API server's audit log, `deny` refuses them, `off` installs no policies. A dry run " +
				"leaves them as they are",
			set: func(c *cluster, value any) (err error) {
				if value == false {
					value = admissionOff // as YAML reads off
				}
				c.admission, err = oneOf(value, admissionAudit, admissionDeny, admissionOff)
				return err
			},
		},
		{
			key: "allowAutoMode", fallback: "`false`", example: "true",
			meaning: "`true` installs into a cluster with EKS Auto Mode. Keep the pods of its NodePools and of Whittle's " +
				"apart by taints or labels",
			set: func(c *cluster, value any) (err error) { c.allowAutoMode, err = truth(value); return err },
		},
		{
			key: "permissionBoundary", example: "arn:aws:iam::123456789012:policy/boundary",
			meaning: "ARN of the permissions boundary of every role of the installation",
			set: func(c *cluster, value any) (err error) {
				c.permissionBoundary, err = arnOf(value, "iam", "policy/")
				return err
			},
		},
		{
			key: "kmsKey", fallback: "the services' own keys",
			example: "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
			meaning: "ARN of the key for queues and logs. Its policy must let `events.amazonaws.com` and " +
				"`logs.REGION.amazonaws.com` use it",
			set: func(c *cluster, value any) (err error) { c.kmsKey, err = arnOf(value, "kms", "key/"); return err },
		},
		{
			key: "volumeKeys", fallback: "AWS's own key",
			example: "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
			meaning: "ARNs of the keys that encrypt the nodes' volumes, by the class or by the account's default. Their " +
				"policies must let provision's role use them, and for spot instances the role AWSServiceRoleForEC2Spot",
			set: func(c *cluster, value any) (err error) { c.volumeKeys, err = keys(value); return err },
		},
		{
			key: "redriveRoles", example: "arn:aws:iam::123456789012:role/operators",
			meaning: "ARNs of roles that may move dead letters back. The queues refuse messages of everybody else",
			set:     func(c *cluster, value any) (err error) { c.redriveRoles, err = roles(value); return err },
		},
		{
			key: "terminateFirst", example: "Drifted,Unhealthy",
			meaning: "reasons, `Drifted` and `Unhealthy`, for which a node may end before its replacement. It does so only " +
				"where a full reservation, or the limit of a pool with replicas, leaves no other way",
			set: func(c *cluster, value any) (err error) { c.terminateFirst, err = terminateFirst(value); return err },
		},
		{
			key: "binding", fallback: "`plan`", example: "scheduler",
			meaning: "`plan` binds pods to the node that was launched for them, [before the scheduler sees " +
				"it](../functions/lifecycle/README.md#binding). `scheduler` leaves all pods to kube-scheduler",
			set: func(c *cluster, value any) (err error) {
				c.binding, err = oneOf(value, bindByPlan, bindByScheduler)
				return err
			},
		},
		{
			key: "podDeletionCost", fallback: "`false`", example: "true",
			meaning: "`true` writes `controller.kubernetes.io/pod-deletion-cost` on pods of ReplicaSets, so that Deployments " +
				"that shrink empty the nodes that go next: Karpenter's gate PodDeletionCostManagement",
			set: func(c *cluster, value any) (err error) { c.podDeletionCost, err = truth(value); return err },
		},
		{
			key: "commitments", fallback: "`off`", example: commitmentsOfAccount,
			meaning: "`account` counts the account's Reserved Instances and Savings Plans [in " +
				"prices](../functions/catalog/README.md#commitments): what they pay for costs a plan nothing more. The path of " +
				"a [file](../functions/catalog/README.md#commitments-of-a-file) counts those of the file",
			set: func(c *cluster, value any) (err error) {
				c.commitments, c.commitmentFile, err = commitmentsOf(value)
				return err
			},
		},
		{
			key: "commitmentPercent", fallback: "`100`", example: "50",
			meaning: "part of each Reserved Instance and Savings Plan that this cluster may use, where others use the rest",
			set: func(c *cluster, value any) (err error) {
				c.commitmentPercent, err = percent(value)
				return err
			},
		},
		{
			key: "maxDollarsPerHour", fallback: "`0`", example: "12.5",
			meaning: "most that the nodes of all NodePools cost together in $/h, at list prices and with [their " +
				"extras](../functions/provision/README.md#limits). `0` is no such limit",
			set: func(c *cluster, value any) (err error) { c.maxDollarsPerHour, err = dollarsPerHour(value); return err },
		},
		{
			key: "dispersalPercent", fallback: "`1`", example: "0.5",
			meaning: "what plans may pay, in percent of the price of new nodes, to [keep replicas " +
				"apart](../shared/planner/README.md#replicas-apart). `0` pays for none and keeps none apart. The annotation " +
				"`whittle.dev/dispersal-percent` of a NodePool wins",
			set: func(c *cluster, value any) (err error) { c.dispersalPercent, err = percent(value); return err },
		},
		{
			key: "provisioningRequests", fallback: "`false`", example: "true",
			meaning: "`true` launches nodes for [ProvisioningRequests](../functions/provision/README.md), which Kueue makes: " +
				"Cluster Autoscaler's flag --enable-provisioning-requests. Let only one of them act. The cluster needs their " +
				"CustomResourceDefinition",
			set: func(c *cluster, value any) (err error) { c.provisioningRequests, err = truth(value); return err },
		},
		{
			key: "capacityBuffers", fallback: "`false`", example: "true",
			meaning: "`true` keeps room on nodes for the pods of [CapacityBuffers](../functions/provision/README.md): " +
				"Karpenter's gate CapacityBuffer. The installation applies their CustomResourceDefinition",
			set: func(c *cluster, value any) (err error) { c.capacityBuffers, err = truth(value); return err },
		},
		{
			key: "rebootForRepair", fallback: "`false`", example: "true",
			meaning: "`true` reboots a node with a GPU error that a reboot may end, instead of replacing it: Karpenter's " +
				"gate RebootForRepair",
			set: func(c *cluster, value any) (err error) { c.rebootForRepair, err = truth(value); return err },
		},
		{
			key: "eventBus", example: "default",
			meaning: "name or ARN of an EventBridge bus that gets [Whittle's own events](../events/own/README.md), for $1 a " +
				"million",
			set: func(c *cluster, value any) (err error) { c.eventBus, err = eventBus(value); return err },
		},
		{
			key: "freezeAlarms", example: "checkout-errors,batch-errors=nodepool/batch",
			meaning: fmt.Sprintf("up to %d CloudWatch alarms, by name or ARN, that [freeze "+
				"disruption](../functions/provision/README.md#alarms-that-freeze) while they ring. `=nodepool/NAME` and "+
				"`=ec2nodeclass/NAME` limit one to nodes of a pool or a class. Composite alarms count too", freeze.MaximumAlarms),
			set: func(c *cluster, value any) (err error) { c.freezeAlarms, err = freezeAlarms(value); return err },
		},
		{
			key: "freezeTaggedAlarms", fallback: "`false`", example: "true",
			meaning: "`true` also counts alarms with the tag `" + freeze.AlarmTagKey + "`, whose value is `all`, " +
				"`nodepool/NAME` or `ec2nodeclass/NAME`. Each change of any alarm of the account then wakes provision",
			set: func(c *cluster, value any) (err error) { c.freezeTaggedAlarms, err = truth(value); return err },
		},
		{
			key: "freezeOnInsufficientData", fallback: "`false`", example: "true",
			meaning: "`true` freezes disruption also while such an alarm is in INSUFFICIENT_DATA",
			set: func(c *cluster, value any) (err error) {
				c.freezeOnInsufficientData, err = truth(value)
				return err
			},
		},
		{
			key: "freezeEvents", example: "operations",
			meaning: "name of an EventBridge bus of the account, such as `default`, on which [events](../events/own/README.md" +
				"#whittlefreeze-and-whittlethaw) freeze and thaw as `whittle freeze` does. Whoever may put events there may stop " +
				"disruption",
			set: func(c *cluster, value any) (err error) { c.freezeEvents, err = busName(value); return err },
		},
		{
			key: "zonalShift", fallback: "`false`", example: "true",
			meaning: "`true` follows ARC's zonal shifts of the cluster: nothing is launched or ended in a zone that traffic " +
				"is shifted away from. Zonal shift must be on for the EKS cluster, or the deployment fails",
			set: func(c *cluster, value any) (err error) { c.zonalShift, err = truth(value); return err },
		},
		{
			key: "preferencePolicy", fallback: "`Respect`", example: "Ignore",
			meaning: "`Ignore` plans without preferences (preferred affinity, ScheduleAnyway, PreferNoSchedule)",
			set: func(c *cluster, value any) (err error) {
				c.preferencePolicy, err = oneOf(value, "Respect", "Ignore")
				return err
			},
		},
		{
			key:     "defaultTopologySpread",
			example: `[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway"}]`,
			meaning: "constraints of pods without any: the list `podTopologySpread.defaultConstraints` of Karpenter's " +
				"SCHEDULER_CONFIG. It must equal the scheduler's, which EKS does not show. The file may hold a list. In a " +
				"shell it needs quotes",
			set: func(c *cluster, value any) (err error) {
				c.defaultTopologySpread, err = defaultSpread(value)
				return err
			},
		},
		{
			key: "minValuesPolicy", fallback: "`Strict`", example: "BestEffort",
			meaning: "`BestEffort` lowers a requirement's minValues to the number that exists",
			set: func(c *cluster, value any) (err error) {
				c.minValuesPolicy, err = oneOf(value, "Strict", "BestEffort")
				return err
			},
		},
		{
			key: "disableDryRun", fallback: "`false`", example: "true",
			meaning: "`true` skips the dry runs that ask EC2 whether a class may launch",
			set: func(c *cluster, value any) error {
				disabled, err := truth(value)
				c.disableDryRun = strconv.FormatBool(disabled)
				return err
			},
		},
		{
			key: "nodeClassCEL", fallback: "`false`", example: "true",
			meaning: "`true` allows expressions in the kubelet settings of EC2NodeClasses: Karpenter's gate NodeClassCEL",
			set: func(c *cluster, value any) error {
				enabled, err := truth(value)
				c.nodeClassCEL = strconv.FormatBool(enabled)
				return err
			},
		},
		{
			key: "karpenterServiceAccounts", fallback: "`kube-system/karpenter,karpenter/karpenter`",
			example: "autoscaling/karpenter",
			meaning: "service accounts as which Karpenter may run. While a pod of one leads, Whittle is in standby",
			set: func(c *cluster, value any) (err error) {
				c.karpenterServiceAccounts, err = serviceAccounts(value)
				return err
			},
		},
		{
			key: "imageParameters", example: "/images/*",
			meaning: "the account's own SSM parameters with image ids that classes may name",
			set:     func(c *cluster, value any) (err error) { c.imageParameters, err = imageParameters(value); return err },
		},
		{
			key: "reservedENIs", fallback: "`0`", example: "1",
			meaning: "network interfaces of each node that are not for pods, as with custom networking",
			set: func(c *cluster, value any) (err error) {
				const what = "a whole number of network interfaces of each node that are not for pods"
				c.reservedENIs, err = number(value, what, func(text string) bool {
					count, err := strconv.Atoi(text)
					return err == nil && count >= 0
				})
				return err
			},
		},
		{
			key: "vmMemoryOverheadPercent", fallback: "`0.075`", example: "0.075",
			meaning: "the part of a type's memory that Linux does not see. It counts until a node of the type has registered",
			set: func(c *cluster, value any) (err error) {
				c.vmMemoryOverheadPercent, err = number(value, "a fraction from 0 to less than 1", func(text string) bool {
					overhead, err := strconv.ParseFloat(text, 64)
					return err == nil && overhead >= 0 && overhead < 1
				})
				return err
			},
		},
	}
}

// memoryDefaults lists the functions' default memory.
func memoryDefaults() string {
	var parts []string
	sizes := defaultMemory()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		parts = append(parts, name+"="+strconv.FormatFloat(sizes[name], 'f', -1, 64))
	}
	return "`" + strings.Join(parts, ",") + "`"
}

// settingsTable documents the settings in Markdown.
func settingsTable() string {
	var table strings.Builder
	row := func(cells ...string) { table.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row("key", "default", "example", "meaning")
	row("---", "---", "---", "---")
	row(
		"`config`", "`whittle.yaml`, if it exists", "`clusters.yaml`",
		"path of the configuration file, by `-c` or in `cdk.json` only",
	)
	row(
		"`clusters`", "", "`prod,staging`",
		"names of the clusters. The file may hold a map from names to the keys below. Each cluster gets its own "+
			"functions, queues and roles",
	)
	for _, s := range stackSettings() {
		row("`"+s.key+"`", s.fallback, "`"+s.example+"`", s.meaning)
	}
	for _, s := range clusterSettings() {
		row("`"+s.key+"`", s.fallback, "`"+s.example+"`", s.meaning)
	}
	return table.String()
}

// interval accepts whole seconds, the unit of SQS's DelaySeconds, that divide a minute.
func interval(value any) (time.Duration, error) {
	d, err := time.ParseDuration(sprint(value))
	if err != nil {
		return 0, wrong(value, "is not a duration: give a number with its unit")
	}
	if d < time.Second || d > time.Minute || time.Minute%d != 0 || d%time.Second != 0 {
		return 0, wrong(
			d, "does not divide a minute into whole seconds: 1s, 2s, 3s, 4s, 5s, 6s, 10s, 12s, 15s, 20s, 30s and 1m do",
		)
	}
	return d, nil
}
