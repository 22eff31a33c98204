package main

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// cluster is the installation for one EKS cluster. Two clusters share nothing: neither queue nor role nor function.
type cluster struct {
	scope constructs.Construct
	// name is the EKS cluster's.
	name string
	// prefix begins each physical name.
	prefix        string
	stack         configuration
	configuration clusterConfiguration
}

// newCluster adds everything that one cluster needs to scope.
//
// The install function writes the cluster's custom resource definitions and roles, with the rights that its access entry
// gives. What wakes the other functions waits for it, so that none of them meets a cluster that does not know it yet; and
// since CloudFormation deletes in the reverse order, none is woken when the rights are gone.
func newCluster(scope constructs.Construct, stack configuration, configuration clusterConfiguration) {
	c := &cluster{
		scope:         constructs.NewConstruct(scope, jsii.String(configuration.name)),
		name:          configuration.name,
		prefix:        physicalPrefix(configuration.name),
		stack:         stack,
		configuration: configuration,
	}
	if boundary := configuration.permissionBoundary; boundary != "" {
		awsiam.PermissionsBoundary_Of(c.scope).Apply(awsiam.ManagedPolicy_FromManagedPolicyArn(c.scope, jsii.String("Boundary"), &boundary))
	}
	nodes := newNodeRoles(c)
	queues := newQueues(c)
	functions := newFunctions(c, queues, nodes)
	access := newAccess(c, functions, nodes)
	install := newInstall(c, functions, access)
	newRules(c, queues.interrupt, install)
	newSchedules(c, functions, install)
	newAlarms(c, queues.dead, functions)
	newDashboard(c, queues.dead, functions)
}

// maximumPrefix leaves room for the longest function's name, -interrupt, within Lambda's 64 characters.
const maximumPrefix = 64 - len("-interrupt")

// physicalPrefix gives the beginning of a cluster's physical names. EKS allows longer names than Lambda: a long one is cut,
// and a hash keeps two long names with the same beginning apart.
func physicalPrefix(name string) string { return cut("whittle-"+name, name, maximumPrefix) }

// cut shortens a prefix to a length, and keeps it apart from other names' by a hash.
func cut(prefix, name string, maximum int) string {
	if len(prefix) <= maximum {
		return prefix
	}
	hash := sha256.Sum256([]byte(name))
	suffix := "-" + hex.EncodeToString(hash[:4])
	return prefix[:maximum-len(suffix)] + suffix
}

// physicalName gives the name under which AWS knows a function, queue or schedule of the cluster.
func (c *cluster) physicalName(part string) *string {
	return jsii.String(c.prefix + "-" + part)
}

// maximumRolePrefix leaves room for the longest role's name, -node-windows, and the longest region's within IAM's 64 characters.
const maximumRolePrefix = 64 - len("-node-windows") - len("-ap-southeast-2")

// roleName gives the name of a role where people have to write it down, in the ConfigMap aws-auth: it must be the same in the
// next deployment. Elsewhere CloudFormation chooses one. IAM's names are one space for all regions.
func (c *cluster) roleName(part string) *string {
	if c.configuration.authenticationMode != modeConfigMap {
		return nil
	}
	return awscdk.Fn_Sub(jsii.String(cut("whittle-"+c.name, c.name, maximumRolePrefix)+"-"+part+"-${AWS::Region}"), nil)
}
