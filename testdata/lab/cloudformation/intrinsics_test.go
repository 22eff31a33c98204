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
"Metadata":{"by":"a test"},
"Conditions":{
  "Here":{"Fn::And":[{"Fn::Equals":[{"Ref":"AWS::Partition"},"aws"]},{"Fn::Not":[{"Condition":"Elsewhere"}]}]},
  "Elsewhere":{"Fn::Or":[{"Fn::Equals":[{"Ref":"AWS::Region"},"eu-west-1"]},{"Fn::Equals":["a","b"]}]}
},
"Resources":{
  "First":{"Type":"Test::Thing","Properties":{"Name":"first"}},
  "Second":{"Type":"Test::Thing","DependsOn":"First","Properties":{
    "Name":{"Fn::Join":["-",["second",{"Ref":"First"},{"Fn::Sub":"${AWS::AccountId}"}]]},
    "Arn":{"Fn::GetAtt":["First","Arn"]},
    "Sub":{"Fn::Sub":"${First}:${First.Arn}:${AWS::Region}:${!Literal}:${AWS::Partition}:${AWS::URLSuffix}"},
    "List":[1,{"Ref":"AWS::StackName"},3],
    "Here":{"Fn::If":["Here","yes","no"]},"Gone":{"Fn::If":["Elsewhere",{"Ref":"First"},{"Ref":"AWS::NoValue"}]},
    "Number":7,"Flag":true,"Policy":{"Condition":{"StringEquals":{"a":"b"}}}
  }}
},
"Outputs":{"Arn":{"Value":{"Fn::GetAtt":["Second","Arn"]},"Description":"the second"}}}`

func TestEveryIntrinsicFunction(t *testing.T) {
	l := start(t, nil)
	st := l.create(t, everyFunction)
	wantStatus(t, st, types.StackStatusCreateComplete)
	want := map[string]any{
		"Name": "second-first-123456789012", "Arn": "arn:thing/first",
		"Sub":  "first:arn:thing/first:us-east-1:${Literal}:aws:amazonaws.com",
		"List": []any{1, "S", 3}, "Number": 7, "Flag": true, "Here": "yes",
		"Policy": map[string]any{"Condition": map[string]any{"StringEquals": map[string]any{"a": "b"}}},
	}
	gotText, _ := json.Marshal(l.things.get("second-first-123456789012"))
	wantText, _ := json.Marshal(want)
	if string(gotText) != string(wantText) {
		t.Errorf("got  %s\nwant %s", gotText, wantText)
	}
	if len(st.Outputs) != 1 || *st.Outputs[0].OutputValue != "arn:thing/second-first-123456789012" ||
		*st.Outputs[0].Description != "the second" || len(st.Tags) != 1 || *st.Tags[0].Key != "team" {
		t.Errorf("got outputs %+v and tags %+v", st.Outputs, st.Tags)
	}
	out, err := l.client.GetTemplate(t.Context(), &sdk.GetTemplateInput{StackName: aws.String("S")})
	if err != nil || *out.TemplateBody != everyFunction {
		t.Errorf("the template came back as %v, %v", out, err)
	}
}

// with is a template whose resource A has the value as a property, and attributes beside it.
func with(value, attributes string) string {
	return resources(`"A":{"Type":"Test::Thing","Properties":{"X":` + value + `}` + attributes + `}`)
}

func TestTemplatesThatAreRefusedAtOnce(t *testing.T) {
	for name, test := range map[string]struct{ template, want string }{
		"YAML":         {"Resources:\n  A:\n", "reads no YAML"},
		"no resources": {`{"Resources":{}}`, "at least one Resources member"},
		"parameters": {
			`{"Parameters":{"P":{"Type":"String"}},"Resources":{"A":{"Type":"Test::Thing"}}}`,
			`section "Parameters" is not simulated`,
		},
		"mappings": {
			`{"Mappings":{},"Resources":{"A":{"Type":"Test::Thing"}}}`, `section "Mappings" is not simulated`,
		},
		"unknown condition": {
			with(`{"Fn::If":["C",1,2]}`, ""), "unresolved condition dependency C in the Resources block of the template",
		},
		"circular conditions": {
			`{"Conditions":{"C":{"Condition":"D"},"D":{"Condition":"C"}},` + with(`{"Fn::If":["C",1,2]}`, "")[1:],
			"circular dependency between conditions",
		},
		"odd condition": {
			`{"Conditions":{"C":{"Fn::Xor":[]}},` + with(`{"Fn::If":["C",1,2]}`, "")[1:], "a condition is Fn::Equals",
		},
		"condition of a resource": {
			with("1", `,"Condition":"C"`), "resource A: the attribute Condition is not simulated",
		},
		"export": {
			`{"Resources":{"A":{"Type":"Test::Thing"}},"Outputs":{"O":{"Value":"x","Export":{"Name":"y"}}}}`,
			"output O: the attribute Export is not simulated",
		},
		"unknown attribute": {
			`{"Resources":{"A":{"Type":"Test::Thing","Propertys":{}}}}`,
			"resource A: the attribute Propertys is not simulated",
		},
		"no type": {`{"Resources":{"A":{"Properties":{}}}}`, "A has none"},
		"another function": {
			with(`{"Fn::Select":[0,["a"]]}`, ""), "resource A: the intrinsic function Fn::Select is not simulated",
		},
		"another function in an output": {
			`{"Resources":{"A":{"Type":"Test::Thing"}},"Outputs":{"O":{"Value":{"Fn::ImportValue":"x"}}}}`,
			"output O: the intrinsic function Fn::ImportValue is not simulated",
		},
		"dynamic reference": {
			with(`{"Fn::Sub":"{{resolve:ssm:/x}}"}`, ""), "resource A: the dynamic reference",
		},
		"variables of a substitution": {
			with(`{"Fn::Sub":["${a}",{"a":"b"}]}`, ""), "resource A: Fn::Sub takes a string in the local AWS",
		},
		"dotted attribute": {with(`{"Fn::GetAtt":"A.Arn"}`, ""), "resource A: Fn::GetAtt takes"},
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
		"nested too deep": {with(strings.Repeat("[", 200)+strings.Repeat("]", 200), ""), "nested more than"},
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

func TestCallsThatAreRefusedByName(t *testing.T) {
	l := start(t, nil)
	template := with("1", "")
	for name, in := range map[string]*sdk.CreateStackInput{
		"DisableRollback": {DisableRollback: aws.Bool(true)},
		"OnFailure":       {OnFailure: types.OnFailureDelete},
		"Parameters":      {Parameters: []types.Parameter{{ParameterKey: aws.String("P")}}},
	} {
		in.StackName, in.TemplateBody = aws.String("S"), &template
		_, err := l.client.CreateStack(t.Context(), in)
		wantError(t, err, "ValidationError", "the parameter "+name+" is not simulated")
	}
	_, err := l.client.ListStacks(t.Context(), &sdk.ListStacksInput{})
	wantError(t, err, "InvalidAction", "ListStacks")
}

func TestFunctionsThatFailTheirResource(t *testing.T) {
	for name, test := range map[string]struct{ value, want string }{
		"unknown attribute": {
			`{"Fn::GetAtt":["First","Nope"]}`, `resource First of type Test::Thing has no attribute "Nope"`,
		},
		"join of an object": {`{"Fn::Join":["",[{"a":"b"}]]}`, "Fn::Join joins strings"},
		"join of a text":    {`{"Fn::Join":["","a"]}`, "Fn::Join takes a separator and a list"},
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
