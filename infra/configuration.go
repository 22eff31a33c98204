package infra

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"

	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// configuration holds the user's checked choices.
type configuration struct {
	// architecture of the functions in Lambda's spelling: arm64 or x86_64.
	architecture string
	// functions is the absolute path of the folder that holds <function>/bootstrap, or <function>.zip
	// of a release. release is the folder of the release; empty for functions that were built here.
	functions, release string
	// releaseKey is the key that has to have signed the release; nil for that of infra/release.pub.
	releaseKey *minisign.PublicKey
	// notice says who signed the release, or that nobody checked its signature.
	notice string
	// tags go on every resource that can have tags.
	tags map[string]string
	// manifestHash is the hash of install's executable. It changes with the manifests, which the
	// executable contains.
	manifestHash string
	// clusters get an installation each, in the given order.
	clusters []clusterConfiguration
	// installations are what the constructs of these clusters are made from.
	installations []*WhittleProps
}

// clusterConfiguration holds the choices for one cluster.
type clusterConfiguration struct {
	// name is the name of the EKS cluster.
	name string
	// interval is the time between two passes of provision. It divides a minute.
	interval time.Duration
	// reaction is poll, adaptive or always. quietAfter is how long an adaptive watch goes on without
	// work.
	reaction   string
	quietAfter time.Duration
	// terminationProtection makes CloudFormation refuse to delete the stack.
	terminationProtection bool
	// dryRun makes functions plan and log, but change nothing.
	dryRun bool
	// memory of functions in MB, by name. A function that is not listed keeps its default.
	memory map[string]float64
	// logRetention is how many days CloudWatch keeps the functions' logs.
	logRetention float64
	// alarmTopic is the ARN of the SNS topic for alarms. If it is empty, alarms notify nobody.
	alarmTopic string
	// alarmEmail is the address of mail for alarms, or empty.
	alarmEmail string

	// metrics says which of the functions' metrics exist. alarms and dashboard make the stack have
	// them.
	metrics           metrics.Detail
	alarms, dashboard bool

	// subnets and securityGroups are ids in the cluster's VPC for the functions that call the
	// cluster. If they are empty, functions run outside a VPC. A rule of clusterSecurityGroup lets
	// securityGroups reach the API server; empty adds no rule.
	subnets, securityGroups []string
	clusterSecurityGroup    string

	// nodeRole is the ARN of an existing role for the nodes. If it is empty, the stack makes one.
	nodeRole string
	// defaultInstanceProfile is the profile of Provisioners whose template names none. If it is empty,
	// their nodes get the role of nodes.
	defaultInstanceProfile string
	// nodeCNI and nodeSSM give the role of nodes the rights of the VPC CNI and of Session Manager.
	nodeCNI, nodeSSM bool
	// windowsNodes makes a second role, for nodes that run Windows.
	windowsNodes bool
	// authenticationMode is API (also for API_AND_CONFIG_MAP) or CONFIG_MAP.
	authenticationMode string
	// admission is what happens to writes that the admission policies refuse: audit, deny or off.
	admission string
	// allowAutoMode lets install accept a cluster with EKS Auto Mode.
	allowAutoMode bool
	// permissionBoundary is the ARN of the permissions boundary of every role; empty for none.
	permissionBoundary string
	// kmsKey is the ARN of the key for queues and logs; empty for the services' own keys.
	kmsKey string

	// redriveRoles are the ARNs of roles that may move dead letters back to the queues.
	redriveRoles []string

	// volumeKeys are the ARNs of the user's keys that encrypt volumes of nodes.
	volumeKeys []string

	// preferencePolicy and minValuesPolicy are Karpenter's settings. The defaults of provision, for
	// empty values, are Respect and Strict.
	preferencePolicy, minValuesPolicy string
	// defaultTopologySpread has the constraints of pods without any, as a list in JSON; empty for none.
	defaultTopologySpread string
	// disableDryRun "true" stops provision from asking EC2 by dry runs whether a class may launch.
	disableDryRun string
	// nodeClassCEL "true" allows expressions in the kubelet settings of classes.
	nodeClassCEL string
	// karpenterServiceAccounts are those whose pods may be Karpenter, separated by commas. The
	// default of the functions, for an empty value, are those of Karpenter's guides.
	karpenterServiceAccounts string
	// binding is bindByScheduler where kube-scheduler binds all pods. By default lifecycle binds those
	// that a node was launched for.
	binding string
	// nodePoolMetrics are the NodePools with metrics of their own.
	nodePoolMetrics []string
	// terminateFirst has the reasons for which nodes may end before their replacement.
	terminateFirst []string
	// provisioningRequests makes provision and disrupt carry out ProvisioningRequests.
	provisioningRequests bool
	// capacityBuffers makes provision and disrupt keep room for the pods of CapacityBuffers.
	capacityBuffers bool
	// podDeletionCost makes disrupt write the deletion costs of pods.
	podDeletionCost bool
	// commitments makes Reserved Instances and Savings Plans count in prices.
	commitments bool
	// commitmentFile has the commitments of a file, packed. It is empty where the account's count.
	commitmentFile string
	// maxDollarsPerHour is the most that all nodes cost together; empty for no such limit.
	maxDollarsPerHour string
	// dispersalPercent is what keeping replicas apart may add to the price of new nodes; empty for the
	// planner's default.
	dispersalPercent string
	// commitmentPercent is the part of each commitment that the cluster may use; empty for all.
	commitmentPercent string
	// rebootForRepair makes functions reboot an unhealthy node where that may help.
	rebootForRepair bool
	// eventBus is the name or the ARN of the bus that gets the functions' own events; empty for none.
	eventBus string
	// freezeAlarms are the CloudWatch alarms that freeze disruption while they ring.
	freezeAlarms []freeze.Watched
	// freezeTaggedAlarms adds those with the tag whittle.dev/freeze.
	freezeTaggedAlarms bool
	// freezeOnInsufficientData counts their state INSUFFICIENT_DATA as ringing.
	freezeOnInsufficientData bool
	// freezeEvents is the name of the bus whose events freeze and thaw; empty for none.
	freezeEvents string
	// zonalShift makes functions follow the zonal shifts of the cluster.
	zonalShift bool
	// imageParameters are names of SSM parameters with the account's own image ids. A name may end
	// in *.
	imageParameters []string
	// reservedENIs and vmMemoryOverheadPercent are Karpenter's settings. The defaults of catalog,
	// for empty values, are 0 and 0.075.
	reservedENIs, vmMemoryOverheadPercent string
}

const (
	defaultArchitecture = "arm64"
	defaultInterval     = 10 * time.Second
	// defaultLogRetention, in days, covers questions about the week before last.
	defaultLogRetention = 14

	// defaultQuietAfter is longer than the pauses of a cluster at work.
	defaultQuietAfter = 5 * time.Minute

	reactionPoll, reactionAdaptive, reactionAlways = "poll", "adaptive", "always"

	modeAPI, modeConfigMap = "API", "CONFIG_MAP"
)

// readConfiguration reads and checks the context and the file that it names. lookup returns the
// value of a context key, or nil. A cluster's own part of the file overrides the context, and the
// context overrides the rest of the file. Each error names the key and a correct value in one line.
func readConfiguration(lookup func(key string) any) (configuration, error) {
	file, err := readFile(lookup("config"))
	if err != nil {
		return configuration{}, err
	}
	read := configuration{architecture: defaultArchitecture}
	var stack WhittleProps
	for _, s := range stackSettings() {
		if err := s.from(&read, &stack, source{file: file, lookup: lookup}); err != nil {
			return configuration{}, err
		}
	}
	names, at, err := clusterNames(file, lookup)
	if err != nil {
		return configuration{}, err
	}
	for _, name := range names {
		one, props := clusterDefaults(name), stack
		props.ClusterName = &name
		for _, s := range clusterSettings() {
			if err := s.from(&one, &props, source{file: file, lookup: lookup, cluster: name}); err != nil {
				return configuration{}, err
			}
		}
		if err := one.check(); err != nil {
			return configuration{}, fmt.Errorf("%s: cluster %q: %w", at, name, err)
		}
		read.clusters, read.installations = append(read.clusters, one), append(read.installations, &props)
	}
	if err := read.build(); err != nil {
		return configuration{}, err
	}
	if read.release == "" {
		for _, props := range read.installations {
			props.Functions = &read.functions
		}
	}
	return read, nil
}

// clusterDefaults returns the settings of a cluster that sets none.
func clusterDefaults(name string) clusterConfiguration {
	return clusterConfiguration{
		name: name, interval: defaultInterval, logRetention: defaultLogRetention, authenticationMode: modeAPI,
		reaction: reactionAdaptive, quietAfter: defaultQuietAfter, admission: admissionAudit, nodeCNI: true,
		metrics: metrics.DetailFew, alarms: true, dashboard: true, terminationProtection: true,
	}
}

// check compares settings with each other.
func (c *clusterConfiguration) check() error {
	switch {
	case len(c.subnets) > 0 && len(c.securityGroups) == 0:
		return fmt.Errorf(
			"subnets without securityGroups: name the security groups that the functions get, such as the cluster's own",
		)
	case len(c.subnets) == 0 && (len(c.securityGroups) > 0 || c.clusterSecurityGroup != ""):
		return fmt.Errorf(
			"securityGroups and clusterSecurityGroup are for functions in a VPC: name its subnets, two in different zones " +
				"at best",
		)
	case slices.Contains(c.securityGroups, c.clusterSecurityGroup):
		return fmt.Errorf(
			"clusterSecurityGroup %s is one of securityGroups: whoever is in it needs no rule: leave clusterSecurityGroup out",
			c.clusterSecurityGroup,
		)
	case c.alarmTopic != "" && !c.alarms:
		return fmt.Errorf("alarmTopic without alarms: leave alarmTopic out, or leave alarms at true")
	case c.alarmEmail != "" && !c.alarms:
		return fmt.Errorf("alarmEmail without alarms: leave alarmEmail out, or leave alarms at true")
	case c.nodeRole != "" && c.windowsNodes:
		return fmt.Errorf(
			"windowsNodes makes a role for Windows beside the one for Linux: with nodeRole, roles are yours to make: give " +
				"a role for Windows its access entry, and leave windowsNodes out",
		)
	}
	return nil
}

// build finds the built functions.
func (c *configuration) build() error {
	var err error
	if c.release != "" {
		if c.functions != "" {
			return fmt.Errorf("release and functions both name the functions: leave one out")
		}
		key, err := trustedKey(c.releaseKey)
		if err != nil {
			return err
		}
		// The signature comes first, so that nothing reads the zips of a stranger.
		sums, notice, err := readSums(c.release, key)
		if err != nil {
			return err
		}
		c.notice = notice
		c.functions, c.manifestHash, err = releaseFolder(c.release, c.architecture, sums)
		return err
	}
	if c.functions, err = functionsFolder(c.functions, c.architecture); err != nil {
		return err
	}
	c.manifestHash, err = signature.FileSum(filepath.Join(c.functions, "install", "bootstrap"))
	return err
}

// source holds the places where a setting may stand.
type source struct {
	file    *file
	lookup  func(key string) any
	cluster string
}

// setting describes one key that users may set.
type setting[C any] struct {
	key string
	// fallback, example and meaning are documentation: the default, a value, and the effect.
	fallback, example, meaning string
	set                        func(c *C, value any) error
}

// from reads the setting, and writes it into props too. An error names the place of the value and
// shows a correct one.
func (s setting[C]) from(c *C, props *WhittleProps, in source) error {
	for _, found := range []struct {
		value       any
		where, mend string
	}{
		{in.file.of(in.cluster, s.key), in.file.name() + ": clusters." + in.cluster + "." + s.key, s.key + ": " + s.example},
		{in.lookup(s.key), "context " + s.key, "-c " + s.key + "=" + s.example},
		{in.file.shared(s.key), in.file.name() + ": " + s.key, s.key + ": " + s.example},
	} {
		if found.value == nil || found.value == "" {
			continue
		}
		if err := s.set(c, found.value); err != nil {
			return fmt.Errorf("%s: %w: write it as in %s", found.where, err, strings.TrimSpace(found.mend))
		}
		return props.put(s.key, found.value)
	}
	return nil
}
