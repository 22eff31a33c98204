package check

import (
	"fmt"
	"slices"
	"strings"
)

// State says how a finding is meant.
type State string

// The states of a finding. A deployment fails, or does not work, while there is a problem.
const (
	OK      State = "ok"
	Warning State = "warning"
	Problem State = "problem"
	Unknown State = "unknown"
)

// Finding is one line of the check.
type Finding struct {
	Subject string `json:"subject"`
	State   State  `json:"state"`
	Text    string `json:"text"`
	// Remedy is what a person does; empty for ok.
	Remedy string `json:"remedy,omitempty"`
}

// Findings says, line by line, what is ok and what has to be done.
func Findings(f *Facts) []Finding {
	var all []Finding
	for _, one := range []func(*Facts) []Finding{
		identity, bootstrap, clusterItself, access, endpoint, autoMode, karpenter, definitions, network, nodeSubnets,
		nodeGroups, nodeRole, spotRole, quotas, concurrency, functionNetwork, objects, images,
	} {
		all = append(all, one(f)...)
	}
	return all
}

// Worst is the worst state among findings: a problem, something unknown, a warning, or ok.
func Worst(findings []Finding) State {
	for _, state := range []State{Problem, Unknown, Warning} {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.State == state }) {
			return state
		}
	}
	return OK
}

// images warns of pools that a new image replaces at once.
func images(f *Facts) []Finding {
	var all []Finding
	for _, text := range f.Kube.Value.Rolls {
		all = append(all, line("images", Warning, "see Images in functions/README.md", "%s", text)...)
	}
	return all
}

func ok(subject, format string, arguments ...any) []Finding {
	return []Finding{{Subject: subject, State: OK, Text: fmt.Sprintf(format, arguments...)}}
}

func line(subject string, state State, remedy, format string, arguments ...any) []Finding {
	return []Finding{{Subject: subject, State: state, Text: fmt.Sprintf(format, arguments...), Remedy: remedy}}
}

// unread is the finding about a fact that could not be read.
func unread(subject, right string, err error) []Finding {
	return line(subject, Unknown, "allow "+right+" and check again", "not read: %v", err)
}

func identity(f *Facts) []Finding {
	if f.Identity.Err != nil {
		return line("credentials", Problem, "sign in, or set AWS_PROFILE", "AWS does not accept them: %v", f.Identity.Err)
	}
	return ok("credentials", "%s", f.Identity.Value)
}

// bootstrapLeast is the least version of the bootstrap stack that the stack's synthesizer accepts.
const bootstrapLeast = 6

func bootstrap(f *Facts) []Finding {
	const subject, remedy = "CDK bootstrap", "run cdk bootstrap aws://ACCOUNT/REGION, unless you deploy by whittle install"
	switch found := f.Bootstrap; {
	case found.Err != nil:
		return unread(subject, "ssm:GetParameter on /cdk-bootstrap/*", found.Err)
	case found.Value == 0:
		return line(subject, Problem, remedy, "the account and region are not bootstrapped")
	case found.Value < bootstrapLeast:
		return line(subject, Problem, remedy, "version %d is older than %d", found.Value, bootstrapLeast)
	}
	return ok(subject, "version %d", f.Bootstrap.Value)
}

func clusterItself(f *Facts) []Finding {
	const subject = "cluster"
	switch found := f.Cluster; {
	case found.Err != nil:
		return line(subject, Problem, "check --cluster, the region and the right eks:DescribeCluster", "%v", found.Err)
	case found.Value.Status != "ACTIVE":
		return line(subject, Problem, "wait until it is ACTIVE", "its status is %s", found.Value.Status)
	}
	return ok(subject, "%s, Kubernetes %s", f.ClusterName, f.Cluster.Value.Version)
}

func access(f *Facts) []Finding {
	const subject, configMap = "access mode", "CONFIG_MAP"
	mode := f.Cluster.Value.AuthenticationMode
	switch {
	case f.Cluster.Err != nil:
		return nil
	case mode == configMap && f.AuthenticationMode != configMap:
		return line(subject, Problem, "deploy with authenticationMode=CONFIG_MAP, or change the cluster's mode to "+
			"API_AND_CONFIG_MAP", "the cluster has %s, without access entries", mode)
	case mode == configMap:
		return line(subject, Warning, "add the lines that the deployment prints to aws-auth", "the cluster has %s", mode)
	case f.AuthenticationMode == configMap:
		return line(subject, Problem, "deploy without authenticationMode", "the cluster has %s, with access entries", mode)
	}
	return ok(subject, "%s", mode)
}

func endpoint(f *Facts) []Finding {
	const subject, remedy = "endpoint", "deploy with the settings subnets and securityGroups"
	found := f.Cluster.Value
	inVPC := len(f.FunctionSubnets) > 0
	switch {
	case f.Cluster.Err != nil:
		return nil
	case inVPC && !found.Private:
		return line(subject, Warning, "enable the private endpoint, or admit the address of the NAT gateway",
			"the functions are in a VPC, and the endpoint answers in public only")
	case inVPC:
		return ok(subject, "private, and the functions are in the VPC")
	case len(found.PublicCIDRs) == 0:
		return line(subject, Problem, remedy, "only the cluster's VPC reaches it, and the functions are outside")
	case !slices.Contains(found.PublicCIDRs, "0.0.0.0/0"):
		return line(subject, Problem, remedy, "it admits only %s, and the functions have no fixed address",
			strings.Join(found.PublicCIDRs, ", "))
	}
	return ok(subject, "public")
}

func autoMode(f *Facts) []Finding {
	const subject = "EKS Auto Mode"
	switch {
	case f.Cluster.Err != nil:
		return nil
	case f.Cluster.Value.AutoMode && f.AllowAutoMode:
		return line(subject, Warning, "let taints or labels separate the NodePools of both", "it is on, and allowed")
	case f.Cluster.Value.AutoMode:
		return line(subject, Problem, "disable it, or separate the NodePools of both and deploy with allowAutoMode=true",
			"it is on, and both would launch nodes for the same pods")
	}
	return ok(subject, "off")
}
