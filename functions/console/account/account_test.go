package account_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/whittle-dev/whittle/functions/console/account"
	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/quotas"
	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const (
	accountID = "123456789012"
	region    = "us-east-1"
)

// place is the local AWS with a cluster that a real API server answers for.
type place struct {
	config     aws.Config
	ec2        *ec2.Service
	parameters *ssm.Service
	quotas     *quotas.Service
	plane      *clustertest.ControlPlane
	reader     *account.Reader
}

func newPlace(t *testing.T) *place {
	t.Helper()
	plane, err := clustertest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plane.Close() })
	people, err := identity.New(accountID, region)
	if err != nil {
		t.Fatal(err)
	}
	if err := people.Bootstrap("hnb659fds"); err != nil {
		t.Fatal(err)
	}
	p := &place{parameters: ssm.New(accountID, region), quotas: quotas.New(), plane: plane}
	p.ec2, err = ec2.New(
		ec2.Config{AccountID: accountID, Region: region, Parameters: p.parameters, InstanceProfiles: people},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.ec2.Close() })
	p.ec2.RegisterCluster("prod", "1.36")
	clusters, err := eks.New(eks.Config{AccountID: accountID, Region: region, Verifier: people, Instances: p.ec2})
	if err != nil {
		t.Fatal(err)
	}
	if err := clusters.RegisterCluster(eks.Cluster{
		Name: "prod", Endpoint: "https://127.0.0.1:1", CertificateAuthority: []byte("none"), Version: "1.36",
		ServiceCIDR: "10.100.0.0/16",
	}); err != nil {
		t.Fatal(err)
	}
	functions := lambda.New(lambda.Options{AccountID: accountID, Region: region, Directory: t.TempDir()})
	t.Cleanup(func() { _ = functions.Close() })
	server := wire.NewServer()
	for _, part := range []interface{ Register(*wire.Server) }{
		people, p.parameters, p.ec2, clusters, functions, p.quotas,
	} {
		part.Register(server)
	}
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	operator := people.Operator()
	p.config = aws.Config{
		Region: region, BaseEndpoint: &url,
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	}
	p.reader = account.NewReader(p.config, time.Now)
	p.reader.Connect = func(context.Context, string) (*cluster.Client, error) { return plane.Client() }
	return p
}

func TestRead(t *testing.T) {
	p := newPlace(t)
	options := check.Options{ClusterName: "prod", AuthenticationMode: "API"}

	facts := p.reader.Read(t.Context(), options)
	if !strings.HasPrefix(facts.Identity.Value, "arn:aws:iam::"+accountID) {
		t.Errorf("the caller is %+v", facts.Identity)
	}
	if facts.Bootstrap.Value != 0 || facts.Bootstrap.Err != nil {
		t.Errorf("before the bootstrap: %+v", facts.Bootstrap)
	}
	if kube := facts.Kube; kube.Err != nil || len(kube.Value.Definitions) != 0 || kube.Value.CNI != "" {
		t.Errorf("of an empty cluster: %+v", kube)
	}
	if len(facts.Subnets.Value) < 3 || facts.Subnets.Value[0].Free == 0 || len(facts.Groups.Value) == 0 {
		t.Errorf("subnets %+v, groups %+v", facts.Subnets, facts.Groups)
	}
	if !facts.SpotRole.Value || facts.Concurrency.Value != 1000 {
		t.Errorf("spot's role %+v, concurrency %+v", facts.SpotRole, facts.Concurrency)
	}

	p.parameters.Bootstrap("hnb659fds")
	p.quotas.Set("ec2", check.SpotQuota, 7)
	if err := p.plane.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	facts = p.reader.Read(t.Context(), options)
	if facts.Bootstrap.Value < 6 || facts.Quotas.Value[check.SpotQuota] != 7 {
		t.Errorf("bootstrap %+v, quotas %+v", facts.Bootstrap, facts.Quotas)
	}
	if len(facts.Kube.Value.Definitions) != len(check.DefinitionNames()) {
		t.Errorf("kinds %+v", facts.Kube.Value.Definitions)
	}
	if worst := check.Worst(check.Findings(facts)); worst != check.Warning { // no network plugin
		t.Errorf("the worst finding is %s: %+v", worst, check.Findings(facts))
	}
}

func TestReadTheNodeRole(t *testing.T) {
	p := newPlace(t)
	arn := "arn:aws:iam::" + accountID + ":role/nodes"
	options := check.Options{ClusterName: "prod", AuthenticationMode: "API", NodeRole: arn}
	if role := p.reader.Read(t.Context(), options).NodeRole; role.Err != nil || role.Value.Exists {
		t.Errorf("a role that is not there: %+v", role)
	}
	client := awsiam.NewFromConfig(p.config)
	if _, err := client.CreateRole(t.Context(), &awsiam.CreateRoleInput{
		RoleName: aws.String("nodes"), AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":` +
			`[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AttachRolePolicy(t.Context(), &awsiam.AttachRolePolicyInput{
		RoleName: aws.String("nodes"), PolicyArn: aws.String("arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"),
	}); err != nil {
		t.Fatal(err)
	}
	role := p.reader.Read(t.Context(), options).NodeRole
	if role.Err != nil || !role.Value.Exists || !role.Value.TrustsEC2 || role.Value.HasEntry ||
		!slices.Equal(role.Value.Policies, []string{"AmazonEKSWorkerNodePolicy"}) {
		t.Errorf("%+v", role)
	}
}

func TestReadTheFunctionsWay(t *testing.T) {
	p := newPlace(t)
	subnets, err := awsec2.NewFromConfig(p.config).DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	id := aws.ToString(subnets.Subnets[0].SubnetId)
	options := check.Options{ClusterName: "prod", FunctionSubnets: []string{id}}
	p.ec2.SetWays(false, "sqs", "ec2")
	way := p.reader.Read(t.Context(), options).Way
	if way.Err != nil || !slices.Equal(way.Value.WithoutNAT, []string{id}) ||
		!slices.Equal(way.Value.Endpoints, []string{"sqs", "ec2"}) {
		t.Errorf("without NAT: %+v, %v", way.Value, way.Err)
	}
	p.ec2.SetWays(true)
	if way := p.reader.Read(t.Context(), options).Way; way.Err != nil || len(way.Value.WithoutNAT) > 0 {
		t.Errorf("with NAT: %+v, %v", way.Value, way.Err)
	}
}

// A fact that cannot be read hides no other one.
func TestAnUnreachableClusterHidesNothingElse(t *testing.T) {
	p := newPlace(t)
	reader := account.NewReader(p.config, time.Now) // by the endpoint that EKS names, where nobody answers
	facts := reader.Read(t.Context(), check.Options{ClusterName: "prod"})
	if facts.Kube.Err == nil || facts.Cluster.Err != nil || facts.Subnets.Err != nil || len(facts.Subnets.Value) == 0 {
		t.Errorf("kube %v, cluster %v, subnets %+v", facts.Kube.Err, facts.Cluster.Err, facts.Subnets)
	}
	facts = reader.Read(t.Context(), check.Options{ClusterName: "other"})
	if facts.Cluster.Err == nil || facts.Quotas.Err != nil {
		t.Errorf("cluster %v, quotas %v", facts.Cluster.Err, facts.Quotas.Err)
	}
}
