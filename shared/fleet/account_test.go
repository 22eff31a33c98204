package fleet_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const (
	accountID  = "123456789012"
	region     = "us-east-1"
	kubernetes = "1.36"
)

// account is the local AWS with one cluster, prod, and the SDK's clients to it.
type account struct {
	service *ec2.Service
	// parameters has what people write, such as the ids of their images.
	parameters *ssm.Service
	ec2        *awsec2.Client
	ssm        *awsssm.Client
	iam        *awsiam.Client

	mutex sync.Mutex
	calls []string // actions, in their order
}

func newAccount(t *testing.T) *account {
	t.Helper()
	people, err := identity.New(accountID, region)
	if err != nil {
		t.Fatal(err)
	}
	parameters := ssm.New(accountID, region)
	service, err := ec2.New(
		ec2.Config{AccountID: accountID, Region: region, Parameters: parameters, InstanceProfiles: people},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	service.RegisterCluster("prod", kubernetes)

	a := &account{service: service, parameters: parameters}
	server := wire.NewServer()
	for _, part := range []interface{ Register(*wire.Server) }{people, parameters, service} {
		part.Register(server)
	}
	server.Observe(func(call wire.CallRecord) {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.calls = append(a.calls, call.Action)
	})
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	operator := people.Operator()
	config := aws.Config{
		Region: region, BaseEndpoint: &url,
		// The SDK may close a connection under a long answer; it tries again.
		Retryer:     func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), 5*time.Millisecond) },
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	}
	a.ec2, a.ssm, a.iam = awsec2.NewFromConfig(config), awsssm.NewFromConfig(config), awsiam.NewFromConfig(config)
	return a
}

// count tells how often an action was called.
func (a *account) count(action string) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	count := 0
	for _, call := range a.calls {
		if call == action {
			count++
		}
	}
	return count
}

func (a *account) image(t *testing.T, architecture string) string {
	t.Helper()
	output, err := a.ssm.GetParameter(t.Context(), &awsssm.GetParameterInput{
		Name: aws.String(
			"/aws/service/eks/optimized-ami/" + kubernetes + "/amazon-linux-2023/" + architecture + "/standard/recommended/image_id",
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(output.Parameter.Value)
}

// subnets are the ids by zone.
func (a *account) subnets(t *testing.T) map[string]string {
	t.Helper()
	output, err := a.ec2.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, subnet := range output.Subnets {
		found[aws.ToString(subnet.AvailabilityZone)] = aws.ToString(subnet.SubnetId)
	}
	return found
}

// group is the id of the security group that is tagged for the cluster.
func (a *account) group(t *testing.T) string {
	t.Helper()
	output, err := a.ec2.DescribeSecurityGroups(t.Context(), &awsec2.DescribeSecurityGroupsInput{
		Filters: []types.Filter{{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{"prod"}}},
	})
	if err != nil || len(output.SecurityGroups) != 1 {
		t.Fatalf("%v, %v", output, err)
	}
	return aws.ToString(output.SecurityGroups[0].GroupId)
}

// role makes a role as the stack's node role.
func (a *account) role(t *testing.T, name string) {
	t.Helper()
	_, err := a.iam.CreateRole(t.Context(), &awsiam.CreateRoleInput{
		RoleName: &name,
		AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"ec2.amazonaws.com"}}]}`,
		),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// alive are the ids of the instances that have not ended, sorted.
func (a *account) alive() []string {
	var ids []string
	for _, instance := range a.service.Instances() {
		if instance.State != ec2.Terminated && instance.State != ec2.ShuttingDown {
			ids = append(ids, instance.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// awaitRunning waits until all instances run. EC2 reboots and impairs no others.
func (a *account) awaitRunning() {
	pending := func(i ec2.Instance) bool { return i.State == ec2.Pending }
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(a.service.Instances(), pending) &&
		time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		continue
	}
}
