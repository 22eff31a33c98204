package main

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// wildcards are the resources with a * in the functions' rights, and why each can be no narrower. The template carries the
// reasons, and the check by cdk-nag takes no others.
func wildcards() map[string]string {
	const launched = "what a launch makes has no id yet: the request must give it the cluster's tags"
	const chosen = "the user's classes choose them by tags and ids that the stack cannot know, and another account may share them"
	return map[string]string{
		"*": "the calls take no resource: EC2's are bound to the region, and IAM's list and the price list tell of nothing that is not the account's or public",
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:instance/*":               "ids come with launches: the cluster's tags bound it, on what is there and on what is made",
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:launch-template/*":        "ids come with launches: the cluster's tags bound it, on what is there and on what is made",
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:fleet/*":                  launched,
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:volume/*":                 launched,
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:network-interface/*":      launched,
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:spot-instances-request/*": launched,
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:subnet/*":                 chosen,
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:security-group/*":         chosen,
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:capacity-reservation/*":   chosen,
		"arn:${AWS::Partition}:ec2:${AWS::Region}:*:placement-group/*":        chosen,
		"arn:${AWS::Partition}:ec2:${AWS::Region}::image/*":                   chosen,
		"arn:${AWS::Partition}:ec2:${AWS::Region}::snapshot/*":                chosen,
		"arn:${AWS::Partition}:iam::${AWS::AccountId}:instance-profile/*":     "names come with the user's classes: the cluster's tags bound it",
		"arn:${AWS::Partition}:ssm:${AWS::Region}::parameter/aws/service/*":   "AWS's own public parameters, by which it names its images",
		"arn:${AWS::Partition}:ec2:${AWS::Region}:${AWS::AccountId}:*/*":      "Lambda wants its deletion of network interfaces allowed on all; the function's own code is denied it",
	}
}

// managedPolicies says why the nodes' roles have AWS's own policies.
const managedPolicies = "what EKS asks of every node's role, and keeps up to date itself"

// acknowledgment is how cdk-nag writes that a finding is known, in a resource's metadata.
type acknowledgment struct {
	ID        string   `json:"id"`
	Reason    string   `json:"reason"`
	AppliesTo []string `json:"applies_to"`
}

// acknowledge notes a rule's findings of a role as known.
func acknowledge(role awsiam.Role, known []acknowledgment) {
	if len(known) > 0 {
		role.Node().DefaultChild().(awsiam.CfnRole).AddMetadata(jsii.String("cdk_nag"), map[string]any{"rules_to_suppress": known})
	}
}

// acknowledgeWildcards does so for every wildcard in a function's statements that has a reason.
func acknowledgeWildcards(role awsiam.Role, statements []awsiam.PolicyStatement) {
	var known []acknowledgment
	reasons := wildcards()
	for _, statement := range statements {
		for _, resource := range *statement.Resources() {
			name := pattern(awscdk.Stack_Of(role).Resolve(resource))
			if reason := reasons[name]; reason != "" {
				known = append(known, acknowledgment{ID: "AwsSolutions-IAM5", Reason: reason, AppliesTo: []string{finding("Resource", name)}})
				delete(reasons, name) // once is enough
			}
		}
	}
	acknowledge(role, known)
}

// pattern is a resource as it was written: text, or the text of a Fn::Sub.
func pattern(resolved any) string {
	switch value := resolved.(type) {
	case string:
		return value
	case map[string]any:
		written, _ := value["Fn::Sub"].(string)
		return written
	}
	return ""
}

// finding is how cdk-nag names what it has found.
func finding(kind, name string) string {
	return kind + "::" + strings.NewReplacer("${", "<", "}", ">").Replace(name)
}
