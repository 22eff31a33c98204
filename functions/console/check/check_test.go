package check_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/shared/api"
)

// fit are the facts of an account and a cluster in which nothing is missing.
func fit() *check.Facts {
	f := &check.Facts{}
	f.ClusterName, f.AuthenticationMode = "prod", "API"
	f.Identity.Value = "arn:aws:iam::123456789012:user/deployer"
	f.Cluster.Value = check.Cluster{
		Status: "ACTIVE", Version: "1.36", AuthenticationMode: "API", PublicCIDRs: []string{"0.0.0.0/0"},
	}
	f.Bootstrap.Value, f.SpotRole.Value, f.Concurrency.Value = 30, true, 1000
	f.Quotas.Value = map[string]float64{check.OnDemandQuota: 1000, check.SpotQuota: 1000}
	f.Subnets.Value = []check.Subnet{{ID: "subnet-a", Zone: "a", Free: 4000}, {ID: "subnet-b", Zone: "b", Free: 4000}}
	f.Groups.Value = []string{"sg-1"}
	f.Kube.Value = check.Kube{Definitions: map[string]string{}, CNI: "aws-node"}
	return f
}

func TestNothingStandsInTheWay(t *testing.T) {
	findings := check.Findings(fit())
	for _, finding := range findings {
		if finding.State != check.OK || finding.Remedy != "" {
			t.Errorf("%+v", finding)
		}
	}
	if len(findings) < 12 || check.Worst(findings) != check.OK {
		t.Errorf("%d findings, the worst %s", len(findings), check.Worst(findings))
	}
}

func pool(cpu string, capacityTypes ...string) api.NodePool {
	var p api.NodePool
	if cpu != "" {
		p.Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	if len(capacityTypes) > 0 {
		p.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{{
			Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: capacityTypes,
		}}
	}
	return p
}

func TestFindings(t *testing.T) {
	const role = "arn:aws:iam::123456789012:role/nodes"
	for _, test := range []struct {
		name    string
		change  func(*check.Facts)
		subject string
		state   check.State
		wants   string // in the text or the remedy
	}{
		{"credentials that AWS refuses", func(f *check.Facts) { f.Identity.Err = errors.New("expired") },
			"credentials", check.Problem, "sign in"},
		{"no bootstrap", func(f *check.Facts) { f.Bootstrap.Value = 0 }, "CDK bootstrap", check.Problem, "cdk bootstrap"},
		{"an old bootstrap", func(f *check.Facts) { f.Bootstrap.Value = 5 }, "CDK bootstrap", check.Problem, "older than 6"},
		{"an unreadable bootstrap", func(f *check.Facts) { f.Bootstrap.Err = errors.New("denied") },
			"CDK bootstrap", check.Unknown, "ssm:GetParameter"},
		{"no cluster", func(f *check.Facts) { f.Cluster.Err = errors.New("No cluster found for name: prod.") },
			"cluster", check.Problem, "--cluster"},
		{"a cluster that begins", func(f *check.Facts) { f.Cluster.Value.Status = "CREATING" }, "cluster", check.Problem,
			"CREATING"},
		{"an old access mode", func(f *check.Facts) { f.Cluster.Value.AuthenticationMode = "CONFIG_MAP" },
			"access mode", check.Problem, "authenticationMode=CONFIG_MAP"},
		{"an old access mode that is set", func(f *check.Facts) {
			f.Cluster.Value.AuthenticationMode, f.AuthenticationMode = "CONFIG_MAP", "CONFIG_MAP"
		}, "access mode", check.Warning, "aws-auth"},
		{"the old mode for a new cluster", func(f *check.Facts) { f.AuthenticationMode = "CONFIG_MAP" },
			"access mode", check.Problem, "without authenticationMode"},
		{"a private endpoint", func(f *check.Facts) { f.Cluster.Value.PublicCIDRs, f.Cluster.Value.Private = nil, true },
			"endpoint", check.Problem, "subnets and securityGroups"},
		{"restricted addresses", func(f *check.Facts) { f.Cluster.Value.PublicCIDRs = []string{"203.0.113.0/24"} },
			"endpoint", check.Problem, "203.0.113.0/24"},
		{"a public endpoint for functions in a VPC", func(f *check.Facts) { f.FunctionSubnets = []string{"subnet-f"} },
			"endpoint", check.Warning, "private endpoint"},
		{"Auto Mode", func(f *check.Facts) { f.Cluster.Value.AutoMode = true }, "EKS Auto Mode", check.Problem,
			"allowAutoMode=true"},
		{"Auto Mode that is allowed", func(f *check.Facts) { f.Cluster.Value.AutoMode, f.AllowAutoMode = true, true },
			"EKS Auto Mode", check.Warning, "taints or labels"},
		{"Karpenter", func(f *check.Facts) { f.Kube.Value.Karpenter = `"karpenter-1"` }, "Karpenter", check.Warning, "scale"},
		{"no right in the cluster", func(f *check.Facts) { f.Kube.Err = errors.New("Unauthorized") }, "Kubernetes",
			check.Unknown, "access entry"},
		{"some kinds", func(f *check.Facts) {
			f.Kube.Value.Definitions = map[string]string{check.NodePoolDefinition: "helm"}
		}, "CRDs", check.Warning, "nodepools.karpenter.sh"},
		{"no network plugin", func(f *check.Facts) { f.Kube.Value.CNI = "" }, "CNI", check.Warning, "vpc-cni"},
		{"no subnet", func(f *check.Facts) { f.Subnets.Value = nil }, "subnets", check.Problem,
			"karpenter.sh/discovery=prod"},
		{"one zone", func(f *check.Facts) { f.Subnets.Value = f.Subnets.Value[:1] }, "subnets", check.Warning, "all are in a"},
		{"few addresses", func(f *check.Facts) { f.Subnets.Value[1].Free = 9 }, "subnets", check.Warning, "subnet-b has 9"},
		{"no group", func(f *check.Facts) { f.Groups.Value = nil }, "security groups", check.Problem, "discovery"},
		{"a role that is not there", func(f *check.Facts) { f.Options.NodeRole = role }, "node role", check.Problem,
			"correct"},
		{"a role for others", func(f *check.Facts) {
			f.Options.NodeRole, f.NodeRole.Value = role, check.Role{Exists: true}
		}, "node role", check.Problem, "ec2.amazonaws.com"},
		{"a role without policies", func(f *check.Facts) {
			f.Options.NodeRole, f.NodeRole.Value = role, check.Role{Exists: true, TrustsEC2: true}
		}, "node role", check.Warning, "AmazonEKSWorkerNodePolicy"},
		{"a role without an entry", func(f *check.Facts) {
			f.Options.NodeRole = role
			f.NodeRole.Value = check.Role{Exists: true, TrustsEC2: true, Policies: []string{"AmazonEKSWorkerNodePolicy"}}
		}, "node role", check.Problem, "EC2_LINUX"},
		{"no spot yet", func(f *check.Facts) { f.SpotRole.Value = false }, "spot's role", check.Problem,
			"create-service-linked-role"},
		{"a pool without a limit", func(f *check.Facts) { f.Kube.Value.NodePools = []api.NodePool{pool("")} },
			"quota of spot", check.Warning, "no cpu limit"},
		{"pools beyond the quota", func(f *check.Facts) {
			f.Kube.Value.NodePools = []api.NodePool{pool("800", "spot"), pool("300", "spot")}
		}, "quota of spot", check.Warning, "may want 1100"},
		{"pools of the other kind", func(f *check.Facts) { f.Kube.Value.NodePools = []api.NodePool{pool("", "spot")} },
			"quota of on-demand", check.OK, "1000 vCPUs"},
		{"a new account", func(f *check.Facts) { f.Concurrency.Value = 10 }, "Lambda concurrency", check.Warning, "raise"},
		{"functions without a way", func(f *check.Facts) {
			f.FunctionSubnets = []string{"subnet-f"}
			f.Way.Value = &check.Way{WithoutNAT: []string{"subnet-f"}, Endpoints: []string{"ec2", "eks"}}
		}, "functions' subnets", check.Problem, "sqs, ssm, lambda"},
		{"functions with endpoints", func(f *check.Facts) {
			f.FunctionSubnets = []string{"subnet-f"}
			f.Way.Value = &check.Way{WithoutNAT: []string{"subnet-f"}, Endpoints: []string{"ec2", "eks", "sqs", "ssm", "lambda",
				"s3"}}
		}, "functions' subnets", check.Warning, "spec.instanceProfile"},
		{"functions whose settings need more endpoints", func(f *check.Facts) {
			f.FunctionSubnets, f.EventBus, f.ZonalShift = []string{"subnet-f"}, "default", true
			f.Way.Value = &check.Way{WithoutNAT: []string{"subnet-f"}, Endpoints: []string{"ec2", "eks", "sqs", "ssm", "lambda",
				"s3"}}
		}, "functions' subnets", check.Problem, "no endpoint for events, arc-zonal-shift"},
		{"functions with NAT", func(f *check.Facts) {
			f.FunctionSubnets, f.Way.Value = []string{"subnet-f"}, &check.Way{}
		}, "functions' subnets", check.OK, "NAT"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := fit()
			test.change(f)
			for _, finding := range check.Findings(f) {
				if finding.Subject != test.subject {
					continue
				}
				if finding.State != test.state || !strings.Contains(finding.Text+" "+finding.Remedy, test.wants) {
					t.Errorf("got %+v, want %s with %q", finding, test.state, test.wants)
				}
				if (finding.Remedy == "") != (finding.State == check.OK) {
					t.Errorf("%s has the remedy %q", finding.State, finding.Remedy)
				}
				return
			}
			t.Errorf("no finding about %s", test.subject)
		})
	}
}

func TestWrite(t *testing.T) {
	var out strings.Builder
	findings := []check.Finding{
		{Subject: "cluster", State: check.OK, Text: "prod, Kubernetes 1.36"},
		{Subject: "CDK bootstrap", State: check.Problem, Text: "the account and region are not bootstrapped",
			Remedy: "run cdk bootstrap aws://ACCOUNT/REGION and check again, with the same credentials"},
	}
	if err := check.Write(&out, findings, 60); err != nil {
		t.Fatal(err)
	}
	want := `ok       cluster        prod, Kubernetes 1.36
problem  CDK bootstrap  the account and region are not
                        bootstrapped
                        → run cdk bootstrap
                          aws://ACCOUNT/REGION and check
                          again, with the same credentials
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestObjectsHaveAllTheirFaults checks that each fault of each object is a line.
func TestObjectsHaveAllTheirFaults(t *testing.T) {
	pool := api.NodePool{}
	pool.Name = "default"
	pool.Spec.Weight = new(int32(200))
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "defualt",
	}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: "karpenter.sh/capacity-typ", Operator: "In", Values: []string{"spot"}},
		{Key: "kubernetes.io/arch", Operator: "in", Values: []string{"amd64"}},
	}
	auto := pool
	auto.Name = "of Auto Mode"
	auto.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: "eks.amazonaws.com", Kind: "NodeClass",
		Name: "default"}
	class := api.EC2NodeClass{}
	class.Name = "default"
	class.Spec.Role = "${NODE_ROLE}"
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latst"}}
	class.Spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{ID: "net-1"}}
	facts := &check.Facts{}
	facts.Kube.Value = check.Kube{NodePools: []api.NodePool{pool, auto}, NodeClasses: []api.EC2NodeClass{class}}
	var text strings.Builder
	problems := 0
	for _, finding := range check.Findings(facts) {
		if strings.HasPrefix(finding.Subject, "NodePool ") || strings.HasPrefix(finding.Subject, "EC2NodeClass ") {
			text.WriteString(finding.Subject + ": " + finding.Text + ": " + finding.Remedy + "\n")
			problems++
			if finding.State != check.Problem {
				t.Errorf("%+v is no problem", finding)
			}
		}
	}
	for _, want := range []string{
		`NodePool "default": spec.weight: 200 is out of range`, `did you mean "karpenter.sh/capacity-type"?`,
		`"in" is not an operator: use one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte: did you mean "In"?`,
		`there is no EC2NodeClass "defualt": no node is launched: create the class, or correct ` +
			`spec.template.spec.nodeClassRef.name: did you mean "default"?`,
		`EC2NodeClass "default": spec.subnetSelectorTerms[0].id: "net-1" is not an id`, `did you mean "al2023@latest"?`,
		"spec.securityGroupSelectorTerms: is empty", `spec.role: "${NODE_ROLE}" has a placeholder`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("lacks %s:\n%s", want, text.String())
		}
	}
	if problems != 8 || strings.Contains(text.String(), "Auto Mode") {
		t.Errorf("%d problems:\n%s", problems, text.String())
	}
}
