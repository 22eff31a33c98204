package eventbridge

import (
	"strings"
	"testing"
)

// The examples follow the operators that AWS documents at
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
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
		{"keys are case sensitive", `{"Source":["aws.ec2"]}`, spot, false},
		{"values are case sensitive", `{"source":["AWS.ec2"]}`, spot, false},
		{"absent field", `{"region":["us-east-1"]}`, spot, false},
		{"object where a value is wanted", `{"detail":["x"]}`, spot, false},
		{"value where an object is wanted", `{"source":{"name":["aws.ec2"]}}`, spot, false},

		{"null", `{"a":[null]}`, `{"a":null}`, true},
		{"null is not absent", `{"a":[null]}`, `{}`, false},
		{"empty string", `{"a":[""]}`, `{"a":""}`, true},
		{"empty string is not null", `{"a":[""]}`, `{"a":null}`, false},
		{"boolean", `{"a":[true]}`, `{"a":true}`, true},
		{"boolean is not text", `{"a":["true"]}`, `{"a":true}`, false},
		{"number", `{"a":[300]}`, `{"a":300}`, true},
		{"numbers match by their text", `{"a":[300]}`, `{"a":300.0}`, false},
		{"number is not text", `{"a":[300]}`, `{"a":"300"}`, false},

		{"prefix", `{"time":[{"prefix":"2026-11"}]}`, `{"time":"2026-11-21T10:00:00Z"}`, true},
		{"prefix miss", `{"time":[{"prefix":"2026-12"}]}`, `{"time":"2026-11-21T10:00:00Z"}`, false},
		{"prefix of a number", `{"a":[{"prefix":"3"}]}`, `{"a":300}`, false},
		{"prefix ignoring case", `{"a":[{"prefix":{"equals-ignore-case":"EventB"}}]}`, `{"a":"EVENTBridge"}`, true},
		{"suffix", `{"file":[{"suffix":".png"}]}`, `{"file":"a.png"}`, true},
		{"suffix miss", `{"file":[{"suffix":".png"}]}`, `{"file":"a.png.txt"}`, false},
		{"suffix ignoring case", `{"file":[{"suffix":{"equals-ignore-case":".PNG"}}]}`, `{"file":"a.png"}`, true},
		{"equals ignoring case", `{"a":[{"equals-ignore-case":"Alice"}]}`, `{"a":"aLICE"}`, true},
		{"equals ignoring case miss", `{"a":[{"equals-ignore-case":"Alice"}]}`, `{"a":"alice2"}`, false},

		{"wildcard", `{"path":[{"wildcard":"dir/*.png"}]}`, `{"path":"dir/a/b.png"}`, true},
		{"wildcard miss", `{"path":[{"wildcard":"dir/*.png"}]}`, `{"path":"dir/b.jpg"}`, false},
		{"wildcards", `{"path":[{"wildcard":"*/lib/*"}]}`, `{"path":"a/lib/b/lib/c"}`, true},
		{"wildcard matches nothing at its place", `{"a":[{"wildcard":"ab*cd"}]}`, `{"a":"abcd"}`, true},
		{"wildcard does not overlap", `{"a":[{"wildcard":"aba*aba"}]}`, `{"a":"ababa"}`, false},
		{"escaped asterisk", `{"a":[{"wildcard":"1\\*2*"}]}`, `{"a":"1*2 is 2"}`, true},
		{"escaped asterisk is no wildcard", `{"a":[{"wildcard":"1\\*2"}]}`, `{"a":"1x2"}`, false},
		{"escaped backslash", `{"a":[{"wildcard":"c:\\\\*"}]}`, `{"a":"c:\\x"}`, true},

		{"anything but", `{"state":[{"anything-but":"initializing"}]}`, `{"state":"running"}`, true},
		{"anything but miss", `{"state":[{"anything-but":"initializing"}]}`, `{"state":"initializing"}`, false},
		{"anything but needs a value", `{"state":[{"anything-but":"initializing"}]}`, `{}`, false},
		{"anything but a list", `{"state":[{"anything-but":["a","b"]}]}`, `{"state":"b"}`, false},
		{"anything but numbers", `{"n":[{"anything-but":[100,200]}]}`, `{"n":300}`, true},
		{"anything but a number", `{"n":[{"anything-but":100}]}`, `{"n":100}`, false},
		{"anything but a prefix", `{"r":[{"anything-but":{"prefix":"us-"}}]}`, `{"r":"eu-west-1"}`, true},
		{"anything but a prefix miss", `{"r":[{"anything-but":{"prefix":"us-"}}]}`, `{"r":"us-east-1"}`, false},
		{"anything but prefixes", `{"r":[{"anything-but":{"prefix":["us-","eu-"]}}]}`, `{"r":"eu-west-1"}`, false},
		{"anything but a suffix", `{"f":[{"anything-but":{"suffix":".png"}}]}`, `{"f":"a.jpg"}`, true},
		{
			"anything but ignoring case", `{"s":[{"anything-but":{"equals-ignore-case":["starting","Stopped"]}}]}`,
			`{"s":"STOPPED"}`, false,
		},
		{"anything but a wildcard", `{"f":[{"anything-but":{"wildcard":"*/lib/*"}}]}`, `{"f":"usr/bin/x"}`, true},
		{"anything but, one element is enough", `{"s":[{"anything-but":"a"}]}`, `{"s":["a","b"]}`, true},

		{"above", `{"p":[{"numeric":[">",10]}]}`, `{"p":10.5}`, true},
		{"range", `{"p":[{"numeric":[">",10,"<=",20]}]}`, `{"p":20}`, true},
		{"range miss", `{"p":[{"numeric":[">",10,"<=",20]}]}`, `{"p":10}`, false},
		{"range the other way round", `{"p":[{"numeric":["<",20,">=",10]}]}`, `{"p":10}`, true},
		{"numeric equality ignores the form", `{"p":[{"numeric":["=",3.018e2]}]}`, `{"p":301.8}`, true},
		{"numeric is not for text", `{"p":[{"numeric":["=",300]}]}`, `{"p":"300"}`, false},
		{"tiny exponent", `{"p":[{"numeric":["=",0]}]}`, `{"p":1e-999999999}`, true},
		{"huge exponent", `{"p":[{"numeric":[">",0]}]}`, `{"p":1e999999999}`, false},

		{"exists", `{"a":[{"exists":true}]}`, `{"a":null}`, true},
		{"exists miss", `{"a":[{"exists":true}]}`, `{"b":1}`, false},
		{"does not exist", `{"detail":{"a":[{"exists":false}]}}`, `{"detail":{"b":1}}`, true},
		{"does not exist, nor does its parent", `{"detail":{"a":[{"exists":false}]}}`, `{"b":1}`, true},
		{"does not exist miss", `{"a":[{"exists":false}]}`, `{"a":""}`, false},
		{"exists is for leaves", `{"a":[{"exists":true}]}`, `{"a":{"b":1}}`, false},
		{"an empty array is not there", `{"a":[{"exists":false}]}`, `{"a":[]}`, true},

		{"network", `{"ip":[{"cidr":"10.0.0.0/24"}]}`, `{"ip":"10.0.0.17"}`, true},
		{"network miss", `{"ip":[{"cidr":"10.0.0.0/24"}]}`, `{"ip":"10.0.1.17"}`, false},
		{"network of version 6", `{"ip":[{"cidr":"2001:db8::/32"}]}`, `{"ip":"2001:db8::1"}`, true},
		{"not an address", `{"ip":[{"cidr":"10.0.0.0/24"}]}`, `{"ip":"host"}`, false},

		{"or, first", `{"$or":[{"place":["Paris"]},{"day":["Monday"]}]}`, `{"place":"Paris","day":"Friday"}`, true},
		{"or, second", `{"$or":[{"place":["Paris"]},{"day":["Monday"]}]}`, `{"place":"Rome","day":"Monday"}`, true},
		{"or, none", `{"$or":[{"place":["Paris"]},{"day":["Monday"]}]}`, `{"place":"Rome","day":"Friday"}`, false},
		{"or beside fields", `{"kind":["a"],"$or":[{"x":[1]},{"y":[{"exists":true}]}]}`, `{"kind":"b","x":1}`, false},
		{"or below", `{"detail":{"$or":[{"x":[1]},{"y":[2]}]}}`, `{"detail":{"y":2}}`, true},
		{"or within or", `{"$or":[{"a":[1]},{"$or":[{"b":[1]},{"c":[1]}]}]}`, `{"c":1}`, true},

		{"array of objects", `{"list":{"k":["a"],"v":[1]}}`, `{"list":[{"k":"b","v":2},{"k":"a","v":1}]}`, true},
		{"fields of one element", `{"list":{"k":["a"],"v":[1]}}`, `{"list":[{"k":"a","v":2},{"k":"b","v":1}]}`, false},
		{
			"fields of one element with or", `{"list":{"k":["a"],"$or":[{"v":[1]},{"w":[1]}]}}`,
			`{"list":[{"k":"a","v":2},{"k":"b","v":1}]}`, false,
		},
		{"array in array", `{"a":["x"]}`, `{"a":[["y","x"]]}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			pattern, err := parsePattern([]byte(test.pattern))
			if err != nil {
				t.Fatal(err)
			}
			got, err := pattern.Match([]byte(test.event))
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
		{`{"a":[["x"]]}`, "nest"},
		{`{"a":[{"prefix":1}]}`, "takes a string"},
		{`{"a":[{"prefix":""}]}`, "not empty"},
		{`{"a":[{"like":"x"}]}`, "unknown operator"},
		{`{"a":[{"prefix":"x","suffix":"y"}]}`, "exactly one key"},
		{`{"a":[{"wildcard":"a**b"}]}`, "consecutive"},
		{`{"a":[{"wildcard":"a\\b"}]}`, "backslash"},
		{`{"a":[{"numeric":[">"]}]}`, "numeric"},
		{`{"a":[{"numeric":["!=",1]}]}`, "none of"},
		{`{"a":[{"numeric":[">","1"]}]}`, "not a number"},
		{`{"a":[{"numeric":[">",6e9]}]}`, "5e9"},
		{`{"a":[{"numeric":[">",5,"<",5]}]}`, "lower bound"},
		{`{"a":[{"numeric":[">",5,">",6]}]}`, "one lower and one upper"},
		{`{"a":[{"exists":"yes"}]}`, "true or false"},
		{`{"a":[{"cidr":"10.0.0.0"}]}`, "network"},
		{`{"a":[{"anything-but":[]}]}`, "at least one"},
		{`{"a":[{"anything-but":null}]}`, "strings and numbers"},
		{`{"a":[{"anything-but":{"numeric":["=",1]}}]}`, "not \"numeric\""},
		{`{"$or":[{"a":[1]}]}`, "at least two"},
		{`{"$or":[1,2]}`, "must be objects"},
		{`{"a":[1]} {}`, "behind"},
	} {
		_, err := parsePattern([]byte(test.pattern))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want one that says %q", test.pattern, err, test.says)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add(`{"source":["aws.ec2"],"detail":{"state":[{"anything-but":["a"]}]}}`,
		`{"source":"aws.ec2","detail":{"state":"b"}}`)
	f.Add(`{"$or":[{"a":[{"numeric":[">",1,"<",2]}]},{"b":[{"wildcard":"*x\\**"}]}]}`, `{"a":[1.5,[2]],"b":null}`)
	f.Add(`{"a":[{"cidr":"::/0"},{"prefix":{"equals-ignore-case":"x"}},{"exists":false}]}`, `{"a":{"b":1e-99999}}`)
	f.Fuzz(func(t *testing.T, patternText, eventText string) {
		pattern, err := parsePattern([]byte(patternText))
		if err != nil {
			return
		}
		first, err := pattern.Match([]byte(eventText))
		if err != nil {
			return
		}
		again, err := pattern.Match([]byte(eventText))
		if err != nil || first != again {
			t.Errorf("%q on %q: %v, then %v, %v", patternText, eventText, first, again, err)
		}
	})
}
