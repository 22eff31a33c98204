package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// stackName is the name of the one CloudFormation stack.
const stackName = "Whittle"

// newStack adds the stack, with a construct for each cluster. The same template serves every
// account and region.
func newStack(scope constructs.Construct, configuration configuration) awscdk.Stack {
	stack := awscdk.NewStack(scope, jsii.String(stackName), &awscdk.StackProps{
		StackName:   jsii.String(stackName),
		Description: jsii.String("Whittle: gives EKS clusters the nodes that their pods need"),
		// The CDK command line checks the bootstrap version itself before it uploads the functions.
		Synthesizer: awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{
			GenerateBootstrapVersionRule: jsii.Bool(false),
		}),
	})
	for key, value := range configuration.tags {
		awscdk.Tags_Of(stack).Add(&key, &value, nil)
	}
	for _, cluster := range configuration.clusters {
		newCluster(stack, configuration, cluster)
	}
	return stack
}
