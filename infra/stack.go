package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
)

// stackName is the name of a cluster's CloudFormation stack.
func stackName(cluster string) string { return cfntemplate.NamesOf(cluster).Stack }

// newStacks adds a stack for each cluster. They share nothing, so that a deployment or a removal touches
// the clusters that it names.
func newStacks(scope constructs.Construct, configuration configuration) ([]awscdk.Stack, error) {
	var stacks []awscdk.Stack
	for i, cluster := range configuration.clusters {
		stack := newStack(scope, configuration.tags, cluster)
		if _, err := newWhittle(stack, cluster.name, configuration.installations[i]); err != nil {
			return nil, err
		}
		stacks = append(stacks, stack)
	}
	return stacks, nil
}

// newStack adds the stack of a cluster. The same template serves every account and region.
func newStack(scope constructs.Construct, tags map[string]string, cluster clusterConfiguration) awscdk.Stack {
	name := jsii.String(stackName(cluster.name))
	purpose := "Whittle: gives the EKS cluster " + cluster.name + " the nodes that its pods need"
	stack := awscdk.NewStack(scope, name, &awscdk.StackProps{
		StackName:             name,
		Description:           jsii.String(purpose),
		TerminationProtection: jsii.Bool(cluster.terminationProtection),
		// The CDK command line checks the bootstrap version itself before it uploads the functions.
		Synthesizer: awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{
			GenerateBootstrapVersionRule: jsii.Bool(false),
		}),
	})
	for key, value := range tags {
		awscdk.Tags_Of(stack).Add(&key, &value, nil)
	}
	return stack
}
