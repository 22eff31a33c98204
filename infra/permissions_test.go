package infra

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
)

// statement is a policy statement with lists in place of single values.
type statement struct {
	sid, effect string
	actions     []string
	resources   []any
	conditions  map[string]any
}

// statements returns the statements of a role's inline policies.
func statements(t *testing.T, role resource) []statement {
	t.Helper()
	if role.Properties["ManagedPolicyArns"] != nil {
		t.Errorf(
			"a role has managed policies, whose rights the template does not show: %v", role.Properties["ManagedPolicyArns"],
		)
	}
	var found []statement
	for _, policy := range role.Properties["Policies"].([]any) {
		document := policy.(map[string]any)["PolicyDocument"].(map[string]any)
		for _, item := range document["Statement"].([]any) {
			s := item.(map[string]any)
			one := statement{effect: s["Effect"].(string), resources: many(s["Resource"])}
			one.sid, _ = s["Sid"].(string)
			one.conditions, _ = s["Condition"].(map[string]any)
			for _, action := range many(s["Action"]) {
				one.actions = append(one.actions, action.(string))
			}
			found = append(found, one)
		}
	}
	return found
}

func many(value any) []any {
	if given, ok := value.([]any); ok {
		return given
	}
	return []any{value}
}

// functionRole returns the role of a function of the cluster prod.
func functionRole(t *testing.T, in template, name string) (string, resource) {
	t.Helper()
	_, f := in.function(t, "whittle-prod-"+name)
	id := references(f.Properties["Role"])[0]
	return id, in.Resources[id]
}

func TestEachFunctionHasItsOwnRole(t *testing.T) {
	got := synthesize(t, "prod")
	owner := map[string]string{}
	for id, f := range got.ofType("AWS::Lambda::Function") {
		role := references(f.Properties["Role"])[0]
		if other, ok := owner[role]; ok {
			t.Errorf("%s and %s share the role %s", id, other, role)
		}
		owner[role] = id
	}
	if len(owner) != len(functionNames()) {
		t.Errorf("%d functions have a role, want %d", len(owner), len(functionNames()))
	}
}

// TestActions lists the rights of each function. A new call needs a new line here.
func TestActions(t *testing.T) {
	log := []string{"logs:CreateLogStream", "logs:PutLogEvents"}
	receive := []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}
	want := map[string][]string{
		"ticker": slices.Concat(log, []string{"sqs:SendMessage"}),
		"provision": slices.Concat(log, receive, []string{
			"sqs:SendMessage", "eks:DescribeCluster", "ssm:GetParameters",
			"ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateTags", "ec2:CreateLaunchTemplate",
			"ec2:DescribeInstances", "ec2:DescribeSubnets", "ec2:DescribeSecurityGroups", "ec2:DescribeImages",
			"ec2:DescribeFleets", "ec2:DescribeCapacityReservations", "ec2:DescribePlacementGroups",
			"iam:PassRole", "iam:GetInstanceProfile", "iam:CreateInstanceProfile", "iam:TagInstanceProfile",
			"iam:AddRoleToInstanceProfile", "lambda:InvokeFunction",
		}),
		"interrupt": slices.Concat(
			log, receive, []string{"sqs:SendMessage", "sqs:ChangeMessageVisibility", "eks:DescribeCluster"},
			[]string{"ec2:DescribeInstanceStatus", "ec2:DescribeCapacityReservations"},
		),
		"lifecycle": slices.Concat(log, receive, []string{
			"sqs:SendMessage", "eks:DescribeCluster", "ssm:GetParameters",
			"ec2:DescribeInstances", "ec2:DescribeInstanceStatus", "ec2:TerminateInstances", "ec2:CreateTags",
			"ec2:DescribeSubnets", "ec2:DescribeSecurityGroups",
			"ec2:DescribeImages", "ec2:DescribeCapacityReservations", "ec2:DescribePlacementGroups",
			"ec2:DescribeLaunchTemplates", "ec2:DeleteLaunchTemplate",
			"iam:ListInstanceProfiles", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile",
			"iam:PassRole", "iam:GetInstanceProfile", "iam:CreateInstanceProfile", "iam:TagInstanceProfile",
			"iam:AddRoleToInstanceProfile", "lambda:InvokeFunction",
		}),
		"watch":   slices.Concat(log, []string{"sqs:SendMessage", "eks:DescribeCluster", "lambda:InvokeFunction"}),
		"disrupt": slices.Concat(log, receive, []string{"sqs:SendMessage", "eks:DescribeCluster"}),
		"catalog": slices.Concat(log, []string{
			"eks:DescribeCluster", "pricing:GetProducts",
			"ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeAvailabilityZones",
			"ec2:DescribeSpotPriceHistory",
		}),
		"install": slices.Concat(log, []string{
			"eks:DescribeCluster", "events:PutEvents", "lambda:InvokeFunction", "sqs:DeleteMessage", "sqs:ReceiveMessage",
		}),
		"console": slices.Concat(log, []string{"eks:DescribeCluster", "logs:GetQueryResults", "logs:StartQuery"}),
	}
	template := synthesize(t, "prod")
	for _, name := range functionNames() {
		t.Run(name, func(t *testing.T) {
			_, role := functionRole(t, template, name)
			set := map[string]bool{}
			for _, s := range statements(t, role) {
				if s.effect != "Allow" {
					t.Errorf("%s: effect %s", s.sid, s.effect)
				}
				for _, action := range s.actions {
					set[action] = true
				}
			}
			got := slices.Sorted(maps.Keys(set))
			slices.Sort(want[name])
			if !slices.Equal(got, want[name]) {
				t.Errorf("actions %v\nwant %v", got, want[name])
			}
		})
	}
}

// takesNoResource returns the actions for which AWS names no resource type, so that a policy must
// say *. The value is the condition that limits the action, if it takes one.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsidentityandaccessmanagementiam.html
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_awspricelist.html
func takesNoResource() map[string]string {
	const region = "aws:RequestedRegion"
	return map[string]string{
		"ec2:DescribeAvailabilityZones": region, "ec2:DescribeCapacityReservations": region, "ec2:DescribeImages": region,
		"ec2:DescribeFleets": region, "ec2:DescribeInstances": region,
		"ec2:DescribeInstanceStatus": region, "ec2:DescribeInstanceTypeOfferings": region,
		"ec2:DescribeInstanceTypes": region, "ec2:DescribeLaunchTemplates": region, "ec2:DescribeNetworkInterfaces": region,
		"ec2:DescribePlacementGroups": region, "ec2:DescribeSecurityGroups": region, "ec2:DescribeSpotPriceHistory": region,
		"ec2:DescribeSubnets": region,
		// Karpenter's policy also has it on *.
		"iam:ListInstanceProfiles": "",
		// The price list is the same for all accounts, and answers in a few regions only.
		"pricing:GetProducts": "",
	}
}

func TestNoStatementIsWiderThanItsService(t *testing.T) {
	unscoped := func(action string) (condition string, ok bool) {
		bound, ok := takesNoResource()[action]
		return bound, ok
	}
	template := synthesize(t, "prod")
	for id, role := range template.ofType("AWS::IAM::Role") {
		if strings.HasPrefix(id, "prodNode") {
			continue // the nodes' rights are EKS's managed policies
		}
		for _, s := range statements(t, role) {
			for _, action := range s.actions {
				if strings.Contains(action, "*") {
					t.Errorf("%s, %s: action %s is a wildcard", id, s.sid, action)
				}
			}
			if !slices.Contains(s.resources, any("*")) {
				continue
			}
			encoded, err := json.Marshal(s.conditions)
			if err != nil {
				t.Fatal(err)
			}
			for _, action := range s.actions {
				condition, ok := unscoped(action)
				if !ok {
					t.Errorf("%s, %s: %s takes a resource, but is allowed on every one", id, s.sid, action)
				}
				if !strings.Contains(string(encoded), condition) {
					t.Errorf("%s, %s: %s is not bound by %s", id, s.sid, action, condition)
				}
			}
		}
	}
}

func TestConditions(t *testing.T) {
	region := map[string]any{"Ref": "AWS::Region"}
	profile := func(sources ...string) map[string]any {
		equal, like := map[string]any{}, map[string]any{}
		for _, source := range sources {
			equal[source+"kubernetes.io/cluster/prod"] = "owned"
			equal[source+"eks:eks-cluster-name"] = "prod"
			equal[source+"topology.kubernetes.io/region"] = region
			like[source+"karpenter.k8s.aws/ec2nodeclass"] = "*"
		}
		return map[string]any{"StringEquals": equal, "StringLike": like}
	}
	own := map[string]any{
		"StringEquals": map[string]any{"aws:ResourceTag/kubernetes.io/cluster/prod": "owned"},
		"StringLike":   map[string]any{"aws:ResourceTag/karpenter.sh/nodepool": "*"},
	}
	request := map[string]any{
		"StringEquals": map[string]any{
			"aws:RequestTag/kubernetes.io/cluster/prod": "owned", "aws:RequestTag/eks:eks-cluster-name": "prod",
		},
		"StringLike": map[string]any{"aws:RequestTag/karpenter.sh/nodepool": "*"},
	}
	tagged := map[string]any{
		"StringEquals": map[string]any{
			"aws:RequestTag/kubernetes.io/cluster/prod": "owned", "aws:RequestTag/eks:eks-cluster-name": "prod",
			"ec2:CreateAction": []any{"CreateFleet", "RunInstances", "CreateLaunchTemplate"},
		},
		"StringLike": map[string]any{"aws:RequestTag/karpenter.sh/nodepool": "*"},
	}
	template := synthesize(t, "prod")
	for _, test := range []struct {
		function, action, resource string
		want                       []map[string]any // any one of them opens the action, no other
	}{
		{"lifecycle", "ec2:TerminateInstances", ":instance/*", []map[string]any{own}},
		{"provision", "ec2:CreateFleet", ":fleet/*", []map[string]any{request}},
		{"provision", "ec2:RunInstances", ":instance/*", []map[string]any{request}},
		{"provision", "ec2:CreateLaunchTemplate", ":launch-template/*", []map[string]any{request}},
		{"provision", "ec2:RunInstances", ":launch-template/*", []map[string]any{own, request}},
		{"provision", "ec2:RunInstances", ":subnet/*", []map[string]any{nil}},
		{"provision", "ec2:CreateTags", ":instance/*", []map[string]any{tagged}},
		{"lifecycle", "ec2:CreateTags", ":instance/*", []map[string]any{{
			"StringEquals":         own["StringEquals"],
			"StringLike":           own["StringLike"],
			"StringEqualsIfExists": map[string]any{"aws:RequestTag/eks:eks-cluster-name": "prod"},
			"ForAllValues:StringEquals": map[string]any{
				"aws:TagKeys": []any{"eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"},
			},
		}}},
		{"provision", "iam:PassRole", "prodNodeRole", []map[string]any{{
			"StringEquals": map[string]any{"iam:PassedToService": []any{"ec2.amazonaws.com", "ec2.amazonaws.com.cn"}},
		}}},
		{"provision", "iam:CreateInstanceProfile", ":instance-profile/*", []map[string]any{profile("aws:RequestTag/")}},
		{
			"provision", "iam:TagInstanceProfile", ":instance-profile/*",
			[]map[string]any{profile("aws:RequestTag/", "aws:ResourceTag/")},
		},
		{"provision", "iam:AddRoleToInstanceProfile", ":instance-profile/*", []map[string]any{profile("aws:ResourceTag/")}},
		{"lifecycle", "iam:DeleteInstanceProfile", ":instance-profile/*", []map[string]any{profile("aws:ResourceTag/")}},
		{"lifecycle", "ec2:DeleteLaunchTemplate", ":launch-template/*", []map[string]any{own}},
		{"catalog", "ec2:DescribeInstanceTypes", "*", []map[string]any{{
			"StringEquals": map[string]any{"aws:RequestedRegion": region},
		}}},
	} {
		t.Run(test.function+" "+test.action+" "+test.resource, func(t *testing.T) {
			_, role := functionRole(t, template, test.function)
			var got []map[string]any
			for _, s := range statements(t, role) {
				if slices.Contains(s.actions, test.action) && namesResource(t, s.resources, test.resource) {
					got = append(got, s.conditions)
				}
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("conditions %v\nwant %v", got, test.want)
			}
		})
	}
}

// namesResource reports whether one of a statement's resources contains part.
func namesResource(t *testing.T, resources []any, part string) bool {
	t.Helper()
	for _, r := range resources {
		encoded, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(encoded), part) {
			return true
		}
	}
	return false
}

func TestPassRoleNamesTheNodeRoleOnly(t *testing.T) {
	template := synthesize(t, "prod")
	_, role := functionRole(t, template, "provision")
	for _, s := range statements(t, role) {
		if !slices.Contains(s.actions, "iam:PassRole") {
			continue
		}
		ids := references(any(s.resources))
		if len(s.resources) != 1 || len(ids) != 1 || !strings.HasPrefix(ids[0], "prodNodeRole") {
			t.Errorf("iam:PassRole on %v", s.resources)
		}
	}
}

// TestRolesFitIAM checks the longest possible cluster name. A role's inline policies may hold
// 10,240 characters in all, without white space.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func TestRolesFitIAM(t *testing.T) {
	template := synthesize(t, strings.Repeat("n", cfntemplate.MaximumCluster))
	for id, role := range template.ofType("AWS::IAM::Role") {
		if role.Properties["Policies"] == nil {
			continue
		}
		size := 0
		for _, policy := range role.Properties["Policies"].([]any) {
			encoded, err := json.Marshal(longest(policy.(map[string]any)["PolicyDocument"]))
			if err != nil {
				t.Fatal(err)
			}
			size += len(encoded)
		}
		if size > 10_240 {
			t.Errorf("%s has policies of %d characters, IAM allows 10240", id, size)
		}
	}
}

// longest fills a policy with the longest names that CloudFormation may insert: a region of 14
// characters, a partition of 10, and names of 64 in ARNs.
func longest(value any) any {
	switch v := value.(type) {
	case []any:
		var items []any
		for _, item := range v {
			items = append(items, longest(item))
		}
		return items
	case map[string]any:
		if text, ok := v["Fn::Sub"].(string); ok {
			return strings.NewReplacer(
				"${AWS::Partition}", "aws-us-gov", "${AWS::Region}", "ap-southeast-2", "${AWS::AccountId}", "123456789012",
			).Replace(text)
		}
		if v["Ref"] == "AWS::Region" {
			return "ap-southeast-2"
		}
		if v["Fn::GetAtt"] != nil {
			return "arn:aws-us-gov:logs:ap-southeast-2:123456789012:log-group:/aws/lambda/" + strings.Repeat("x", 64) + ":*"
		}
		items := map[string]any{}
		for key, item := range v {
			items[key] = longest(item)
		}
		return items
	}
	return value
}
