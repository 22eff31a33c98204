package identity

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// iamPermissions names the role, profile or policy of an IAM call.
func (s *Service) iamPermissions(c *wire.Call) []permission {
	var in struct {
		RoleName, InstanceProfileName, PolicyArn string
		Tags                                     []tagXML
	}
	action := "iam:" + c.Action
	if err := c.DecodeQuery(&in); err != nil || strings.HasPrefix(c.Action, "List") && in.RoleName == "" {
		return []permission{{action: action, resource: "*"}}
	}
	p := permission{action: action, context: tagContext(in.Tags)}
	switch {
	case in.InstanceProfileName != "":
		p.resource = fmt.Sprintf("arn:aws:iam::%s:instance-profile/%s", s.accountID, in.InstanceProfileName)
		if c.Action != "CreateInstanceProfile" {
			s.mu.Lock()
			if existing, ok := s.profiles[in.InstanceProfileName]; ok {
				p.resource = existing.arn
			}
			s.mu.Unlock()
			p.tagged = p.resource
		}
	case in.RoleName != "":
		p.resource = s.roleResource(in.RoleName)
		p.tagged = p.resource
	case in.PolicyArn != "":
		p.resource = in.PolicyArn
	}
	if c.Action == "AddRoleToInstanceProfile" {
		// Adding a role to a profile passes it to EC2.
		role := s.roleResource(in.RoleName)
		return []permission{
			p,
			{
				action: "iam:PassRole", resource: role, tagged: role,
				context: map[string][]string{"iam:PassedToService": {"ec2.amazonaws.com"}},
			},
		}
	}
	return []permission{p}
}

func (s *Service) roleResource(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.roles[name]; ok {
		return r.arn
	}
	return fmt.Sprintf("arn:aws:iam::%s:role/%s", s.accountID, name)
}

// operation maps the method and path of a REST call to an IAM action and a resource. In the
// resource, $1 and so on are the path's groups, {region} and {account} the call's.
type operation struct {
	service, method string
	path            *regexp.Regexp
	action          string
	resource        string
}

// conditionKeys are the keys that name what an action asks for, where policies cannot name it as a resource. The
// value of a key is the first group of the operation's path.
var conditionKeys = map[string]string{
	"arc-zonal-shift:GetManagedResource": "arc-zonal-shift:ResourceIdentifier",
}

// restOperations are the calls of REST services that roles make, by the services' own API
// references.
var restOperations = []operation{
	{
		"lambda", http.MethodPost, regexp.MustCompile(`^/2015-03-31/functions/([^/]+)/invocations$`), "lambda:InvokeFunction",
		"arn:aws:lambda:{region}:{account}:function:$1",
	},
	{"lambda", http.MethodGet, regexp.MustCompile(`^/2016-08-19/account-settings/?$`), "lambda:GetAccountSettings", "*"},
	{
		"eks", http.MethodGet, regexp.MustCompile(`^/clusters/([^/]+)$`), "eks:DescribeCluster",
		"arn:aws:eks:{region}:{account}:cluster/$1",
	},
	{"eks", http.MethodGet, regexp.MustCompile(`^/clusters/?$`), "eks:ListClusters", "*"},
	{
		"eks", http.MethodPost, regexp.MustCompile(`^/clusters/([^/]+)/access-entries$`), "eks:CreateAccessEntry",
		"arn:aws:eks:{region}:{account}:cluster/$1",
	},
	{
		"eks", http.MethodGet, regexp.MustCompile(`^/clusters/([^/]+)/access-entries/[^/]+$`), "eks:DescribeAccessEntry",
		anyResource,
	},
	{
		"eks", http.MethodDelete, regexp.MustCompile(`^/clusters/([^/]+)/access-entries/[^/]+$`), "eks:DeleteAccessEntry",
		anyResource,
	},
	{
		"arc-zonal-shift", http.MethodGet, regexp.MustCompile(`^/managedresources/(.+)$`),
		"arc-zonal-shift:GetManagedResource", "*",
	},
	{"arc-zonal-shift", http.MethodPost, regexp.MustCompile(`^/zonalshifts/?$`), "arc-zonal-shift:StartZonalShift", "*"},
	{
		"arc-zonal-shift", http.MethodDelete, regexp.MustCompile(`^/zonalshifts/.+$`), "arc-zonal-shift:CancelZonalShift",
		"*",
	},
	{
		"savingsplans", http.MethodPost, regexp.MustCompile(`^/DescribeSavingsPlans$`), "savingsplans:DescribeSavingsPlans",
		"arn:aws:savingsplans::{account}:savingsplan/*",
	},
	{
		"savingsplans", http.MethodPost, regexp.MustCompile(`^/DescribeSavingsPlanRates$`),
		"savingsplans:DescribeSavingsPlanRates", "arn:aws:savingsplans::{account}:savingsplan/*",
	},
	{"s3", http.MethodPut, regexp.MustCompile(`^/([^/]+)/(.+)$`), "s3:PutObject", "arn:aws:s3:::$1/$2"},
	{"s3", http.MethodPost, regexp.MustCompile(`^/([^/]+)/(.+)$`), "s3:PutObject", "arn:aws:s3:::$1/$2"},
	{"s3", http.MethodGet, regexp.MustCompile(`^/([^/]+)/?$`), "s3:ListBucket", "arn:aws:s3:::$1"},
}

// restPermission returns the permission of a REST call. A call that the table does not have needs
// all rights of its service.
func (s *Service) restPermission(c *wire.Call) permission {
	for _, o := range restOperations {
		groups := o.path.FindStringSubmatch(c.HTTP.URL.Path)
		if o.service != c.Service || o.method != c.HTTP.Method || groups == nil {
			continue
		}
		resource := strings.NewReplacer("{region}", c.Region, "{account}", s.accountID).Replace(o.resource)
		for i, group := range groups[1:] {
			// A function may be named by its ARN.
			if strings.HasPrefix(group, "arn:aws:lambda:") {
				return permission{action: o.action, resource: group, tagged: group}
			}
			resource = strings.ReplaceAll(resource, fmt.Sprintf("$%d", i+1), group)
		}
		if resource == "*" {
			asked := permission{action: o.action, resource: resource}
			if key := conditionKeys[o.action]; key != "" {
				asked.context = map[string][]string{key: {groups[1]}}
			}
			return asked
		}
		asked := permission{action: o.action, resource: resource}
		if !strings.HasSuffix(resource, "/*") { // all of a kind have no tags
			asked.tagged = resource
		}
		return asked
	}
	return permission{action: fmt.Sprintf("%s:%s %s", c.Service, c.HTTP.Method, c.HTTP.URL.Path), resource: anyResource}
}

// targetPermissions names the resource of calls of JSON and query services.
func (s *Service) targetPermissions(c *wire.Call) []permission {
	prefix := c.Service
	switch prefix {
	case "monitoring":
		prefix = "cloudwatch"
	case "tagging":
		prefix = "tag"
	}
	action := prefix + ":" + c.Action
	switch c.Service {
	case "sqs":
		return s.sqsPermissions(c)
	case "ssm":
		return s.ssmPermissions(c, action)
	case "logs":
		return s.logsPermissions(c, action)
	case "cloudformation":
		if name := c.Form.Get("StackName"); name != "" {
			if !strings.HasPrefix(name, "arn:") {
				name = fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/*", c.Region, s.accountID, name)
			}
			return []permission{{action: action, resource: name, tagged: name}}
		}
	case "events":
		if c.Action == "PutEvents" {
			return s.putEventsPermissions(c)
		}
	case "pricing", "monitoring", "tagging":
		return []permission{{action: action, resource: "*"}}
	}
	return []permission{{action: action, resource: anyResource}}
}

// logsPermissions are one for each log group that the call names. A query needs the right to all of its
// groups. Its result is asked for by an id, which does not tell them.
func (s *Service) logsPermissions(c *wire.Call, action string) []permission {
	var in struct {
		LogGroupName  string   `json:"logGroupName"`
		LogGroupNames []string `json:"logGroupNames"`
		LogStreamName string   `json:"logStreamName"`
	}
	if c.DecodeJSON(&in) != nil {
		return []permission{{action: action, resource: anyResource}}
	}
	names := in.LogGroupNames
	if in.LogGroupName != "" {
		names = append(names, in.LogGroupName)
	}
	var all []permission
	for _, name := range names {
		group := fmt.Sprintf("arn:aws:logs:%s:%s:log-group:%s", c.Region, s.accountID, name)
		resource := group + ":*"
		if in.LogStreamName != "" && c.Action == "PutLogEvents" {
			resource = group + ":log-stream:" + in.LogStreamName
		}
		all = append(all, permission{action: action, resource: resource, tagged: group})
	}
	if len(all) == 0 {
		return []permission{{action: action, resource: anyResource}}
	}
	return all
}

// putEventsPermissions are one for each bus and source.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazoneventbridge.html
func (s *Service) putEventsPermissions(c *wire.Call) []permission {
	var in struct {
		Entries []struct{ EventBusName, Source, DetailType string }
	}
	if err := c.DecodeJSON(&in); err != nil || len(in.Entries) == 0 {
		return []permission{{action: "events:PutEvents", resource: anyResource}}
	}
	var found []permission
	for _, entry := range in.Entries {
		bus := entry.EventBusName
		if bus == "" {
			bus = "default"
		}
		if !strings.HasPrefix(bus, "arn:") {
			bus = fmt.Sprintf("arn:aws:events:%s:%s:event-bus/%s", c.Region, s.accountID, bus)
		}
		found = append(found, permission{action: "events:PutEvents", resource: bus, context: map[string][]string{
			"events:source": {entry.Source}, "events:detail-type": {entry.DetailType},
		}})
	}
	return found
}

func (s *Service) sqsPermissions(c *wire.Call) []permission {
	var in struct {
		QueueURL  string `json:"QueueUrl"`
		QueueName string
	}
	if c.Form.Get("QueueUrl") != "" {
		in.QueueURL = c.Form.Get("QueueUrl")
	} else if err := c.DecodeJSON(&in); err != nil {
		return []permission{{action: "sqs:" + c.Action, resource: anyResource}}
	}
	name := in.QueueName
	if at, err := url.Parse(in.QueueURL); err == nil && in.QueueURL != "" {
		name = lastPart(at.Path)
	}
	// The batch forms have no permission of their own.
	action := "sqs:" + strings.TrimSuffix(c.Action, "Batch")
	if name == "" {
		return []permission{{action: action, resource: "*"}}
	}
	arn := fmt.Sprintf("arn:aws:sqs:%s:%s:%s", c.Region, s.accountID, name)
	return []permission{{action: action, resource: arn, tagged: arn}}
}

func (s *Service) ssmPermissions(c *wire.Call, action string) []permission {
	var in struct {
		Name  string
		Names []string
		Path  string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return []permission{{action: action, resource: anyResource}}
	}
	var found []permission
	for _, name := range append(in.Names, in.Name, in.Path) {
		if name == "" {
			continue
		}
		// AWS's own parameters belong to no account.
		account := s.accountID
		if strings.HasPrefix(name, "/aws/service/") {
			account = ""
		}
		arn := name
		if !strings.HasPrefix(name, "arn:") {
			arn = fmt.Sprintf("arn:aws:ssm:%s:%s:parameter/%s", c.Region, account, strings.TrimPrefix(name, "/"))
		}
		found = append(found, permission{action: action, resource: arn, tagged: arn})
	}
	if len(found) == 0 {
		return []permission{{action: action, resource: anyResource}}
	}
	return found
}
