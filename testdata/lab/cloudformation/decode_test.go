package cloudformation

import (
	"encoding/json"
	"strings"
	"testing"
)

type decoded struct {
	Name    string
	Count   int
	Limit   *float64
	Enabled bool
	Renamed []string `json:"Other"`
	Tags    []struct{ Key, Value string }
	Nested  struct{ Inner map[string]bool }
	Free    map[string]any
}

func TestDecode(t *testing.T) {
	var properties map[string]any
	text := `{"Name":5,"Count":"7","Limit":"0.5","Enabled":"true","Other":["a",1,true],"Tags":[{"Key":"k","Value":12}],` +
		`"Nested":{"Inner":{"x":"false"}},"Free":{"a":[1,{"b":"2"}]}}`
	if err := json.Unmarshal([]byte(text), &properties); err != nil {
		t.Fatal(err)
	}
	var got decoded
	if err := Decode(properties, &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "5" || got.Count != 7 || *got.Limit != 0.5 || !got.Enabled ||
		strings.Join(got.Renamed, " ") != "a 1 true" || got.Tags[0].Value != "12" || got.Nested.Inner["x"] {
		t.Errorf("got %+v", got)
	}
	if free, _ := json.Marshal(got.Free); string(free) != `{"a":[1,{"b":"2"}]}` {
		t.Errorf("a free object was bent to %s", free)
	}
}

func TestDecodeNamesTheProperty(t *testing.T) {
	for text, want := range map[string]string{
		`{"Nmae":"x"}`:                         "property Nmae is not simulated",
		`{"Tags":[{"Key":"a"},{"key":"b"}]}`:   "property Tags[1].key is not simulated",
		`{"Count":"many"}`:                     `property Count takes a number, not "many"`,
		`{"Enabled":"yes"}`:                    "property Enabled takes true or false",
		`{"Name":["x"]}`:                       "property Name takes a string",
		`{"Other":"x"}`:                        "property Other takes a list",
		`{"Nested":{"Inner":[]}}`:              "property Nested.Inner takes an object",
		`{"Nested":"x"}`:                       "property Nested takes an object",
		`{"Count":"0.5"}`:                      "Count",
		`{"Nested":{"Inner":{"x":"perhaps"}}}`: "property Nested.Inner.x takes true or false",
	} {
		t.Run(text, func(t *testing.T) {
			var properties map[string]any
			if err := json.Unmarshal([]byte(text), &properties); err != nil {
				t.Fatal(err)
			}
			if err := Decode(properties, &decoded{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
	if err := Decode(nil, decoded{}); err == nil {
		t.Error("a target that is no pointer was accepted")
	}
}

func TestGeneratedName(t *testing.T) {
	r := Request{StackName: strings.Repeat("s", 60), LogicalID: strings.Repeat("L", 60)}
	r.GeneratedName = r.StackName + "-" + r.LogicalID + "-ABCDEFGHIJKL"
	got := GeneratedName(r, 64)
	if len(got) > 64 || !strings.HasSuffix(got, "L-ABCDEFGHIJKL") || !strings.HasPrefix(got, "sss") {
		t.Errorf("got %q", got)
	}
	if got := GeneratedName(r, 200); got != r.GeneratedName {
		t.Errorf("a name that fits became %q", got)
	}
}
