package conformance

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/servicemodel"
)

// things is a small service that speaks one of the protocols.
func things(t *testing.T, protocol string) *servicemodel.Model {
	t.Helper()
	m := &servicemodel.Model{}
	err := json.Unmarshal([]byte(`{"metadata":{"protocol":"`+protocol+`"},"operations":{
		"DescribeThings":{"output":{"shape":"Result","resultWrapper":"DescribeThingsResult"}},"DeleteThing":{}},"shapes":{
		"Result":{"type":"structure","required":["Things"],"members":{"Things":{"shape":"List","locationName":"thingSet"},
		  "Made":{"shape":"Time"},"Tags":{"shape":"Tags"}}},
		"List":{"type":"list","member":{"shape":"Thing","locationName":"item"}},
		"Thing":{"type":"structure","members":{"Name":{"shape":"Text","locationName":"name"},"Count":{"shape":"Number"},
		  "State":{"shape":"State"},"On":{"shape":"Flag"}}},
		"Tags":{"type":"map","key":{"shape":"Text"},"value":{"shape":"Text"}},
		"Text":{"type":"string"},"Number":{"type":"integer"},"Time":{"type":"timestamp"},"Flag":{"type":"boolean"},
		  "State":{"type":"string","enum":["up","down"]}}}`), m)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestValidateFindsUnknownElements(t *testing.T) {
	inEC2 := func(inner string) string {
		return "<DescribeThingsResponse><requestId>1</requestId>" + inner + "</DescribeThingsResponse>"
	}
	inQuery := func(inner string) string {
		return "<DescribeThingsResponse><DescribeThingsResult>" + inner +
			"</DescribeThingsResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></DescribeThingsResponse>"
	}
	good := "<thingSet><item><name>a</name><Count>3</Count><State>up</State><On>true</On></item><item/></thingSet><" +
		"Made>2026-01-02T03:04:05.000Z</Made>"
	for _, c := range []struct{ name, protocol, action, body, want string }{
		{"good", "ec2", "DescribeThings", inEC2(good), ""},
		{"good query", "query", "DescribeThings", inQuery(good), ""},
		{
			"good JSON", "json", "DescribeThings",
			`{"Things":[{"name":"a","Count":3,"State":"down","On":false}],"Made":1.5,"Tags":{"a":"b"}}`, "",
		},
		{
			"no output", "ec2", "DeleteThing",
			"<DeleteThingResponse><requestId>1</requestId><return>true</return></DeleteThingResponse>", "",
		},
		{
			"an output that is none", "ec2", "DeleteThing",
			"<DeleteThingResponse><requestId>1</requestId><thing>1</thing></DeleteThingResponse>", "more than return",
		},
		{"unknown action", "ec2", "MakeThing", "<MakeThingResponse/>", "no action MakeThing"},
		{
			"unknown element", "ec2", "DescribeThings", inEC2("<thingSet><item><colour>red</colour></item></thingSet>"),
			"DescribeThings/thingSet/item/colour: the model has no such element",
		},
		{"items of another name", "ec2", "DescribeThings", inEC2("<thingSet><member/></thingSet>"), "items are called item"},
		{
			"text for a number", "ec2", "DescribeThings", inEC2("<thingSet><item><Count>many</Count></item></thingSet>"),
			`"many" is not a integer`,
		},
		{
			"another word", "ec2", "DescribeThings", inEC2("<thingSet><item><State>sideways</State></item></thingSet>"),
			"the words are",
		},
		{"a bad time", "ec2", "DescribeThings", inEC2("<thingSet/><Made>yesterday</Made>"), "is not a timestamp"},
		{
			"a structure in text", "ec2", "DescribeThings", inEC2("<thingSet><item><name><first/></name></item></thingSet>"),
			"has elements in it",
		},
		{"required and missing", "ec2", "DescribeThings", inEC2(""), "DescribeThings/thingSet: is required and missing"},
		{
			"no request id", "ec2", "DescribeThings", "<DescribeThingsResponse><thingSet/></DescribeThingsResponse>",
			"requestId is missing",
		},
		{
			"no result", "query", "DescribeThings",
			"<DescribeThingsResponse><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></DescribeThingsResponse>",
			"DescribeThingsResult is missing",
		},
		{"cut off", "ec2", "DescribeThings", "<DescribeThingsResponse>", "is not XML"},
		{
			"another element", "ec2", "DescribeThings", "<Things><requestId>1</requestId><thingSet/></Things>",
			"the outermost element is Things",
		},
		{"unknown member", "json", "DescribeThings", `{"Things":[],"Colour":"red"}`, "no such member"},
		{"a list that is none", "json", "DescribeThings", `{"Things":{}}`, "is not a list"},
		{"a fraction for a number", "json", "DescribeThings", `{"Things":[{"Count":1.5}]}`, "is not a integer"},
		{"not JSON", "json", "DescribeThings", `{`, "is not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			problems := strings.Join(validate(things(t, c.protocol), c.action, []byte(c.body)), "\n")
			if c.want == "" && problems != "" || !strings.Contains(problems, c.want) {
				t.Errorf("problems are %q, want %q", problems, c.want)
			}
		})
	}
}

func TestPathsAreThoseThatSaySomething(t *testing.T) {
	root, err := parseXML([]byte("<r><a><item><b>1</b></item><item><c/></item></a><d></d></r>"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	root.paths("", found)
	if len(found) != 3 || !found["/a"] || !found["/a/item"] || !found["/a/item/b"] {
		t.Errorf("paths are %v", found)
	}
}
