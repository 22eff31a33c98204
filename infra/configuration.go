package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// configuration is what the user chooses, checked.
type configuration struct {
	// architecture of the functions, as Lambda spells it: arm64 or x86_64.
	architecture string
	// functions is the absolute path of the folder that holds <function>/bootstrap.
	functions string
	// tags are on everything that the stack makes and AWS lets be tagged.
	tags map[string]string
	// manifestHash changes with what the install function applies: it is the hash of the executable that holds it.
	manifestHash string
	// clusters get an installation each, in the order given.
	clusters []clusterConfiguration
}

// clusterConfiguration is what is chosen for one cluster.
type clusterConfiguration struct {
	// name is the EKS cluster's.
	name string
	// interval between two looks at the waiting pods; it divides a minute.
	interval time.Duration
	// dryRun has plans made and logged, and nothing done.
	dryRun bool
	// memory of functions in MB, by their names; those not named have their own default.
	memory map[string]float64
	// logRetention of the functions' logs, in days.
	logRetention float64
	// alarmTopic is the ARN of the SNS topic that alarms are sent to; empty for alarms that are only shown.
	alarmTopic string

	// subnets and securityGroups place the functions that speak to the cluster in its VPC, by their ids; empty for functions
	// outside of any. clusterSecurityGroup, if not empty, gets a rule that lets securityGroups reach the API server.
	subnets, securityGroups []string
	clusterSecurityGroup    string

	// nodeRole is the ARN of the nodes' role; empty for one that the stack makes.
	nodeRole string
	// windowsNodes has the stack make a second role, for nodes that run Windows.
	windowsNodes bool
	// authenticationMode is API, also for API_AND_CONFIG_MAP, or CONFIG_MAP.
	authenticationMode string
	// permissionBoundary is the ARN of the policy that bounds every role of the installation; empty for none.
	permissionBoundary string
	// kmsKey is the ARN of the key that queues and logs are encrypted with; empty for the services' own keys.
	kmsKey string

	// preferencePolicy and minValuesPolicy are Karpenter's settings of these names; empty for provision's own defaults, Respect and Strict.
	preferencePolicy, minValuesPolicy string
	// disableDryRun is "true" where EC2 is not to be asked ahead whether a class's launch is authorized, else empty or "false".
	disableDryRun string
	// imageParameters are names of SSM parameters, or beginnings of names with * behind them, that hold the ids of the
	// account's own images.
	imageParameters []string
	// reservedENIs and vmMemoryOverheadPercent are Karpenter's settings of these names; empty for catalog's own defaults, 0 and 0.075.
	reservedENIs, vmMemoryOverheadPercent string
}

const (
	defaultArchitecture = "arm64"
	defaultInterval     = 10 * time.Second
	// defaultLogRetention, in days, is long enough to ask on Monday week why a node went.
	defaultLogRetention = 14

	modeAPI, modeConfigMap = "API", "CONFIG_MAP"
)

// readConfiguration reads and checks the context and the file that it names. lookup gives the value of a context key and
// nil for one not given. What a cluster's own part of the file says counts before what the context says, and that before
// what the file says for all clusters. Errors name the key and the mend in one line.
func readConfiguration(lookup func(key string) any) (configuration, error) {
	file, err := readFile(lookup("config"))
	if err != nil {
		return configuration{}, err
	}
	read := configuration{architecture: defaultArchitecture}
	for _, s := range stackSettings() {
		if err := s.from(&read, source{file: file, lookup: lookup}); err != nil {
			return configuration{}, err
		}
	}
	names, at, err := clusterNames(file, lookup)
	if err != nil {
		return configuration{}, err
	}
	for _, name := range names {
		one := clusterConfiguration{name: name, interval: defaultInterval, logRetention: defaultLogRetention, authenticationMode: modeAPI}
		for _, s := range clusterSettings() {
			if err := s.from(&one, source{file: file, lookup: lookup, cluster: name}); err != nil {
				return configuration{}, err
			}
		}
		if err := one.check(); err != nil {
			return configuration{}, fmt.Errorf("%s: cluster %q: %w", at, name, err)
		}
		read.clusters = append(read.clusters, one)
	}
	if err := read.build(); err != nil {
		return configuration{}, err
	}
	return read, nil
}

// check holds settings against each other.
func (c *clusterConfiguration) check() error {
	switch {
	case len(c.subnets) > 0 && len(c.securityGroups) == 0:
		return fmt.Errorf("subnets without securityGroups: name the security groups that the functions get, such as the cluster's own")
	case len(c.subnets) == 0 && (len(c.securityGroups) > 0 || c.clusterSecurityGroup != ""):
		return fmt.Errorf("securityGroups and clusterSecurityGroup are for functions in a VPC: name its subnets, two in different zones at best")
	case slices.Contains(c.securityGroups, c.clusterSecurityGroup):
		return fmt.Errorf("clusterSecurityGroup %s is one of securityGroups: whoever is in it needs no rule: leave clusterSecurityGroup out", c.clusterSecurityGroup)
	case c.nodeRole != "" && c.windowsNodes:
		return fmt.Errorf("windowsNodes makes a role for Windows beside the one for Linux: with nodeRole, roles are yours to make: give a role for Windows its access entry, and leave windowsNodes out")
	}
	return nil
}

// build looks for the built functions.
func (c *configuration) build() error {
	var err error
	if c.functions, err = functionsFolder(c.functions, c.architecture); err != nil {
		return err
	}
	c.manifestHash, err = bootstrapHash(c.functions, "install")
	return err
}

// source is where a setting is looked for.
type source struct {
	file    *file
	lookup  func(key string) any
	cluster string
}

// setting is one thing that can be chosen.
type setting[C any] struct {
	key string
	// fallback is what counts where nothing is given, as the documentation says it; example a value as one writes it.
	fallback, example, meaning string
	set                        func(c *C, value any) error
}

// from reads the setting. Errors say where its value stands, and how one is written.
func (s setting[C]) from(c *C, in source) error {
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
		return nil
	}
	return nil
}
