package identity

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// asked lists a call's permissions as "action resource".
func asked(t *testing.T, s *Service, c *wire.Call) []string {
	t.Helper()
	var list []string
	for _, p := range s.permissions(c) {
		list = append(list, p.action+" "+p.resource)
	}
	return list
}

func TestPermissionsOfCalls(t *testing.T) {
	s, err := New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "arn:aws:ec2:us-east-1:123456789012:"
	tests := []struct {
		service, action, method, path, body string
		want                                []string
	}{
		{"sts", "GetCallerIdentity", "POST", "/", "", nil},
		{"ec2", "DescribeInstances", "POST", "/", "", []string{"ec2:DescribeInstances *"}},
		{
			"ec2", "TerminateInstances", "POST", "/", "InstanceId.1=i-1&InstanceId.2=i-2",
			[]string{"ec2:TerminateInstances " + prefix + "instance/i-1", "ec2:TerminateInstances " + prefix + "instance/i-2"},
		},
		{
			"ec2", "DeleteLaunchTemplate", "POST", "/", "LaunchTemplateName=x",
			[]string{"ec2:DeleteLaunchTemplate " + prefix + "launch-template/x"},
		},
		{
			"ec2", "CreateTags", "POST", "/", "ResourceId.1=i-1&ResourceId.2=lt-1&Tag.1.Key=a",
			[]string{"ec2:CreateTags " + prefix + "instance/i-1", "ec2:CreateTags " + prefix + "launch-template/lt-1"},
		},
		{
			"ec2", "CreateLaunchTemplate", "POST", "/",
			"TagSpecification.1.ResourceType=launch-template&TagSpecification.1.Tag.1.Key=a",
			[]string{
				"ec2:CreateLaunchTemplate " + prefix + "launch-template/*", "ec2:CreateTags " + prefix + "launch-template/*",
			},
		},
		{"ec2", "CreateFleet", "POST", "/",
			"LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateId=lt-1&" +
				"LaunchTemplateConfigs.1.Overrides.1.SubnetId=subnet-1" +
				"&LaunchTemplateConfigs.1.Overrides.1.ImageId=ami-1&TagSpecification.1.ResourceType=instance&" +
				"TagSpecification.1.Tag.1.Key=a", []string{
				"ec2:CreateFleet " + prefix + "fleet/*", "ec2:CreateFleet " + prefix + "instance/*",
				"ec2:CreateFleet " + prefix + "launch-template/lt-1", "ec2:CreateFleet " + prefix + "security-group/*",
				"ec2:CreateFleet " + prefix + "subnet/subnet-1", "ec2:CreateFleet arn:aws:ec2:us-east-1::image/ami-1",
				"ec2:CreateTags " + prefix + "instance/*",
				"ec2:RunInstances " + prefix + "instance/*", "ec2:RunInstances " + prefix + "launch-template/lt-1",
				"ec2:RunInstances " + prefix + "security-group/*",
				"ec2:RunInstances " + prefix + "subnet/subnet-1", "ec2:RunInstances arn:aws:ec2:us-east-1::image/ami-1",
			}},
		{
			"sqs", "SendMessageBatch", "POST", "/", `{"QueueUrl":"http://127.0.0.1:1/123456789012/q"}`,
			[]string{"sqs:SendMessage arn:aws:sqs:us-east-1:123456789012:q"},
		},
		{"sqs", "ListQueues", "POST", "/", `{}`, []string{"sqs:ListQueues *"}},
		{
			"ssm", "GetParameter", "POST", "/", `{"Name":"/aws/service/eks/x"}`,
			[]string{"ssm:GetParameter arn:aws:ssm:us-east-1::parameter/aws/service/eks/x"},
		},
		{
			"ssm", "GetParameters", "POST", "/", `{"Names":["/a","b"]}`,
			[]string{
				"ssm:GetParameters arn:aws:ssm:us-east-1:123456789012:parameter/a",
				"ssm:GetParameters arn:aws:ssm:us-east-1:123456789012:parameter/b",
			},
		},
		{"pricing", "GetProducts", "POST", "/", `{}`, []string{"pricing:GetProducts *"}},
		{
			"lambda", "", "POST", "/2015-03-31/functions/catalog/invocations", "",
			[]string{"lambda:InvokeFunction arn:aws:lambda:us-east-1:123456789012:function:catalog"},
		},
		{
			"lambda", "", "POST", "/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:c/invocations", "",
			[]string{"lambda:InvokeFunction arn:aws:lambda:us-east-1:123456789012:function:c"},
		},
		{
			"lambda", "", "DELETE", "/2015-03-31/functions/catalog", "",
			[]string{"lambda:DELETE /2015-03-31/functions/catalog "},
		},
		{
			"arc-zonal-shift", "", "GET", "/managedresources/arn:aws:eks:us-east-1:123456789012:cluster/prod", "",
			[]string{"arc-zonal-shift:GetManagedResource *"},
		},
		{
			"savingsplans", "", "POST", "/DescribeSavingsPlanRates", `{"savingsPlanId":"p"}`,
			[]string{"savingsplans:DescribeSavingsPlanRates arn:aws:savingsplans::123456789012:savingsplan/*"},
		},
		{
			"eks", "", "GET", "/clusters/prod", "",
			[]string{"eks:DescribeCluster arn:aws:eks:us-east-1:123456789012:cluster/prod"},
		},
		{
			"logs", "PutLogEvents", "POST", "/", `{"logGroupName":"/aws/lambda/f","logStreamName":"s"}`,
			[]string{"logs:PutLogEvents arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/f:log-stream:s"},
		},
		{
			"logs", "StartQuery", "POST", "/", `{"logGroupNames":["/aws/lambda/f","/aws/lambda/g"]}`,
			[]string{
				"logs:StartQuery arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/f:*",
				"logs:StartQuery arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/g:*",
			},
		},
		{"logs", "GetQueryResults", "POST", "/", `{"queryId":"q"}`, []string{"logs:GetQueryResults "}},
		{"monitoring", "PutMetricData", "POST", "/", "", []string{"cloudwatch:PutMetricData *"}},
	}
	for _, test := range tests {
		t.Run(test.service+" "+test.action+test.path, func(t *testing.T) {
			c := &wire.Call{
				Service: test.service, Action: test.action, Region: "us-east-1", Body: []byte(test.body),
				HTTP: httptest.NewRequest(test.method, test.path, nil),
			}
			if test.service == "ec2" || test.service == "sts" {
				form, err := url.ParseQuery(test.body)
				if err != nil {
					t.Fatal(err)
				}
				c.Form = form
			}
			got := asked(t, s, c)
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestResourceTagsDecide(t *testing.T) {
	s, role := account(
		t, `{"Effect":"Allow","Action":"ec2:TerminateInstances","Resource":"arn:aws:ec2:*:*:instance/*",`+
			`"Condition":{"StringEquals":{"aws:ResourceTag/Cluster":"prod"}}}`)
	terminate := func(id string) error {
		c := &wire.Call{
			Service: "ec2", Action: "TerminateInstances", Region: "us-east-1",
			HTTP: httptest.NewRequest(http.MethodPost, "/", nil), Form: url.Values{"InstanceId.1": {id}},
			Caller: wire.Caller{RoleARN: role, ARN: "arn:me", AccountID: "123456789012"},
		}
		return s.authorize(t.Context(), c)
	}
	if err := terminate("i-unknown"); err != nil {
		t.Errorf("without anyone who knows tags: %v", err)
	}
	s.SetResourceTags(func(arn string) (map[string]string, bool) {
		return map[string]string{"Cluster": strings.TrimPrefix(arn[strings.LastIndexByte(arn, '/')+1:], "i-")}, true
	})
	if err := terminate("i-prod"); err != nil {
		t.Errorf("an instance of the cluster: %v", err)
	}
	if err := terminate("i-test"); err == nil || !strings.Contains(err.Error(), "UnauthorizedOperation") {
		t.Errorf("another cluster's instance: got %v, want UnauthorizedOperation", err)
	} else if strings.Contains(err.Error(), NoResource) {
		t.Errorf("an instance that is there: %v", err)
	}
	s.SetResourceTags(func(string) (map[string]string, bool) { return nil, false })
	if err := terminate("i-prod"); err == nil || !strings.Contains(err.Error(), NoResource) {
		t.Errorf("an instance that is gone: %v", err)
	}
}

func TestTheOperatorMayDoEverything(t *testing.T) {
	s, _ := account(t, `{"Effect":"Deny","Action":"*","Resource":"*"}`)
	c := &wire.Call{
		Service: "sqs", Action: "SendMessage", Region: "us-east-1", HTTP: httptest.NewRequest(http.MethodPost, "/", nil),
		Body: []byte(fmt.Sprintf(`{"QueueUrl":%q}`, "http://x/1/q")),
	}
	if err := s.authorize(t.Context(), c); err != nil || c.Permission != "sqs:SendMessage" {
		t.Errorf("got %v, permission %q", err, c.Permission)
	}
}
