package identity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// account has one role with one inline policy of the given statements.
func account(t *testing.T, statements string) (s *Service, roleARN string) {
	t.Helper()
	s, err := New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.newRole("worker", "/",
		`{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"lambda.amazonaws.com"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	d, err := parseDocument(fmt.Sprintf(`{"Version":"2012-10-17","Statement":[%s]}`, statements), false)
	if err != nil {
		t.Fatal(err)
	}
	r.inline["rights"] = d
	if err := s.enter(r); err != nil {
		t.Fatal(err)
	}
	return s, r.arn
}

func TestAllowed(t *testing.T) {
	const queue = "arn:aws:sqs:us-east-1:123456789012:whittle-prod-provision"
	tests := []struct {
		name, statements, action, resource string
		context                            map[string][]string
		want                               bool
	}{
		{
			"nothing allows", `{"Effect":"Allow","Action":"sqs:ReceiveMessage","Resource":"*"}`, "sqs:SendMessage", queue, nil,
			false,
		},
		{
			"exact action and resource", `{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"` + queue + `"}`,
			"sqs:SendMessage", queue, nil, true,
		},
		{
			"actions know no case", `{"Effect":"Allow","Action":"SQS:sendmessage","Resource":"*"}`, "sqs:SendMessage", queue,
			nil, true,
		},
		{
			"resources know case", `{"Effect":"Allow","Action":"*","Resource":"arn:aws:sqs:*:*:Whittle-*"}`, "sqs:SendMessage",
			queue, nil, false,
		},
		{
			"wildcards in the action", `{"Effect":"Allow","Action":"sqs:Send*","Resource":"*"}`, "sqs:SendMessage", queue, nil,
			true,
		},
		{
			"one character", `{"Effect":"Allow","Action":"ec2:Describe?","Resource":"*"}`, "ec2:DescribeImages", "*", nil, false,
		},
		{
			"wildcards in the resource", `{"Effect":"Allow","Action":"sqs:*","Resource":"arn:aws:sqs:*:*:whittle-*-provision"}`,
			"sqs:SendMessage", queue, nil, true,
		},
		{
			"another queue", `{"Effect":"Allow","Action":"sqs:*","Resource":"arn:aws:sqs:*:*:whittle-test-*"}`,
			"sqs:SendMessage", queue, nil, false,
		},
		{
			"deny wins over allow",
			`{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"sqs:Send*","Resource":"` + queue + `"}`,
			"sqs:SendMessage", queue, nil, false,
		},
		{
			"deny of something else",
			`{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"sqs:Delete*","Resource":"*"}`,
			"sqs:SendMessage", queue, nil, true,
		},
		{"NotAction", `{"Effect":"Allow","NotAction":"iam:*","Resource":"*"}`, "sqs:SendMessage", queue, nil, true},
		{"NotAction hits", `{"Effect":"Allow","NotAction":"sqs:*","Resource":"*"}`, "sqs:SendMessage", queue, nil, false},
		{
			"NotResource", `{"Effect":"Allow","Action":"sqs:*","NotResource":"arn:aws:sqs:*:*:other"}`, "sqs:SendMessage", queue,
			nil, true,
		},
		{
			"an action without resources needs a star",
			`{"Effect":"Allow","Action":"ec2:DescribeInstances","Resource":"arn:aws:ec2:*:*:instance/*"}`,
			"ec2:DescribeInstances", "*", nil, false,
		},
		{
			"an unnamed resource is any", `{"Effect":"Allow","Action":"ec2:CreateFleet","Resource":"arn:aws:ec2:*:*:fleet/*"}`,
			"ec2:CreateFleet", anyResource, nil, true,
		},
		{
			"an unnamed resource is not surely the denied one",
			`{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"ec2:*",` +
				`"Resource":"arn:aws:ec2:*:*:fleet/x"}`,
			"ec2:CreateFleet", anyResource, nil, true,
		},
		{
			"policy variable", `{"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::b/${aws:userid}/*"}`, "s3:GetObject",
			"arn:aws:s3:::b/me/x", map[string][]string{"aws:userid": {"me"}}, true,
		},
		{
			"policy variable without a value", `{"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::b/${aws:userid}/*"}`,
			"s3:GetObject", "arn:aws:s3:::b/me/x", nil, false,
		},
		{
			"all keys of a condition",
			`{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"a":"1","b":"2"}}}`, "x:Y", "*",
			map[string][]string{"a": {"1"}, "b": {"3"}}, false,
		},
		{
			"all operators of a condition",
			`{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"a":"1"},"Bool":{"b":"true"}}}`, "x:Y",
			"*", map[string][]string{"a": {"1"}, "b": {"false"}}, false,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, role := account(t, test.statements)
			got, why := s.Allowed(role, test.action, test.resource, test.context)
			if got != test.want {
				t.Errorf("got %t %s, want %t", got, why, test.want)
			}
			if why == "" {
				t.Error("no reason was given")
			}
		})
	}
}

func TestAllowedOfARoleThatIsGone(t *testing.T) {
	s, _ := account(t, `{"Effect":"Allow","Action":"*","Resource":"*"}`)
	if ok, why := s.Allowed("arn:aws:iam::123456789012:role/other", "sqs:SendMessage", "*", nil); ok ||
		!strings.Contains(why, "does not exist") {
		t.Errorf("got %t %s", ok, why)
	}
}

func TestConditionOperators(t *testing.T) {
	set := func(values ...string) map[string][]string { return map[string][]string{"Some:Key": values} }
	tests := []struct {
		operator, wanted string
		given            map[string][]string
		want             bool
	}{
		{"StringEquals", `"a"`, set("a"), true},
		{"StringEquals", `["x","a"]`, set("a"), true},
		{"StringEquals", `"A"`, set("a"), false},
		{"StringEquals", `"a*"`, set("ab"), false},
		{"StringEquals", `"a"`, nil, false},
		{"StringEqualsIfExists", `"a"`, nil, true},
		{"StringEqualsIfExists", `"a"`, set("b"), false},
		{"StringEqualsIgnoreCase", `"A"`, set("a"), true},
		{"StringNotEquals", `"a"`, set("b"), true},
		{"StringNotEquals", `["a","b"]`, set("b"), false},
		{"StringNotEquals", `"a"`, nil, true},
		{"StringLike", `"a*"`, set("abc"), true},
		{"StringLike", `"*"`, nil, false},
		{"StringNotLike", `"a*"`, set("abc"), false},
		{"ForAllValues:StringEquals", `["a","b"]`, set("a", "b"), true},
		{"ForAllValues:StringEquals", `["a","b"]`, set("a", "c"), false},
		{"ForAllValues:StringEquals", `["a"]`, nil, true},
		{"ForAnyValue:StringLike", `["a*"]`, set("x", "ab"), true},
		{"ForAnyValue:StringLike", `["a*"]`, set("x", "y"), false},
		{"ForAnyValue:StringLike", `["a*"]`, nil, false},
		{"ForAnyValue:StringNotEquals", `["a"]`, set("a", "b"), true},
		{"ArnLike", `"arn:aws:sqs:*:123456789012:q*"`, set("arn:aws:sqs:us-east-1:123456789012:q1"), true},
		{"ArnEquals", `"arn:aws:sqs:*:123456789012:q1"`, set("arn:aws:sqs:us-east-1:123456789012:q1"), true},
		{"ArnLike", `"arn:aws:*:q1"`, set("arn:aws:sqs:us-east-1:123456789012:q1"), false},
		{"ArnNotLike", `"arn:aws:sqs:*:*:q2"`, set("arn:aws:sqs:us-east-1:123456789012:q1"), true},
		{"Bool", `true`, set("true"), true},
		{"Bool", `"false"`, set("true"), false},
		{"Null", `"true"`, nil, true},
		{"Null", `true`, set("x"), false},
		{"Null", `"false"`, set("x"), true},
		{"NumericLessThan", `5`, set("4"), true},
		{"NumericLessThan", `"5"`, set("5"), false},
		{"NumericGreaterThanEquals", `"5"`, set("5"), true},
		{"NumericNotEquals", `"5"`, set("6"), true},
		{"NumericEquals", `"5"`, set("five"), false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %s of %v", test.operator, test.wanted, test.given["Some:Key"]), func(t *testing.T) {
			// Keys know no case.
			s, role := account(
				t, fmt.Sprintf(`{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"%s":{"some:key":%s}}}`, test.operator,
					test.wanted))
			if got, why := s.Allowed(role, "x:Y", "*", test.given); got != test.want {
				t.Errorf("got %t %s, want %t", got, why, test.want)
			}
		})
	}
}

func TestUnknownTags(t *testing.T) {
	condition := `"Condition":{"StringEquals":{"aws:ResourceTag/team":"a"}}`
	for effect, want := range map[string]bool{"Allow": true, "Deny": false} {
		d, err := parseDocument(`{"Statement":{"Effect":"`+effect+`","Action":"*","Resource":"*",`+condition+`}}`, false)
		if err != nil {
			t.Fatal(err)
		}
		q := question{action: "ec2:TerminateInstances", resource: "arn:aws:ec2:us-east-1:1:instance/i-1", tagsUnknown: true}
		if v, _ := d.evaluate(q, nil); (v != implicitDeny) != want {
			t.Errorf("%s about unknown tags gave %v", effect, v)
		}
	}
}

func TestWildcard(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"*", "", true}, {"**", "abc", true}, {"a*c", "abbc", true}, {"a*c", "abcd", false}, {"?", "", false},
		{"?b", "ab", true},
		{"*ab*ab", "abab", true}, {"*ab*abc", "ababab", false}, {"a", "A", false},
		{strings.Repeat("*a", 50) + "b", strings.Repeat("a", 5000), false},
	} {
		if got := wildcard(test.pattern, test.text); got != test.want {
			t.Errorf("wildcard(%.20q, %.20q) is %t, want %t", test.pattern, test.text, got, test.want)
		}
	}
}

func TestBoundaryLimitsPolicies(t *testing.T) {
	for _, test := range []struct {
		name, boundary, why string
		want                bool
	}{
		{"both allow", `{"Effect":"Allow","Action":"sqs:*","Resource":"*"}`, "by policy rights", true},
		{
			"the boundary does not", `{"Effect":"Allow","Action":"ec2:*","Resource":"*"}`,
			"no permissions boundary allows the sqs:SendMessage", false,
		},
		{
			"the boundary denies",
			`{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"sqs:*","Resource":"*"}`,
			"explicit deny in a permissions boundary", false,
		},
		{"the boundary is gone", "", "does not exist", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, role := account(
				t, `{"Sid":"Send","Effect":"Allow","Action":["sqs:SendMessage","sqs:ReceiveMessage"],"Resource":"*"}`)
			const arn = "arn:aws:iam::123456789012:policy/boundary"
			if test.boundary != "" {
				d, err := parseDocument(`{"Version":"2012-10-17","Statement":[`+test.boundary+`]}`, false)
				if err != nil {
					t.Fatal(err)
				}
				s.managed[arn] = &managedPolicy{arn: arn, document: d}
			}
			s.roles["worker"].boundary = arn
			got, why := s.Allowed(role, "sqs:SendMessage", "*", nil)
			if got != test.want || !strings.Contains(why, test.why) {
				t.Errorf("got %t %s, want %t %s", got, why, test.want, test.why)
			}
			// A boundary alone gives no right.
			if got, _ := s.Allowed(role, "sqs:DeleteMessage", "*", nil); got {
				t.Error("the boundary gives what no policy does")
			}
		})
	}
}

func TestRightsReportTheirUse(t *testing.T) {
	s, role := account(
		t, `{"Sid":"Send","Effect":"Allow","Action":["sqs:SendMessage","sqs:ReceiveMessage"],"Resource":"*"},`+
			`{"Effect":"Deny","Action":"sqs:DeleteMessage","Resource":"*"}`)
	s.Allowed(role, "sqs:SendMessage", "*", nil)
	got := s.Rights("worker")
	if want := []Right{
		{"Send", "sqs:SendMessage", true}, {"Send", "sqs:ReceiveMessage", false},
	}; !slices.Equal(got, want) {
		t.Errorf("rights %+v, want %+v", got, want)
	}
	if s.Rights("nobody") != nil {
		t.Error("nobody has rights")
	}
}
