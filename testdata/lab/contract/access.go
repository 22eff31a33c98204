package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// accessFacts need an EKS cluster.
func accessFacts() []fact {
	return []fact{
		{
			assumption: "EKS accepts a role seconds after its creation.",
			creates:    "a role and an access entry for it, if a cluster is named",
			observe:    observePrincipal,
			changes:    "each access entry has to wait for its function in the template, infra/access.go",
		},
		{
			assumption: "Every API server of a cluster knows a new access entry at the same time.",
			observe:    observeAccess,
			changes:    "nothing: install tries a refused call again for a minute",
		},
		{
			assumption: "A condition on the cluster's ARN is enough for GetManagedResource.",
			creates:    "a role that may read the cluster's zonal shifts, if a cluster is named",
			observe:    observeShifts,
			changes:    "the statement ZonalShifts, infra/permissions.go",
		},
	}
}

// laterLooks is how often a role is tried after its first accepted call.
const laterLooks = 50

// errNoCluster says that no cluster is named.
var errNoCluster = errors.New("no cluster is named: give cluster=NAME")

// assumable makes a role without rights that the account's principals may assume.
func (a *Account) assumable(ctx context.Context, name string) (arn string, err error) {
	caller, err := sts.NewFromConfig(a.config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", err
	}
	// The partition is that of the caller.
	root, _, _ := strings.Cut(aws.ToString(caller.Arn), ":"+aws.ToString(caller.Account)+":")
	root = strings.Replace(root, ":sts:", ":iam:", 1) + ":" + aws.ToString(caller.Account) + ":root"
	trust := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",`+
		`"Principal":{"AWS":"%s"}}]}`, root)
	made, err := a.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
	if err != nil {
		return "", err
	}
	a.later("role "+name, func(ctx context.Context) error {
		_, err := a.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
		return err
	})
	return aws.ToString(made.Role.Arn), nil
}

// observePrincipal makes an access entry for a role at once after the role, as CloudFormation does.
func observePrincipal(ctx context.Context, a *Account) (bool, string, error) {
	if a.Cluster == "" {
		return false, "", errNoCluster
	}
	name := a.name("access")
	role, err := a.assumable(ctx, name)
	if err != nil {
		return false, "", err
	}
	first := ""
	took, err := until(ctx, func() (bool, error) {
		_, err := a.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{
			ClusterName: &a.Cluster, PrincipalArn: &role, KubernetesGroups: []string{prefix},
		})
		if err != nil && first == "" {
			first = code(err) + ": " + message(err)
		}
		if code(err) != "InvalidParameterException" {
			return true, err
		}
		return false, nil
	})
	if err != nil {
		return false, "", fmt.Errorf("%s: %w", first, err)
	}
	a.role = role
	a.later("access entry "+name, func(ctx context.Context) error {
		_, err := a.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: &a.Cluster, PrincipalArn: &role})
		return err
	})
	if first == "" {
		return true, "the first call made the entry", nil
	}
	return false, fmt.Sprintf("%s for %.1f s", first, took.Seconds()), nil
}

// observeShifts asks for the cluster's zonal shifts with the right that the stack grants.
func observeShifts(ctx context.Context, a *Account) (bool, string, error) {
	if a.Cluster == "" {
		return false, "", errNoCluster
	}
	described, err := a.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &a.Cluster})
	if err != nil {
		return false, "", err
	}
	arn, name := aws.ToString(described.Cluster.Arn), a.name("shifts")
	role, err := a.assumable(ctx, name)
	if err != nil {
		return false, "", err
	}
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow",`+
		`"Action":"arc-zonal-shift:GetManagedResource","Resource":"*",`+
		`"Condition":{"StringEquals":{"arc-zonal-shift:ResourceIdentifier":%q}}}]}`, arn)
	if _, err := a.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{
		RoleName: &name, PolicyName: aws.String("shifts"), PolicyDocument: &policy,
	}); err != nil {
		return false, "", err
	}
	a.later("policy of role "+name, func(ctx context.Context) error {
		_, err := a.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: aws.String("shifts")})
		return err
	})
	configuration := a.config.Copy()
	configuration.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(a.config), role))
	source, last := zonalshift.New(configuration, arn, time.Now), error(nil)
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	took, err := until(bounded, func() (bool, error) { // a new policy may be refused for seconds
		last = source.Check(bounded)
		return last == nil, nil
	})
	if err != nil {
		return false, last.Error(), nil
	}
	return true, fmt.Sprintf("ARC answered after %.1f s", took.Seconds()), nil
}

// observeAccess looks at the access entry of a role without rights. The API server refuses the role's
// calls as forbidden as soon as it knows the entry, and as unauthorized before.
func observeAccess(ctx context.Context, a *Account) (bool, string, error) {
	if a.Cluster == "" || a.role == "" {
		return false, "", errNoCluster
	}
	endpoint, err := cluster.Find(ctx, a.eks, a.Cluster)
	if err != nil {
		return false, "", err
	}
	provider := aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(a.config), a.role))
	client, err := cluster.New(endpoint, cluster.NewTokenSource(a.Cluster, a.config.Region, provider, time.Now), nil)
	if err != nil {
		return false, "", err
	}
	if _, err := until(ctx, func() (bool, error) { // until the role can be assumed
		_, err := provider.Retrieve(ctx)
		return err == nil, nil
	}); err != nil {
		return false, "", err
	}
	accepted := func() bool {
		_, err := client.Nodes(ctx)
		return err == nil || cluster.IsForbidden(err)
	}
	took, err := until(ctx, func() (bool, error) { return accepted(), nil })
	if err != nil {
		return false, "", err
	}
	refused := 0
	for range laterLooks {
		if !accepted() {
			refused++
		}
		time.Sleep(pollEvery)
	}
	return refused == 0, fmt.Sprintf("accepted after %.1f s, then refused %d of %d times", took.Seconds(), refused,
		laterLooks), nil
}
