package main

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// installTimeout is how long CloudFormation waits for install's answer. It covers two invocations
// that time out, and the minute that Lambda waits between them.
const installTimeout = 12 * time.Minute

// newInstall adds the custom resource that runs install: when CloudFormation creates or deletes the
// stack, and when install's executable, which contains the manifests, changes.
func newInstall(c *cluster, f functions, access access) awscdk.CustomResource {
	properties := map[string]any{
		"ClusterName":  c.name,
		"ManifestHash": c.stack.manifestHash,
	}
	if access.mapRoles != nil {
		properties["MapRoles"] = access.mapRoles
	}
	install := awscdk.NewCustomResource(c.scope, jsii.String("Installation"), &awscdk.CustomResourceProps{
		ResourceType:   jsii.String("Custom::WhittleInstall"),
		ServiceToken:   f.install.lambda.FunctionArn(),
		ServiceTimeout: seconds(installTimeout),
		Properties:     &properties,
	})
	install.Node().AddDependency(access.entries...)
	install.Node().AddDependency(newNetwork(c)...)
	return install
}
