package contract

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// accessFacts need an EKS cluster.
func accessFacts() []fact {
	return []fact{{
		assumption: "Every API server of a cluster knows a new access entry at the same time.",
		creates:    "a role and an access entry for it, if a cluster is named", observe: observeAccess,
	}}
}

// laterLooks is how often a role is tried after its first accepted call.
const laterLooks = 50

// errNoCluster says that no cluster is named.
var errNoCluster = errors.New("no cluster is named: give cluster=NAME")

// observeAccess makes an access entry for a role without rights. The API server refuses the role's
// calls as forbidden as soon as it knows the entry, and as unauthorized before.
func observeAccess(ctx context.Context, a *Account) (bool, string, error) {
	if a.Cluster == "" {
		return false, "", errNoCluster
	}
	caller, err := sts.NewFromConfig(a.config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return false, "", err
	}
	name := a.name("access")
	trust := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",`+
		`"Principal":{"AWS":"arn:aws:iam::%s:root"}}]}`, aws.ToString(caller.Account))
	made, err := a.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
	if err != nil {
		return false, "", err
	}
	a.later("role "+name, func(ctx context.Context) error {
		_, err := a.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
		return err
	})
	endpoint, err := cluster.Find(ctx, a.eks, a.Cluster)
	if err != nil {
		return false, "", err
	}
	provider := aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(a.config), *made.Role.Arn))
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
	if _, err := a.eks.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{
		ClusterName: &a.Cluster, PrincipalArn: made.Role.Arn, KubernetesGroups: []string{prefix},
	}); err != nil {
		return false, "", err
	}
	a.later("access entry "+name, func(ctx context.Context) error {
		_, err := a.eks.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{
			ClusterName: &a.Cluster, PrincipalArn: made.Role.Arn,
		})
		return err
	})
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
