package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseks"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// access holds the means by which functions and nodes enter the cluster.
type access struct {
	entries []constructs.IDependable
	// mapRoles holds the lines that a person adds to the ConfigMap aws-auth. With entries it is
	// nil.
	mapRoles *string
}

// members returns the functions with a Kubernetes group whittle:NAME, to which install binds a role.
// The ticker never calls the cluster.
func (f functions) members() []function {
	return []function{f.provision, f.interrupt, f.lifecycle, f.disrupt, f.watch, f.catalog, f.console}
}

// groupsOf returns the function's Kubernetes groups. The second and further ones have the rights
// that the settings binding, podDeletionCost, capacityBuffers and provisioningRequests need.
func groupsOf(c *cluster, f function) []string {
	groups := []string{"whittle:" + f.name}
	if f.name == "lifecycle" && c.configuration.binding != bindByScheduler {
		groups = append(groups, "whittle:binding")
	}
	if f.name == "disrupt" && c.configuration.podDeletionCost {
		groups = append(groups, "whittle:pod-deletion-cost")
	}
	for _, setting := range []struct {
		on    bool
		group string
	}{
		{c.configuration.capacityBuffers, "whittle:capacity-buffers"},
		{c.configuration.provisioningRequests, "whittle:provisioning-requests"},
	} {
		if setting.on && (f.name == "provision" || f.name == "disrupt") {
			groups = append(groups, setting.group)
		}
		if setting.on && f.name == "provision" {
			groups = append(groups, setting.group+"-status")
		}
	}
	return groups
}

// newAccess adds access entries, or outputs the lines for aws-auth in their place.
func newAccess(c *cluster, f functions, nodes nodeRoles) access {
	if c.configuration.authenticationMode == modeConfigMap {
		lines := mapRoles(c, f, nodes)
		scope := constructs.NewConstruct(c.scope, jsii.String("Access"))
		awscdk.NewCfnOutput(scope, jsii.String("MapRoles"), &awscdk.CfnOutputProps{
			Description: jsii.String("Cluster " + c.name + ": the lines for mapRoles in the ConfigMap kube-system/aws-auth"),
			Value:       lines,
		})
		return access{mapRoles: lines}
	}
	return access{entries: newAccessEntries(c, f, nodes)}
}

// newAccessEntries adds an entry for each function that calls the cluster, and for each node role
// that the stack makes. An existing node role has its entry already. The cluster's authentication
// mode must be API or API_AND_CONFIG_MAP. Otherwise CloudFormation reports it and rolls back.
func newAccessEntries(c *cluster, f functions, nodes nodeRoles) []constructs.IDependable {
	scope := constructs.NewConstruct(c.scope, jsii.String("Access"))
	entry := func(id string, role awsiam.IRole, p awseks.CfnAccessEntryProps) awseks.CfnAccessEntry {
		p.ClusterName = jsii.String(c.name)
		p.PrincipalArn = role.RoleArn()
		return awseks.NewCfnAccessEntry(scope, jsii.String(id), &p)
	}
	var entries []constructs.IDependable
	for _, function := range f.members() {
		id := strings.ToUpper(function.name[:1]) + function.name[1:]
		entries = append(entries, entry(id, function.role, awseks.CfnAccessEntryProps{
			Type:             jsii.String("STANDARD"),
			KubernetesGroups: jsii.Strings(groupsOf(c, function)...),
		}))
	}
	entries = append(entries, entry("Install", f.install.role, awseks.CfnAccessEntryProps{
		Type: jsii.String("STANDARD"),
		AccessPolicies: []any{&awseks.CfnAccessEntry_AccessPolicyProperty{
			PolicyArn:   arn("eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"),
			AccessScope: &awseks.CfnAccessEntry_AccessScopeProperty{Type: jsii.String("cluster")},
		}},
	}))
	addNode := func(id string, role awsiam.IRole, kind string) {
		made := entry(id, role, awseks.CfnAccessEntryProps{Type: jsii.String(kind)})
		keepForNodes(made)
		entries = append(entries, made)
	}
	if c.configuration.nodeRole == "" {
		addNode("Node", nodes.linux, "EC2_LINUX")
	}
	if nodes.windows != nil {
		addNode("WindowsNode", nodes.windows, "EC2_WINDOWS")
	}
	return entries
}

// mapRoles returns the lines of aws-auth's mapRoles that stand for the access entries. The stack's
// roles have no path, because aws-auth does not find roles with one.
// https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html
func mapRoles(c *cluster, f functions, nodes nodeRoles) *string {
	var lines []*string
	add := func(role awsiam.IRole, username string, groups ...string) {
		lines = append(lines, awscdk.Fn_Join(jsii.String(""), &[]*string{
			jsii.String("- rolearn: "), role.RoleArn(),
			jsii.String("\n  username: " + username + "\n  groups: [" + strings.Join(groups, ", ") + "]\n"),
		}))
	}
	for _, function := range f.members() {
		add(function.role, "whittle:"+function.name, groupsOf(c, function)...)
	}
	// Kubernetes lets only those grant rights who have them, so install is administrator.
	add(f.install.role, "whittle:install", "system:masters")
	const node = "system:node:{{EC2PrivateDNSName}}"
	if c.configuration.nodeRole == "" {
		add(nodes.linux, node, "system:bootstrappers", "system:nodes")
	}
	if nodes.windows != nil {
		add(nodes.windows, node, "system:bootstrappers", "system:nodes", "eks:kube-proxy-windows")
	}
	return awscdk.Fn_Join(jsii.String(""), &lines)
}
