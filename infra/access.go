package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awseks"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// newAccessEntries lets the functions and the nodes into the cluster. A function comes as a member of the group
// whittle:<function>, to which the install function binds a ClusterRole; the ticker never speaks to the cluster and has no
// entry. The cluster's authentication mode must be API or API_AND_CONFIG_MAP, else CloudFormation says so and rolls back.
func newAccessEntries(c *cluster, f functions, nodes awsiam.Role) []constructs.IDependable {
	scope := constructs.NewConstruct(c.scope, jsii.String("Access"))
	entry := func(id string, role awsiam.Role, p awseks.CfnAccessEntryProps) constructs.IDependable {
		p.ClusterName = jsii.String(c.name)
		p.PrincipalArn = role.RoleArn()
		return awseks.NewCfnAccessEntry(scope, jsii.String(id), &p)
	}
	group := func(id string, f function) constructs.IDependable {
		return entry(id, f.role, awseks.CfnAccessEntryProps{
			Type:             jsii.String("STANDARD"),
			KubernetesGroups: jsii.Strings("whittle:" + f.name),
		})
	}
	return []constructs.IDependable{
		group("Provision", f.provision),
		group("Interrupt", f.interrupt),
		group("Lifecycle", f.lifecycle),
		group("Disrupt", f.disrupt),
		group("Catalog", f.catalog),
		group("Console", f.console),
		entry("Install", f.install.role, awseks.CfnAccessEntryProps{
			Type: jsii.String("STANDARD"),
			AccessPolicies: []any{&awseks.CfnAccessEntry_AccessPolicyProperty{
				PolicyArn:   arn("eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"),
				AccessScope: &awseks.CfnAccessEntry_AccessScopeProperty{Type: jsii.String("cluster")},
			}},
		}),
		entry("Node", nodes, awseks.CfnAccessEntryProps{Type: jsii.String("EC2_LINUX")}),
	}
}
