package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// wildcards returns the resources with a * in the functions' rights, and the reason for each. The
// template carries the reasons. The check with cdk-nag accepts no other wildcard.
func wildcards() map[string]string {
	const launched = "new resources have no id before the launch: the request must give them the cluster's tags"
	const tagged = "EC2 chooses the ids at launch: only the cluster's tags limit existing and new ones"
	const chosen = "the user's classes choose them by tags and ids that the stack cannot know, and another account " +
		"may share them"
	const (
		ec2  = "arn:${AWS::Partition}:ec2:${AWS::Region}:"
		noID = "the calls take no resource: a condition limits EC2's to the region, and the lists are the account's or " +
			"public"
		profiles = "names come from the user's classes: the cluster's tags limit them"
		images   = "AWS publishes its images under these public parameters"
		network  = "Lambda requires the right to delete any network interface; the function's own code is denied it"
	)
	return map[string]string{
		"*":                                noID,
		ec2 + "*:instance/*":               tagged,
		ec2 + "*:launch-template/*":        tagged,
		ec2 + "*:fleet/*":                  launched,
		ec2 + "*:volume/*":                 launched,
		ec2 + "*:network-interface/*":      launched,
		ec2 + "*:spot-instances-request/*": launched,
		ec2 + "*:subnet/*":                 chosen,
		ec2 + "*:security-group/*":         chosen,
		ec2 + "*:capacity-reservation/*":   chosen,
		ec2 + "*:placement-group/*":        chosen,
		ec2 + ":image/*":                   chosen,
		ec2 + ":snapshot/*":                chosen,
		ec2 + "${AWS::AccountId}:*/*":      network,

		ec2 + "${AWS::AccountId}:network-interface/*":                       "the VPC CNI chooses the interfaces of its node",
		"arn:${AWS::Partition}:iam::${AWS::AccountId}:instance-profile/*":   profiles,
		"arn:${AWS::Partition}:ssm:${AWS::Region}::parameter/aws/service/*": images,
	}
}

// managedPolicies is the reason for AWS's own policies in the nodes' roles.
const managedPolicies = "EKS requires these policies for every node role, and AWS keeps them up to date"

// acknowledgment is cdk-nag's form of an accepted finding, in a resource's metadata.
type acknowledgment struct {
	ID        string   `json:"id"`
	Reason    string   `json:"reason"`
	AppliesTo []string `json:"applies_to,omitempty"` // empty where the rule has one finding alone
}

// acknowledge accepts findings about a resource, such as a role.
func acknowledge(resource constructs.Construct, known []acknowledgment) {
	if len(known) > 0 {
		resource.Node().DefaultChild().(awscdk.CfnResource).AddMetadata(
			jsii.String("cdk_nag"), map[string]any{"rules_to_suppress": known},
		)
	}
}

// acknowledgeWildcards accepts every wildcard of a function's statements that has a reason.
func acknowledgeWildcards(role awsiam.Role, statements []awsiam.PolicyStatement) {
	acknowledge(role, knownWildcards(role, statements))
}

// knownWildcards are the wildcards of a role's statements that have a reason.
func knownWildcards(role awsiam.Role, statements []awsiam.PolicyStatement) []acknowledgment {
	var known []acknowledgment
	reasons := wildcards()
	for _, statement := range statements {
		for _, resource := range *statement.Resources() {
			name := pattern(awscdk.Stack_Of(role).Resolve(resource))
			if reason := reasons[name]; reason != "" {
				known = append(
					known, acknowledgment{ID: "AwsSolutions-IAM5", Reason: reason, AppliesTo: []string{finding("Resource", name)}},
				)
				delete(reasons, name) // once is enough
			}
		}
	}
	return known
}

// pattern returns a resource as text: the string itself, or the text of its Fn::Sub.
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

// finding returns cdk-nag's name of a finding.
func finding(kind, name string) string {
	return kind + "::" + strings.NewReplacer("${", "<", "}", ">").Replace(name)
}
