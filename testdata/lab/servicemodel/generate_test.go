package servicemodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/servicemodel"
)

const things = `{"operations":{},"shapes":{
	"DescribeRequest":{"type":"structure","members":{
		"ThingIds":{"shape":"Texts","locationName":"ThingId"},
		"Since":{"shape":"Time","locationName":"since","queryName":"Since"},
		"Limit":{"shape":"Number"}}},
	"DescribeResult":{"type":"structure","members":{"Things":{"shape":"Things","locationName":"thingSet"}}},
	"Things":{"type":"list","member":{"shape":"Thing","locationName":"item"}},
	"Thing":{"type":"structure","members":{
		"ThingArn":{"shape":"Text","locationName":"thingArn"},
		"Made":{"shape":"Time","locationName":"made"},
		"Names":{"shape":"Texts","locationName":"nameSet"}}},
	"ThingRequest":{"type":"structure","members":{"Names":{"shape":"Texts","locationName":"Name"}}},
	"Texts":{"type":"list","member":{"shape":"Text","locationName":"item"}},
	"Text":{"type":"string"},"Number":{"type":"integer"},"Time":{"type":"timestamp"}}}`

func model(t *testing.T) *servicemodel.Model {
	t.Helper()
	m := &servicemodel.Model{}
	if err := json.Unmarshal([]byte(things), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestGenerate(t *testing.T) {
	code, err := servicemodel.Generate(model(t), "things", `# a comment
describeRequest in:DescribeRequest
	ThingIds Since Limit*
describeResult out:DescribeResult
	Things
thing out:Thing
	ARN=ThingArn? Made Names
template in:ThingRequest out:Thing json
	Names Made? +base
`)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(string(code)), " ")
	for _, want := range []string{
		"ThingIDs []string `query:\"ThingId\"`",
		"Since time.Time `query:\"Since\"`",
		"Limit *int `query:\"Limit\"`",
		"Things set[thing] `xml:\"thingSet\"`",
		"ARN string `xml:\"thingArn,omitempty\"`",
		"Made string `xml:\"made\"` Names set[string] `xml:\"nameSet\"`",
		"Names []string `query:\"Name\" xml:\"nameSet>item\" json:\"Names\"`",
		"Made string `query:\"-\" xml:\"made,omitempty\" json:\"Made\"` base }",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, code)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	for list, want := range map[string]string{
		"a in:NoSuchShape\n\tNames":                   "no shape NoSuchShape",
		"a in:ThingRequest\n\tColour":                 "type a: no shape of it has the member Colour",
		"\tNames":                                     "members before the first type",
		"a both:ThingRequest\n\tNames":                `type a: "both:ThingRequest" is neither`,
		"describeResult out:DescribeResult\n\tThings": "the member Things with a known type",
	} {
		if _, err := servicemodel.Generate(model(t), "things", list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("list %q gave %v, want %q", list, err, want)
		}
	}
}
