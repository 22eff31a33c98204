package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// configuration is what the user chooses through the CDK context, checked.
type configuration struct {
	// clusters are the names of the EKS clusters that get an installation, in the order given.
	clusters []string
	// architecture of the functions, as Lambda spells it: arm64 or x86_64.
	architecture string
	// interval between two looks at the waiting pods; it divides a minute.
	interval time.Duration
	// preferencePolicy and minValuesPolicy are Karpenter's settings of these names; empty for provision's own defaults, Respect and Strict.
	preferencePolicy, minValuesPolicy string
	// disableDryRun is "true" where EC2 is not to be asked ahead whether a class's launch is authorized, else empty or "false".
	disableDryRun string
	// imageParameters are names of SSM parameters, or beginnings of names with * behind them, that hold the ids of the
	// account's own images.
	imageParameters []string
	// reservedENIs and vmMemoryOverheadPercent are Karpenter's settings of these names; empty for catalog's own defaults, 0 and 0.075.
	reservedENIs, vmMemoryOverheadPercent string
	// alarmTopic is the ARN of the SNS topic that alarms are sent to; empty for alarms that are only shown.
	alarmTopic string
	// functions is the absolute path of the folder that holds <function>/bootstrap.
	functions string
	// manifestHash changes with what the install function applies: it is the hash of the executable that holds it.
	manifestHash string
}

const (
	// maximumClusters keeps the stack below CloudFormation's 500 resources; a cluster takes 66.
	// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
	maximumClusters = 7
	// maximumClusterName is EKS's limit, in characters.
	// https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html
	maximumClusterName = 100

	defaultArchitecture = "arm64"
	defaultInterval     = 10 * time.Second
)

// readConfiguration reads and checks the context. lookup gives the value of a context key and nil for one not given.
// Errors name the key and the mend in one line.
func readConfiguration(lookup func(key string) any) (configuration, error) {
	var c configuration
	var err error
	if c.clusters, err = clusterNames(lookup("clusters")); err != nil {
		return configuration{}, err
	}
	if c.architecture, err = architecture(lookup("architecture")); err != nil {
		return configuration{}, err
	}
	if c.interval, err = interval(lookup("interval")); err != nil {
		return configuration{}, err
	}
	if c.preferencePolicy, err = policy("preferencePolicy", lookup, "Respect", "Ignore"); err != nil {
		return configuration{}, err
	}
	if c.minValuesPolicy, err = policy("minValuesPolicy", lookup, "Strict", "BestEffort"); err != nil {
		return configuration{}, err
	}
	if c.disableDryRun, err = policy("disableDryRun", lookup, "false", "true"); err != nil {
		return configuration{}, err
	}
	if c.imageParameters, err = imageParameters(lookup("imageParameters")); err != nil {
		return configuration{}, err
	}
	if c.reservedENIs, err = number("reservedENIs", lookup, "a whole number of network interfaces of each node that are not for pods", func(text string) bool {
		count, err := strconv.Atoi(text)
		return err == nil && count >= 0
	}); err != nil {
		return configuration{}, err
	}
	if c.vmMemoryOverheadPercent, err = number("vmMemoryOverheadPercent", lookup, "a fraction from 0 to less than 1, such as 0.075", func(text string) bool {
		overhead, err := strconv.ParseFloat(text, 64)
		return err == nil && overhead >= 0 && overhead < 1
	}); err != nil {
		return configuration{}, err
	}
	if c.alarmTopic, err = topic(lookup("alarmTopic")); err != nil {
		return configuration{}, err
	}
	if c.functions, err = functionsFolder(lookup("functions"), c.architecture); err != nil {
		return configuration{}, err
	}
	if c.manifestHash, err = bootstrapHash(c.functions, "install"); err != nil {
		return configuration{}, err
	}
	return c, nil
}

// clusterNames accepts the comma list of the command line and the list that a cdk.json may hold.
func clusterNames(value any) ([]string, error) {
	var given []string
	switch v := value.(type) {
	case nil:
	case string:
		if strings.TrimSpace(v) != "" {
			given = strings.Split(v, ",")
		}
	case []any:
		for _, item := range v {
			name, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("context clusters: %v is not a name: write the list as [\"prod\", \"staging\"]", item)
			}
			given = append(given, name)
		}
	default:
		return nil, fmt.Errorf("context clusters: %v is not a name: give the clusters' names, as in -c clusters=prod,staging", value)
	}
	if len(given) == 0 {
		return nil, errors.New("context clusters: no cluster given: name the EKS clusters to watch, as in -c clusters=prod,staging")
	}
	if len(given) > maximumClusters {
		return nil, fmt.Errorf("context clusters: %d clusters given, one stack has room for %d: name fewer", len(given), maximumClusters)
	}
	seen := map[string]bool{}
	names := make([]string, 0, len(given))
	for _, name := range given {
		name = strings.TrimSpace(name)
		if err := checkClusterName(name); err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("context clusters: %q is given twice: name each cluster once", name)
		}
		seen[name] = true
		names = append(names, name)
	}
	return names, nil
}

func checkClusterName(name string) error {
	switch {
	case name == "":
		return errors.New("context clusters: a name is empty: separate the names by single commas, as in -c clusters=prod,staging")
	case len(name) > maximumClusterName:
		return fmt.Errorf("context clusters: %q has %d characters, EKS allows %d: give the name that `aws eks list-clusters` prints", name, len(name), maximumClusterName)
	case !regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`).MatchString(name):
		return fmt.Errorf("context clusters: %q is no name of an EKS cluster (letters, digits, - and _, a letter or digit first): give the name that `aws eks list-clusters` prints", name)
	}
	return nil
}

func architecture(value any) (string, error) {
	switch value {
	case nil, "":
		return defaultArchitecture, nil
	case "arm64", "x86_64":
		return value.(string), nil
	case "amd64":
		return "", errors.New(`context architecture: Lambda calls "amd64" x86_64: give -c architecture=x86_64`)
	}
	return "", fmt.Errorf("context architecture: \"%v\" is unknown: give -c architecture=arm64 or -c architecture=x86_64", value)
}

// policy accepts one of two words, and nothing.
func policy(key string, lookup func(key string) any, first, second string) (string, error) {
	switch value := lookup(key); value {
	case nil, "":
		return "", nil
	case first, second:
		return value.(string), nil
	default:
		return "", fmt.Errorf("context %s: \"%v\" is unknown: give -c %s=%s or -c %s=%s", key, value, key, first, key, second)
	}
}

// imageParameters accepts a comma list of absolute parameter names, each with * at its end or without.
func imageParameters(value any) ([]string, error) {
	text, ok := value.(string)
	if value != nil && !ok {
		return nil, fmt.Errorf("context imageParameters: %v is no list of names: give it as in -c imageParameters=/images/*", value)
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		// A * alone would open every parameter, and secrets are parameters too.
		if !regexp.MustCompile(`^(/[a-zA-Z0-9_.-]+)+(/?\*)?$`).MatchString(name) {
			return nil, fmt.Errorf("context imageParameters: %q is no name of a parameter that begins with / and may end with *: give it as in -c imageParameters=/images/*", name)
		}
		names = append(names, name)
	}
	return names, nil
}

// number accepts what the check does, of the command line's text or the number that a cdk.json may hold.
func number(key string, lookup func(key string) any, what string, check func(text string) bool) (string, error) {
	value := lookup(key)
	if value == nil || value == "" {
		return "", nil
	}
	text := fmt.Sprint(value)
	if !check(text) {
		return "", fmt.Errorf("context %s: \"%v\" is not %s: give it as in -c %s=NUMBER", key, value, what, key)
	}
	return text, nil
}

// topic accepts the ARN of an SNS topic, and nothing.
func topic(value any) (string, error) {
	switch given := value.(type) {
	case nil:
		return "", nil
	case string:
		if given == "" || regexp.MustCompile(`^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]+$`).MatchString(given) {
			return given, nil
		}
	}
	return "", fmt.Errorf("context alarmTopic: \"%v\" is no SNS topic: give its ARN, as in -c alarmTopic=arn:aws:sns:us-east-1:123456789012:pages", value)
}

// interval accepts what the ticker can keep: whole seconds, the unit of SQS's DelaySeconds, that divide the minute between
// two of its invocations evenly.
func interval(value any) (time.Duration, error) {
	if value == nil || value == "" {
		return defaultInterval, nil
	}
	d, err := time.ParseDuration(fmt.Sprint(value))
	if err != nil {
		return 0, fmt.Errorf("context interval: \"%v\" is not a duration: give a number with its unit, as in -c interval=10s", value)
	}
	if d < time.Second || d > time.Minute || time.Minute%d != 0 || d%time.Second != 0 {
		return 0, fmt.Errorf("context interval: %v does not divide a minute into whole seconds: give 1s, 2s, 3s, 4s, 5s, 6s, 10s, 12s, 15s, 20s, 30s or 1m", value)
	}
	return d, nil
}

func functionsFolder(value any, architecture string) (string, error) {
	folder := filepath.Join("build", "functions", architecture)
	if value != nil && value != "" {
		given, ok := value.(string)
		if !ok {
			return "", fmt.Errorf("context functions: %v is not a folder: give its path, as in -c functions=%s", value, folder)
		}
		folder = given
	}
	for _, name := range functionNames() {
		if err := checkBootstrap(folder, name, architecture); err != nil {
			return "", err
		}
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("context functions: finding the folder %q: %w", folder, err)
	}
	return absolute, nil
}
