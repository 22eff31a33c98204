package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// stackSettings are chosen once.
func stackSettings() []setting[configuration] {
	return []setting[configuration]{
		{
			key: "architecture", fallback: "`arm64`", example: "x86_64", meaning: "of the functions: `arm64` or `x86_64`",
			set: func(c *configuration, value any) (err error) { c.architecture, err = architecture(value); return err },
		},
		{
			key: "functions", fallback: "`build/functions/<architecture>`", example: "build/functions/arm64", meaning: "folder of the built functions",
			set: func(c *configuration, value any) (err error) { c.functions, err = text(value, "a folder"); return err },
		},
		{
			key: "tags", example: "team=platform,stage=prod", meaning: "tags on everything that the stack makes; in the file also as a map",
			set: func(c *configuration, value any) (err error) { c.tags, err = tags(value); return err },
		},
	}
}

// clusterSettings are chosen for all clusters, or for one in its part of the file.
func clusterSettings() []setting[clusterConfiguration] {
	type cluster = clusterConfiguration
	return []setting[cluster]{
		{
			key: "interval", fallback: "`10s`", example: "10s", meaning: "time between two looks for pending pods: whole seconds that divide a minute",
			set: func(c *cluster, value any) (err error) { c.interval, err = interval(value); return err },
		},
		{
			key: "dryRun", fallback: "`false`", example: "true", meaning: "`true` has plans made, logged and shown, and nothing launched, evicted, terminated or written; the roles lack the rights to it",
			set: func(c *cluster, value any) (err error) { c.dryRun, err = truth(value); return err },
		},
		{
			key: "memory", fallback: memoryDefaults(), example: "provision=2048", meaning: "memory of functions in MB, 128 to 10240; in the file also as a map",
			set: func(c *cluster, value any) (err error) { c.memory, err = memory(value); return err },
		},
		{
			key: "logRetention", fallback: "`14`", example: "30", meaning: "days that the functions' logs are kept, one of CloudWatch's numbers",
			set: func(c *cluster, value any) (err error) { c.logRetention, err = retention(value); return err },
		},
		{
			key: "alarmTopic", example: "arn:aws:sns:us-east-1:123456789012:pages", meaning: "ARN of the SNS topic that the cluster's alarms are sent to",
			set: func(c *cluster, value any) (err error) { c.alarmTopic, err = arnOf(value, "sns", ""); return err },
		},
		{
			key: "subnets", example: "subnet-0a1b2c3d,subnet-4e5f6a7b", meaning: "ids of the subnets for functions in the cluster's VPC, which a private endpoint needs; they must reach AWS's APIs by a NAT gateway or endpoints",
			set: func(c *cluster, value any) (err error) { c.subnets, err = ids(value, "subnet"); return err },
		},
		{
			key: "securityGroups", example: "sg-0a1b2c3d", meaning: "ids of the security groups that the functions get there",
			set: func(c *cluster, value any) (err error) { c.securityGroups, err = ids(value, "sg"); return err },
		},
		{
			key: "clusterSecurityGroup", example: "sg-4e5f6a7b", meaning: "id of the cluster's security group, which gets a rule to let the others in at port 443",
			set: func(c *cluster, value any) error {
				groups, err := ids(value, "sg")
				c.clusterSecurityGroup = strings.Join(groups, ",")
				return err
			},
		},
		{
			key: "nodeRole", fallback: "one that the stack makes", example: "arn:aws:iam::123456789012:role/nodes", meaning: "ARN of an existing role for the nodes, which the cluster lets in already",
			set: func(c *cluster, value any) (err error) { c.nodeRole, err = arnOf(value, "iam", "role/"); return err },
		},
		{
			key: "windowsNodes", fallback: "`false`", example: "true", meaning: "`true` makes a second role, for classes whose nodes run Windows",
			set: func(c *cluster, value any) (err error) { c.windowsNodes, err = truth(value); return err },
		},
		{
			key: "authenticationMode", fallback: "`API`", example: modeConfigMap, meaning: "the cluster's: `API`, for API_AND_CONFIG_MAP too, or `CONFIG_MAP`, where the lines for aws-auth are yours to add: the deployment prints them",
			set: func(c *cluster, value any) (err error) {
				c.authenticationMode, err = oneOf(value, modeAPI, modeConfigMap)
				return err
			},
		},
		{
			key: "permissionBoundary", example: "arn:aws:iam::123456789012:policy/boundary", meaning: "ARN of the policy that bounds every role of the installation",
			set: func(c *cluster, value any) (err error) {
				c.permissionBoundary, err = arnOf(value, "iam", "policy/")
				return err
			},
		},
		{
			key: "kmsKey", fallback: "the services' own keys", example: "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab", meaning: "ARN of the key for queues and logs; its policy must let `events.amazonaws.com` and `logs.REGION.amazonaws.com` use it",
			set: func(c *cluster, value any) (err error) { c.kmsKey, err = arnOf(value, "kms", "key/"); return err },
		},
		{
			key: "preferencePolicy", fallback: "`Respect`", example: "Ignore", meaning: "`Ignore` plans without preferences (preferred affinity, ScheduleAnyway, PreferNoSchedule)",
			set: func(c *cluster, value any) (err error) {
				c.preferencePolicy, err = oneOf(value, "Respect", "Ignore")
				return err
			},
		},
		{
			key: "minValuesPolicy", fallback: "`Strict`", example: "BestEffort", meaning: "`BestEffort` lowers a requirement's minValues to what there is",
			set: func(c *cluster, value any) (err error) {
				c.minValuesPolicy, err = oneOf(value, "Strict", "BestEffort")
				return err
			},
		},
		{
			key: "disableDryRun", fallback: "`false`", example: "true", meaning: "`true` does not ask EC2 ahead, by dry runs, whether a class's launch is authorized",
			set: func(c *cluster, value any) error {
				disabled, err := truth(value)
				c.disableDryRun = strconv.FormatBool(disabled)
				return err
			},
		},
		{
			key: "imageParameters", example: "/images/*", meaning: "the account's own SSM parameters with image ids that classes may name",
			set: func(c *cluster, value any) (err error) { c.imageParameters, err = imageParameters(value); return err },
		},
		{
			key: "reservedENIs", fallback: "`0`", example: "1", meaning: "network interfaces of each node that are not for pods, as with custom networking",
			set: func(c *cluster, value any) (err error) {
				c.reservedENIs, err = number(value, "a whole number of network interfaces of each node that are not for pods", func(text string) bool {
					count, err := strconv.Atoi(text)
					return err == nil && count >= 0
				})
				return err
			},
		},
		{
			key: "vmMemoryOverheadPercent", fallback: "`0.075`", example: "0.075", meaning: "the part of a type's memory that its nodes do not see, until one of them has registered",
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

// memoryDefaults lists what functions have where nothing is chosen.
func memoryDefaults() string {
	var parts []string
	sizes := defaultMemory()
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		parts = append(parts, name+"="+strconv.FormatFloat(sizes[name], 'f', -1, 64))
	}
	return "`" + strings.Join(parts, ",") + "`"
}

// settingsTable is the documentation of what can be chosen, in Markdown.
func settingsTable() string {
	var table strings.Builder
	row := func(cells ...string) { table.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	row("key", "default", "example", "meaning")
	row("---", "---", "---", "---")
	row("`config`", "`whittle.yaml`, if there", "`clusters.yaml`", "path of the configuration file; by `-c` or in `cdk.json` only")
	row("`clusters`", "", "`prod,staging`", "names of the clusters; in the file a list, or a map from names to the keys below; each cluster gets functions, queues and roles of its own")
	for _, s := range stackSettings() {
		row("`"+s.key+"`", s.fallback, "`"+s.example+"`", s.meaning)
	}
	for _, s := range clusterSettings() {
		row("`"+s.key+"`", s.fallback, "`"+s.example+"`", s.meaning)
	}
	return table.String()
}

// interval accepts what the ticker can keep: whole seconds, the unit of SQS's DelaySeconds, that divide the minute between
// two of its invocations evenly.
func interval(value any) (time.Duration, error) {
	d, err := time.ParseDuration(sprint(value))
	if err != nil {
		return 0, wrong(value, "is not a duration: give a number with its unit")
	}
	if d < time.Second || d > time.Minute || time.Minute%d != 0 || d%time.Second != 0 {
		return 0, wrong(d, "does not divide a minute into whole seconds: 1s, 2s, 3s, 4s, 5s, 6s, 10s, 12s, 15s, 20s, 30s and 1m do")
	}
	return d, nil
}
