package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
)

// cluster is the installation for one EKS cluster. Two clusters share no queue, role or function.
type cluster struct {
	scope constructs.Construct
	// name is the name of the EKS cluster.
	name string
	// prefix is the beginning of each physical name.
	prefix        string
	stack         configuration
	configuration clusterConfiguration
	// recursionSetting is whether Lambda lets functions recur by a setting, in the stack's region.
	recursionSetting awscdk.CfnCondition
}

// newCluster adds the installation for one cluster to its construct.
//
// The install function writes the cluster's custom resource definitions and roles, with the rights
// of its access entry. The rules and schedules depend on install: no function wakes before the
// cluster knows it. CloudFormation deletes in the reverse order, so none wakes after its rights are
// gone.
func newCluster(made *whittle, stack configuration, configuration clusterConfiguration) {
	c := &cluster{
		scope:         made,
		name:          configuration.name,
		prefix:        physicalPrefix(configuration.name),
		stack:         stack,
		configuration: configuration,
	}
	c.recursionSetting = newRecursionSetting(c.scope)
	if boundary := configuration.permissionBoundary; boundary != "" {
		awsiam.PermissionsBoundary_Of(c.scope).Apply(
			awsiam.ManagedPolicy_FromManagedPolicyArn(c.scope, jsii.String("Boundary"), &boundary),
		)
	}
	nodes := newNodeRoles(c)
	queues := newQueues(c)
	functions := newFunctions(c, queues, nodes)
	access := newAccess(c, functions, nodes)
	install := newInstall(c, functions, access)
	rules := newRules(c, queues, install)
	schedules := newSchedules(c, queues, functions, install)
	closeQueues(c, queues, functions, schedules)
	newDelivery(c, queues, functions, rules)
	alarms := newAlarms(c, queues, functions)
	newQueries(c, functions)
	newDashboard(c, queues, functions, alarms)
	newNextSteps(c)
	made.cluster, made.nodes, made.access, made.alarms = c, nodes, access, alarms
}

// physicalPrefix returns the beginning of a cluster's physical names.
func physicalPrefix(name string) string { return cfntemplate.NamesOf(name).Prefix }

// physicalName returns the AWS name of the cluster's function, queue or schedule.
func (c *cluster) physicalName(part string) *string {
	return jsii.String(c.prefix + "-" + part)
}

// roleName returns the name of a role that people write into the ConfigMap aws-auth: it must stay
// the same in the next deployment. In other modes it is nil, and CloudFormation chooses a name. IAM
// has one name space for all regions, so the name ends in the region.
func (c *cluster) roleName(part string) *string {
	if c.configuration.authenticationMode != modeConfigMap {
		return nil
	}
	return awscdk.Fn_Sub(jsii.String(cfntemplate.NamesOf(c.name).RolePrefix+"-"+part+"-${AWS::Region}"), nil)
}
