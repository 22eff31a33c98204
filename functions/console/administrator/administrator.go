package administrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// ErrNotInstalled is for a cluster without the function install: there is nothing to change yet.
var ErrNotInstalled = errors.New("whittle is not installed for the cluster in this account and region")

// Rights changes the right of one cluster's install.
type Rights struct {
	eks     *eks.Client
	lambda  *lambda.Client
	cluster string
}

// New makes Rights for a cluster.
func New(config aws.Config, cluster string) *Rights {
	return &Rights{eks: eks.NewFromConfig(config), lambda: lambda.NewFromConfig(config), cluster: cluster}
}

// Grant makes install's role administrator of the cluster. It returns the role's ARN.
func (r *Rights) Grant(ctx context.Context) (role string, err error) {
	return r.change(ctx, func(role, policy string) error {
		_, err := r.eks.AssociateAccessPolicy(ctx, &eks.AssociateAccessPolicyInput{
			ClusterName: &r.cluster, PrincipalArn: &role, PolicyArn: &policy,
			AccessScope: &types.AccessScope{Type: types.AccessScopeTypeCluster},
		})
		return err
	})
}

// Revoke takes the right away. The role's access entry stays, and gives no right then.
func (r *Rights) Revoke(ctx context.Context) (role string, err error) {
	return r.change(ctx, func(role, policy string) error {
		given, err := r.eks.ListAssociatedAccessPolicies(ctx, &eks.ListAssociatedAccessPoliciesInput{
			ClusterName: &r.cluster, PrincipalArn: &role,
		})
		has := func(of types.AssociatedAccessPolicy) bool { return aws.ToString(of.PolicyArn) == policy }
		if err != nil || !slices.ContainsFunc(given.AssociatedAccessPolicies, has) {
			return err
		}
		_, err = r.eks.DisassociateAccessPolicy(ctx, &eks.DisassociateAccessPolicyInput{
			ClusterName: &r.cluster, PrincipalArn: &role, PolicyArn: &policy,
		})
		return err
	})
}

// change finds install's role and changes its access policy.
func (r *Rights) change(ctx context.Context, change func(role, policy string) error) (string, error) {
	name := "whittle-" + r.cluster + "-install"
	function, err := r.lambda.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	var absent *lambdatypes.ResourceNotFoundException
	if errors.As(err, &absent) {
		return "", fmt.Errorf("%w: there is no function %s", ErrNotInstalled, name)
	}
	if err != nil {
		return "", fmt.Errorf("reading the role of %s, which needs lambda:GetFunctionConfiguration: %w", name, err)
	}
	role := aws.ToString(function.Role)
	partition, found := partitionOf(role)
	if !found {
		return "", fmt.Errorf("the function %s has the role %q, which is no ARN", name, role)
	}
	err = change(role, "arn:"+partition+":eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy")
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return role, fmt.Errorf("the role %s has no access entry in the cluster %s: with authenticationMode CONFIG_MAP, "+
			"edit its lines in the ConfigMap kube-system/aws-auth, else deploy again: %w", role, r.cluster, err)
	}
	if err != nil {
		return role, fmt.Errorf("changing the access entry of %s, which needs eks:AssociateAccessPolicy, "+
			"eks:ListAssociatedAccessPolicies and eks:DisassociateAccessPolicy: %w", role, err)
	}
	return role, nil
}

// partitionOf is the second part of an ARN.
func partitionOf(arn string) (string, bool) {
	parts := strings.SplitN(arn, ":", 3)
	return parts[min(1, len(parts)-1)], len(parts) == 3 && parts[0] == "arn"
}
