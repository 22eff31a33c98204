package cloudformation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

const everyFunction = `{
"Description":"every intrinsic function",
"Parameters":{
  "Size":{"Type":"Number","Default":3,"MinValue":1},
  "Names":{"Type":"CommaDelimitedList","Default":"x, y,z"},
  "Secret":{"Type":"String","Default":"hush","NoEcho":true},
  "Bootstrap":{"Type":"AWS::SSM::Parameter::Value<String>","Default":"/cdk-bootstrap/hnb659fds/version"},
  "Stage":{"Type":"String","AllowedValues":["prod","test"]}
},
"Mappings":{"Sizes":{"us-east-1":{"prod":"large","list":["m","n"]}}},
"Conditions":{
  "IsProd":{"Fn::Equals":[{"Ref":"Stage"},"prod"]},
  "IsTest":{"Fn::Not":[{"Condition":"IsProd"}]},
  "Both":{"Fn::And":[{"Condition":"IsProd"},{"Fn::Equals":[{"Ref":"AWS::Region"},"us-east-1"]}]},
  "Either":{"Fn::Or":[{"Condition":"IsTest"},{"Condition":"Both"}]}
},
"Rules":{
  "CheckBootstrapVersion":{"Assertions":[{"Assert":{"Fn::Not":[{"Fn::Contains":[["1","2","3","4","5"],
    {"Ref":"Bootstrap"}]}]},"AssertDescription":"bootstrap again"}]},
  "OnlyProd":{"RuleCondition":{"Fn::Equals":[{"Ref":"Stage"},"prod"]},
    "Assertions":[{"Assert":{"Fn::EachMemberIn":[{"Ref":"Names"},["x","y","z"]]},"AssertDescription":"names"}]}
},
"Resources":{
  "First":{"Type":"Test::Thing","Properties":{"Name":"first"}},
  "Skipped":{"Type":"Test::Thing","Condition":"IsTest","Properties":{}},
  "Second":{"Type":"Test::Thing","DependsOn":"First","Properties":{
    "Name":{"Fn::Join":["-",["second",{"Ref":"First"},{"Ref":"Size"}]]},
    "ArnList":{"Fn::GetAtt":["First","Arn"]},
    "ArnDotted":{"Fn::GetAtt":"First.Endpoint.Port"},
    "Sub":{"Fn::Sub":"${First}:${First.Arn}:${AWS::Region}:${!Literal}:${AWS::Partition}:${AWS::URLSuffix}"},
    "SubWithVariables":{"Fn::Sub":["${a}/${AWS::AccountId}",{"a":{"Ref":"AWS::StackName"}}]},
    "Selected":{"Fn::Select":[1,{"Ref":"Names"}]},
    "SelectedFromSplit":{"Fn::Select":["1",{"Fn::Split":[":",{"Fn::GetAtt":["First","Arn"]}]}]},
    "Base64":{"Fn::Base64":{"Fn::Sub":"hi ${Size}"}},
    "Zones":{"Fn::GetAZs":""},
    "Mapped":{"Fn::FindInMap":["Sizes",{"Ref":"AWS::Region"},{"Ref":"Stage"}]},
    "MappedList":{"Fn::FindInMap":["Sizes","us-east-1","list"]},
    "Chosen":{"Fn::If":["Either","yes","no"]},
    "NotChosen":{"Fn::If":["IsTest",{"Ref":"Skipped"},"without it"]},
    "Gone":{"Ref":"AWS::NoValue"},
    "GoneToo":{"Fn::If":["IsTest",1,{"Ref":"AWS::NoValue"}]},
    "List":[1,{"Fn::If":["IsTest",1,{"Ref":"AWS::NoValue"}]},3],
    "Parameter":{"Ref":"Bootstrap"},
    "Dynamic":"v{{resolve:ssm:/cdk-bootstrap/hnb659fds/version}}!",
    "Number":7,"Flag":true,"Policy":{"Condition":{"StringEquals":{"a":"b"}}}
  }}
},
"Outputs":{
  "Arn":{"Value":{"Fn::GetAtt":["Second","Arn"]},"Description":"the second",
    "Export":{"Name":{"Fn::Sub":"${AWS::StackName}-arn"}}},
  "Test":{"Condition":"IsTest","Value":{"Ref":"Skipped"}}
}}`

func TestEveryIntrinsicFunction(t *testing.T) {
	l := start(t, nil)
	st := l.create(t, everyFunction, parameter("Stage", "prod"))
	wantStatus(t, st, types.StackStatusCreateComplete)
	got := l.things.get("second-first-3")
	want := map[string]any{
		"Name": "second-first-3", "ArnList": "arn:thing/first", "ArnDotted": 80,
		"Sub": "first:arn:thing/first:us-east-1:${Literal}:aws:amazonaws.com", "SubWithVariables": "S/123456789012",
		"Selected": "y", "Base64": "aGkgMw==", "Zones": []any{"us-east-1a", "us-east-1b"}, "Mapped": "large",
		"MappedList": []any{"m", "n"}, "Chosen": "yes", "NotChosen": "without it",
		"List": []any{1, 3}, "Parameter": "30", "Dynamic": "v30!", "Number": 7, "Flag": true,
		"Policy":            map[string]any{"Condition": map[string]any{"StringEquals": map[string]any{"a": "b"}}},
		"SelectedFromSplit": "thing/first",
	}
	gotText, _ := json.Marshal(got)
	wantText, _ := json.Marshal(want)
	if string(gotText) != string(wantText) {
		t.Errorf("got  %s\nwant %s", gotText, wantText)
	}
	if len(st.Outputs) != 1 || *st.Outputs[0].OutputValue != "arn:thing/second-first-3" ||
		*st.Outputs[0].ExportName != "S-arn" || *st.Outputs[0].Description != "the second" {
		t.Errorf("got outputs %+v", st.Outputs)
	}
	for _, p := range st.Parameters {
		if *p.ParameterKey == "Secret" && *p.ParameterValue != "****" {
			t.Errorf("a NoEcho parameter is shown as %q", *p.ParameterValue)
		}
		if *p.ParameterKey == "Bootstrap" && *p.ResolvedValue != "30" {
			t.Errorf("the SSM parameter is resolved to %q", *p.ResolvedValue)
		}
	}
	if names := strings.Join(l.things.names(), " "); names != "first second-first-3" {
		t.Errorf("the things are %s", names)
	}
}

func TestTemplatesThatAreRefusedAtOnce(t *testing.T) {
	for name, test := range map[string]struct{ template, want string }{
		"YAML":         {"Resources:\n  A:\n", "reads no YAML"},
		"no resources": {`{"Resources":{}}`, "at least one Resources member"},
		"unknown section": {
			`{"Transform":"AWS::Serverless","Resources":{"A":{"Type":"Test::Thing"}}}`, `section "Transform" is not simulated`,
		},
		"unknown attribute": {
			`{"Resources":{"A":{"Type":"Test::Thing","Propertys":{}}}}`, "resource A has the unknown attribute Propertys",
		},
		"no type": {`{"Resources":{"A":{"Properties":{}}}}`, "A has none"},
		"reference to nothing": {
			resources(thing("A", map[string]any{"X": map[string]any{"Ref": "B"}})), "unresolved resource dependencies [B]",
		},
		"attribute of nothing": {
			resources(thing("A", map[string]any{"X": map[string]any{"Fn::Sub": "${B.Arn}"}})),
			"resource A: unresolved resource dependencies [B]",
		},
		"DependsOn nothing": {resources(thing("A", nil, `,"DependsOn":["B"]`)), "A depends on it"},
		"circle": {
			resources(thing("A", nil, `,"DependsOn":"B"`),
				thing("B", map[string]any{"X": map[string]any{"Fn::GetAtt": []string{"A", "Arn"}}})),
			"circular dependency between resources: [A, B]",
		},
		"circle of itself": {
			resources(thing("A", map[string]any{"X": map[string]any{"Ref": "A"}})), "circular dependency between resources: [A]",
		},
		"circle of conditions": {
			`{"Conditions":{"A":{"Fn::Not":[{"Condition":"B"}]},"B":{"Fn::Not":[{"Condition":"A"}]}},` +
				`"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"circular dependency between conditions",
		},
		"unknown condition": {`{"Resources":{"A":{"Type":"Test::Thing","Condition":"C"}}}`, `no condition "C"`},
		"condition of another kind": {
			`{"Conditions":{"A":{"Ref":"AWS::Region"}},"Resources":{"A":{"Type":"Test::Thing"}}}`, "condition A",
		},
		"parameter without a value": {
			`{"Parameters":{"P":{"Type":"String"}},"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"parameters: [P] must have values",
		},
		"parameter that is no number": {
			`{"Parameters":{"P":{"Type":"Number","Default":"x"}},"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"parameter P takes a number",
		},
		"parameter out of its range": {
			`{"Parameters":{"P":{"Type":"Number","Default":9,"MaxValue":5}},"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"must be at most 5",
		},
		"parameter off its pattern": {
			`{"Parameters":{"P":{"Type":"String","Default":"B","AllowedPattern":"[a-z]+"}},` +
				`"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"must match the pattern [a-z]+",
		},
		"parameter not in its list": {
			`{"Parameters":{"P":{"Type":"String","Default":"B","AllowedValues":["a"],"ConstraintDescription":"an a"}},` +
				`"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"an a",
		},
		"parameter of unknown type": {
			`{"Parameters":{"P":{"Type":"Text","Default":"B"}},"Resources":{"A":{"Type":"Test::Thing"}}}`, `unknown type "Text"`,
		},
		"missing SSM parameter": {
			`{"Parameters":{"P":{"Type":"AWS::SSM::Parameter::Value<String>","Default":"/none"}},` +
				`"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"unable to fetch parameters [/none]",
		},
		"failed rule": {`{"Rules":{"R":{"Assertions":[{"Assert":{"Fn::Equals":["a","b"]},"AssertDescription":"a is not ` +
			`b"}]}},"Resources":{"A":{"Type":"Test::Thing"}}}`,
			"template failed rule R: a is not b"},
		"nested too deep": {
			resources(`"A":{"Type":"Test::Thing","Properties":{"X":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) +
				`}}`),
			"nested more than",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, nil)
			_, err := l.client.CreateStack(t.Context(),
				&sdk.CreateStackInput{StackName: aws.String("S"), TemplateBody: &test.template})
			wantError(t, err, "ValidationError", test.want)
			_, err = l.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: aws.String("S")})
			wantError(t, err, "ValidationError", "Stack with id S does not exist")
		})
	}
}

func TestFunctionsThatFailTheirResource(t *testing.T) {
	for name, test := range map[string]struct{ value, want string }{
		"unknown function": {`{"Fn::Cidr":["10.0.0.0/16",4,8]}`, "Fn::Cidr is not simulated"},
		"unknown attribute": {
			`{"Fn::GetAtt":["First","Nope"]}`, `resource First of type Test::Thing has no attribute "Nope"`,
		},
		"index out of the list":  {`{"Fn::Select":[3,["a"]]}`, "index 3 of a list of 1"},
		"no such mapping":        {`{"Fn::FindInMap":["A","B","C"]}`, "the mappings have no A.B.C"},
		"no such export":         {`{"Fn::ImportValue":"none"}`, "no export named none"},
		"no such region":         {`{"Fn::GetAZs":"mars-1"}`, `no region "mars-1"`},
		"join of an object":      {`{"Fn::Join":["",[{"a":"b"}]]}`, "Fn::Join joins strings"},
		"missing dynamic value":  {`"{{resolve:ssm:/none}}"`, `no parameter "/none"`},
		"secrets are not there":  {`"{{resolve:secretsmanager:x}}"`, "resolves ssm only"},
		"split by nothing":       {`{"Fn::Split":["","a"]}`, "separator of Fn::Split"},
		"malformed substitution": {`{"Fn::Sub":["${a}",{"a":["x"]}]}`, "${a} takes a string"},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, nil)
			st := l.create(t, resources(thing("First", nil),
				`"A":{"Type":"Test::Thing","DependsOn":"First","Properties":{"X":`+test.value+`}}`))
			wantStatus(t, st, types.StackStatusRollbackComplete)
			if reasons := l.reasons(t); !strings.Contains(reasons, "A CREATE_FAILED: ") ||
				!strings.Contains(reasons, test.want) {
				t.Errorf("the events are\n%s\nwant %q", reasons, test.want)
			}
		})
	}
}
