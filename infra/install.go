package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// installTimeout is how long CloudFormation waits for install's answer. It covers two invocations
// that time out, and the minute that Lambda waits between them.
const installTimeout = 12 * time.Minute

// installSettings returns what install must know to accept the cluster.
func installSettings(c *cluster) map[string]*string {
	settings := map[string]*string{"ADMISSION": jsii.String(c.configuration.admission)}
	if c.configuration.dryRun {
		// DRY_RUN would keep install from writing what the other functions need to plan.
		settings["FUNCTIONS_DRY_RUN"] = jsii.String("true")
	}
	if len(c.configuration.subnets) > 0 {
		settings["FUNCTIONS_IN_VPC"] = jsii.String("true")
	}
	if c.configuration.zonalShift {
		settings["ZONAL_SHIFT_CLUSTER_ARN"] = shiftedCluster(c)
	}
	for name, value := range map[string]*string{
		"FREEZE_ALARMS": freezeAlarmsOf(c), "FREEZE_TAGGED_ALARMS": taggedAlarmsFreeze(c),
	} {
		if *value != "" {
			settings[name] = value
		}
	}
	if c.configuration.allowAutoMode {
		settings["ALLOW_AUTO_MODE"] = jsii.String("true")
	}
	return settings
}

// newInstall adds the custom resource that runs install: when CloudFormation creates or deletes the
// stack, and when a setting of install or its executable, which contains the manifests, changes.
func newInstall(c *cluster, f functions, access access) awscdk.CustomResource {
	properties := map[string]any{
		"ClusterName":  c.name,
		"ManifestHash": c.stack.manifestHash,
	}
	// These are in install's environment. They stand here too, so that a change runs install again.
	for key, value := range installSettings(c) {
		properties[key] = *value
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
