package account

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// spotRole is the name of the service-linked role of EC2 Spot.
const spotRole = "AWSServiceRoleForEC2Spot"

// Reader reads the facts of one account and region.
type Reader struct {
	// Connect connects to a cluster. NewReader sets the way of the functions: by the endpoint that EKS
	// names, with the caller's credentials.
	Connect func(ctx context.Context, name string) (*cluster.Client, error)

	config aws.Config
	ec2    *ec2.Client
	eks    *eks.Client
	iam    *iam.Client
	now    func() time.Time
}

// NewReader returns a Reader with the caller's credentials and region.
func NewReader(config aws.Config, now func() time.Time) *Reader {
	r := &Reader{
		config: config, ec2: ec2.NewFromConfig(config), eks: eks.NewFromConfig(config), iam: iam.NewFromConfig(config),
		now: now,
	}
	r.Connect = r.connect
	return r
}

// Read reads everything. Errors are in the facts.
func (r *Reader) Read(ctx context.Context, options check.Options) *check.Facts {
	f := &check.Facts{Options: options}
	f.Identity = check.Read(r.identity(ctx))
	f.Cluster = check.Read(r.cluster(ctx, options.ClusterName))
	f.Bootstrap = check.Read(r.bootstrap(ctx))
	f.SpotRole = check.Read(r.hasRole(ctx, spotRole))
	if options.NodeRole != "" {
		f.NodeRole = check.Read(r.role(ctx, options))
	}
	f.Quotas = check.Read(r.quotas(ctx))
	f.Concurrency = check.Read(r.concurrency(ctx))
	kube, classes, err := r.kube(ctx, options.ClusterName)
	f.Kube = check.Read(kube, err)
	f.Subnets = check.Read(r.subnets(ctx, options.ClusterName, classes))
	f.Groups = check.Read(r.groups(ctx, options.ClusterName, classes))
	if len(options.FunctionSubnets) > 0 {
		f.Way = check.Read(r.way(ctx, options.FunctionSubnets))
	}
	return f
}

func (r *Reader) identity(ctx context.Context) (string, error) {
	out, err := sts.NewFromConfig(r.config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Arn), nil
}

func (r *Reader) cluster(ctx context.Context, name string) (check.Cluster, error) {
	out, err := r.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &name})
	if err != nil {
		return check.Cluster{}, err
	}
	found := check.Cluster{
		Status: string(out.Cluster.Status), Version: aws.ToString(out.Cluster.Version),
		AuthenticationMode: string(ekstypes.AuthenticationModeConfigMap),
	}
	if access := out.Cluster.AccessConfig; access != nil {
		found.AuthenticationMode = string(access.AuthenticationMode)
	}
	if vpc := out.Cluster.ResourcesVpcConfig; vpc != nil {
		found.Private = vpc.EndpointPrivateAccess
		if vpc.EndpointPublicAccess {
			found.PublicCIDRs = vpc.PublicAccessCidrs
		}
	}
	found.AutoMode = out.Cluster.ComputeConfig != nil && aws.ToBool(out.Cluster.ComputeConfig.Enabled)
	return found, nil
}

// bootstrap reads the version that `cdk bootstrap` writes with its default qualifier.
func (r *Reader) bootstrap(ctx context.Context) (int, error) {
	out, err := ssm.NewFromConfig(r.config).GetParameter(ctx, &ssm.GetParameterInput{
		Name: aws.String("/cdk-bootstrap/hnb659fds/version"),
	})
	var missing *ssmtypes.ParameterNotFound
	if errors.As(err, &missing) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(aws.ToString(out.Parameter.Value))
}

func (r *Reader) hasRole(ctx context.Context, name string) (bool, error) {
	_, err := r.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	var missing *iamtypes.NoSuchEntityException
	if errors.As(err, &missing) {
		return false, nil
	}
	return err == nil, err
}

// role reads the role that the nodes will have.
func (r *Reader) role(ctx context.Context, options check.Options) (check.Role, error) {
	name := options.NodeRole[strings.LastIndexByte(options.NodeRole, '/')+1:]
	out, err := r.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	var missing *iamtypes.NoSuchEntityException
	if errors.As(err, &missing) {
		return check.Role{}, nil
	}
	if err != nil {
		return check.Role{}, err
	}
	trust, err := url.QueryUnescape(aws.ToString(out.Role.AssumeRolePolicyDocument))
	if err != nil {
		return check.Role{}, fmt.Errorf("the trust policy of %s: %w", name, err)
	}
	found := check.Role{Exists: true, TrustsEC2: strings.Contains(trust, `"ec2.amazonaws.com`)}
	attached, err := r.iam.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: &name})
	if err != nil {
		return check.Role{}, err
	}
	for _, policy := range attached.AttachedPolicies {
		found.Policies = append(found.Policies, aws.ToString(policy.PolicyName))
	}
	_, err = r.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{
		ClusterName: &options.ClusterName, PrincipalArn: &options.NodeRole,
	})
	var none *ekstypes.ResourceNotFoundException
	if errors.As(err, &none) {
		return found, nil
	}
	found.HasEntry = err == nil
	return found, err
}

func (r *Reader) quotas(ctx context.Context) (map[string]float64, error) {
	client, found := servicequotas.NewFromConfig(r.config), map[string]float64{}
	for _, code := range []string{check.OnDemandQuota, check.SpotQuota} {
		out, err := client.GetServiceQuota(ctx, &servicequotas.GetServiceQuotaInput{
			ServiceCode: aws.String("ec2"), QuotaCode: &code,
		})
		if err != nil {
			return nil, err
		}
		found[code] = aws.ToFloat64(out.Quota.Value)
	}
	return found, nil
}

func (r *Reader) concurrency(ctx context.Context) (int, error) {
	out, err := lambda.NewFromConfig(r.config).GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil || out.AccountLimit == nil {
		return 0, err
	}
	return int(aws.ToInt32(out.AccountLimit.UnreservedConcurrentExecutions)), nil
}

// connect connects to the cluster with the caller's credentials.
func (r *Reader) connect(ctx context.Context, name string) (*cluster.Client, error) {
	endpoint, err := cluster.Find(ctx, r.eks, name)
	if err != nil {
		return nil, err
	}
	return cluster.New(endpoint, cluster.NewTokenSource(name, r.config.Region, r.config.Credentials, time.Now), nil)
}
