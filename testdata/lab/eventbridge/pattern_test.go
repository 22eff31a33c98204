package eventbridge

import (
	"strings"
	"testing"
)

// The examples follow https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
func TestMatch(t *testing.T) {
	spot := `{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning",` +
		`"resources":["arn:aws:ec2:us-east-1b:instance/i-1"],"detail":{"instance-id":"i-1","instance-action":"terminate"}}`
	for _, test := range []struct {
		name, pattern, event string
		want                 bool
	}{
		{"spot interruption", `{"source":["aws.ec2"],"detail-type":["EC2 Spot Instance Interruption Warning"]}`, spot, true},
		{"other detail type", `{"source":["aws.ec2"],"detail-type":["EC2 Instance Rebalance Recommendation"]}`, spot, false},
		{"nested list", `{"detail":{"instance-action":["stop","terminate"]}}`, spot, true},
		{"nested miss", `{"detail":{"instance-action":["stop"]}}`, spot, false},
		{"value in an array", `{"resources":["arn:aws:ec2:us-east-1b:instance/i-1","other"]}`, spot, true},
		{"value in no array", `{"resources":["other"]}`, spot, false},
		{"keys are case sensitive", `{"Source":["aws.ec2"]}`, spot, false},
		{"values are case sensitive", `{"source":["AWS.ec2"]}`, spot, false},
		{"absent field", `{"region":["us-east-1"]}`, spot, false},
		{"object where a value is wanted", `{"detail":["x"]}`, spot, false},
		{"value where an object is wanted", `{"source":{"name":["aws.ec2"]}}`, spot, false},

		{"empty string", `{"a":[""]}`, `{"a":""}`, true},
		{"empty string is not null", `{"a":[""]}`, `{"a":null}`, false},
		{"boolean", `{"a":[true]}`, `{"a":true}`, true},
		{"boolean is not text", `{"a":["true"]}`, `{"a":true}`, false},
		{"number", `{"a":[300]}`, `{"a":300}`, true},
		{"numbers match by their text", `{"a":[300]}`, `{"a":300.0}`, false},
		{"number is not text", `{"a":[300]}`, `{"a":"300"}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			pattern, err := parsePattern([]byte(test.pattern))
			if err != nil {
				t.Fatal(err)
			}
			got, err := pattern.match([]byte(test.event))
			if err != nil || got != test.want {
				t.Errorf("%s on %s: %v, %v; want %v", test.pattern, test.event, got, err, test.want)
			}
		})
	}
}

func TestParsePatternRefuses(t *testing.T) {
	for _, test := range []struct{ pattern, says string }{
		{``, "not JSON"},
		{`[]`, "JSON object"},
		{`{}`, "empty objects"},
		{`{"a":{}}`, "at a"},
		{`{"a":[]}`, "empty arrays"},
		{`{"a":"x"}`, `["x"]`},
		{`{"a":[["x"]]}`, `at a: ["x"] is not simulated`},
		{`{"a":[null]}`, "at a: null is not simulated"},
		{`{"a":{"b":[{"prefix":"x"}]}}`, `at a.b: the operator {"prefix":"x"} is not simulated`},
		{`{"$or":[{"a":[1]},{"b":[1]}]}`, "$or is not simulated"},
		{`{"a":[1]} {}`, "behind"},
	} {
		_, err := parsePattern([]byte(test.pattern))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want one that says %q", test.pattern, err, test.says)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add(`{"source":["aws.ec2"],"detail":{"state":["a",1e-99999,true]}}`, `{"source":"aws.ec2","detail":{"state":"b"}}`)
	f.Add(`{"a":[1]}`, `{"a":[1.5,[2],{"a":1}],"b":null}`)
	f.Fuzz(func(t *testing.T, patternText, eventText string) {
		pattern, err := parsePattern([]byte(patternText))
		if err != nil {
			return
		}
		first, err := pattern.match([]byte(eventText))
		if err != nil {
			return
		}
		again, err := pattern.match([]byte(eventText))
		if err != nil || first != again {
			t.Errorf("%q on %q: %v, then %v, %v", patternText, eventText, first, again, err)
		}
	})
}
