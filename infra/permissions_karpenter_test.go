package infra

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// grant is a statement of the policies that Karpenter v1.14's guide gives its controller, for the
// cluster prod.
// https://karpenter.sh/v1.14/reference/cloudformation/
type grant struct {
	actions []string
	// resources are parts of ARNs; * is every resource.
	resources []string
	// conditions are operator and key of each condition.
	conditions []string
}

const (
	requestCluster = "StringEquals aws:RequestTag/kubernetes.io/cluster/prod"
	requestEKS     = "StringEquals aws:RequestTag/eks:eks-cluster-name"
	requestPool    = "StringLike aws:RequestTag/karpenter.sh/nodepool"
	hasCluster     = "StringEquals aws:ResourceTag/kubernetes.io/cluster/prod"
	hasPool        = "StringLike aws:ResourceTag/karpenter.sh/nodepool"
)

func karpentersPolicy() []grant {
	launch := []string{"ec2:RunInstances", "ec2:CreateFleet"}
	made := []string{
		":fleet/*", ":instance/*", ":volume/*", ":network-interface/*", ":launch-template/*", ":spot-instances-request/*",
	}
	profile := []string{":instance-profile/*"}
	profileTags := func(source string) []string {
		return []string{
			"StringEquals aws:" + source + "/kubernetes.io/cluster/prod", "StringEquals aws:" + source + "/eks:eks-cluster-name",
			"StringEquals aws:" + source + "/topology.kubernetes.io/region",
			"StringLike aws:" + source + "/karpenter.k8s.aws/ec2nodeclass",
		}
	}
	return []grant{
		{
			launch,
			[]string{
				":image/*", ":snapshot/*", ":security-group/*", ":subnet/*", ":capacity-reservation/*", ":placement-group/*",
			},
			nil,
		},
		{launch, []string{":launch-template/*"}, []string{hasCluster, hasPool}},
		{append(slices.Clone(launch), "ec2:CreateLaunchTemplate"), made, []string{requestCluster, requestEKS, requestPool}},
		{
			[]string{"ec2:CreateTags"}, made, []string{requestCluster, requestEKS, requestPool, "StringEquals ec2:CreateAction"},
		},
		{
			[]string{"ec2:CreateTags"}, []string{":instance/*"},
			[]string{
				hasCluster, hasPool, "StringEqualsIfExists aws:RequestTag/eks:eks-cluster-name",
				"ForAllValues:StringEquals aws:TagKeys",
			},
		},
		{
			[]string{"ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"}, []string{":instance/*", ":launch-template/*"},
			[]string{hasCluster, hasPool},
		},
		{[]string{"iam:PassRole"}, []string{"NodeRole"}, []string{"StringEquals iam:PassedToService"}},
		{[]string{"iam:CreateInstanceProfile"}, profile, profileTags("RequestTag")},
		{[]string{"iam:TagInstanceProfile"}, profile, append(profileTags("RequestTag"), profileTags("ResourceTag")...)},
		{
			[]string{"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"}, profile,
			profileTags("ResourceTag"),
		},
		{[]string{"iam:GetInstanceProfile"}, profile, nil},
		{[]string{"iam:ListInstanceProfiles", "pricing:GetProducts"}, []string{"*"}, nil},
		{[]string{"eks:DescribeCluster"}, []string{":cluster/prod"}, nil},
		{[]string{
			"ec2:DescribeCapacityReservations", "ec2:DescribeImages", "ec2:DescribeInstances", "ec2:DescribeInstanceStatus",
			"ec2:DescribeInstanceTypeOfferings",
			"ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplates", "ec2:DescribePlacementGroups",
			"ec2:DescribeSecurityGroups", "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets",
		}, []string{"*"}, []string{"StringEquals aws:RequestedRegion"}},
		{[]string{"ssm:GetParameter"}, []string{"::parameter/aws/service/*"}, nil},
		{[]string{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}, []string{"Queue"}, nil},
	}
}

// beyondKarpenter returns the actions that Karpenter's policy lacks, because pods do not need them
// and functions do.
func beyondKarpenter() map[string]string {
	const log = "Karpenter's log is the kubelet's"
	const past = "Karpenter has no page that tells of the last day"
	const queue = "functions wake each other, and Lambda polls, by queues of their own"
	return map[string]string{
		"logs:CreateLogStream": log, "logs:PutLogEvents": log, "sqs:SendMessage": queue, "sqs:GetQueueAttributes": queue,
		"logs:StartQuery": past, "logs:GetQueryResults": past,
		"sqs:ChangeMessageVisibility":   "a failed message comes back after seconds",
		"events:PutEvents":              "install tests whether events arrive",
		"lambda:InvokeFunction":         "install has the first catalogue read",
		"ssm:GetParameters":             "the plural of what Karpenter calls one by one",
		"ec2:DescribeAvailabilityZones": "ids of zones, which Karpenter reads off subnets",
		"ec2:DescribeFleets":            "instances of a launch whose answer was lost, which Karpenter launches again",
	}
}

// TestNoStatementIsWiderThanKarpenters compares every action on every resource of every function.
func TestNoStatementIsWiderThanKarpenters(t *testing.T) {
	template, policy, beyond := synthesize(t, "prod"), karpentersPolicy(), beyondKarpenter()
	lacking := map[string]bool{}
	for _, name := range functionNames() {
		_, role := functionRole(t, template, name)
		for _, s := range statements(t, role) {
			for _, action := range s.actions {
				if beyond[action] != "" {
					lacking[action] = true
					continue
				}
				for _, resource := range s.resources {
					if !slices.ContainsFunc(
						policy, func(g grant) bool { return g.covers(action, encoded(t, resource), s.conditions) },
					) {
						t.Errorf(
							"%s, %s: %s on %s where %v: Karpenter's policy does not grant that much", name, s.sid, action,
							encoded(t, resource), s.conditions,
						)
					}
				}
			}
		}
	}
	for _, action := range slices.Sorted(maps.Keys(beyond)) {
		if !lacking[action] {
			t.Errorf("%s is listed as beyond Karpenter's policy, and not granted", action)
		}
		if slices.ContainsFunc(policy, func(g grant) bool { return slices.Contains(g.actions, action) }) {
			t.Errorf("%s is listed as beyond Karpenter's policy, which has it", action)
		}
	}
}

// covers reports whether the grant allows the same action and resource under the same conditions or
// fewer.
func (g grant) covers(action, resource string, conditions map[string]any) bool {
	if !slices.Contains(g.actions, action) || !slices.ContainsFunc(g.resources, func(part string) bool {
		return part == "*" && resource == `"*"` || part != "*" && strings.Contains(resource, part)
	}) {
		return false
	}
	ours := map[string]bool{}
	for operator, keys := range conditions {
		for key := range keys.(map[string]any) {
			ours[fmt.Sprint(operator, " ", key)] = true
		}
	}
	return !slices.ContainsFunc(g.conditions, func(wanted string) bool { return !ours[wanted] })
}

func TestKarpentersPolicyCoversNoMoreThanItSays(t *testing.T) {
	end := karpentersPolicy()[5]
	own := map[string]any{
		"StringEquals": map[string]any{"aws:ResourceTag/kubernetes.io/cluster/prod": "owned"},
		"StringLike":   map[string]any{"aws:ResourceTag/karpenter.sh/nodepool": "*"},
	}
	for _, test := range []struct {
		action, resource string
		conditions       map[string]any
		want             bool
	}{
		{"ec2:TerminateInstances", `"arn:aws:ec2:x:*:instance/*"`, own, true},
		{"ec2:TerminateInstances", `"arn:aws:ec2:x:*:instance/*"`, nil, false},
		{"ec2:TerminateInstances", `"*"`, own, false},
		{"ec2:StopInstances", `"arn:aws:ec2:x:*:instance/*"`, own, false},
	} {
		if got := end.covers(test.action, test.resource, test.conditions); got != test.want {
			t.Errorf("%s on %s where %v: covered %t", test.action, test.resource, test.conditions, got)
		}
	}
}
