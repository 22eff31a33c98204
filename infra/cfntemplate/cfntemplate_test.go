package cfntemplate

import (
	"encoding/json"
	"strings"
	"testing"
)

// small is a bundle with a template of each kind of placeholder.
func small(t *testing.T) *Bundle {
	t.Helper()
	plain := `{"Description":"for ` + ReservedCluster + `","Resources":{
		"` + LogicalID([]string{ReservedCluster, "Queue", "Resource"}) + `":{"Type":"Queue","Properties":{
			"Name":"` + reservedPrefix + `-a","Topic":"TOPIC","Days":2922,"Number":1e3,"Empty":{},"None":[],
			"Actions":["TOPIC"],"Both":["TOPIC","x"],"Role":{"Name":"ROLE"},
			"kubernetes.io/cluster/` + ReservedCluster + `":"owned"}},
		"` + LogicalID([]string{ReservedCluster, "Function"}) + `":{"Type":"F","Properties":{
			"Code":{"S3Bucket":"` + CodeBucket + `","S3Key":"` + CodeKey + `ticker"},"Hash":"` + ManifestHash + `",
			"Sub":"${` + LogicalID([]string{ReservedCluster, "Queue", "Resource"}) + `.Arn}","Subnets":["SUBNET"]}}}}`
	made := &Bundle{
		Version: "1", Functions: []string{"ticker"},
		Settings: []Setting{
			{Key: "dryRun", Pattern: "true|false", Default: "false", Shapes: map[string]string{"true": "dry"}, Example: "true"},
			{Key: "topic", Pattern: "[a-z]+", Placeholder: "TOPIC", Example: "pages"},
			{Key: "days", Pattern: "1|3", Default: "3", Placeholder: "2922", Example: "1"},
			{Key: "role", Pattern: "[a-z/]+", Placeholder: "ARN", NameOf: "ROLE", Example: "a/b"},
			{Key: "subnets", Pattern: "s[0-9]", List: true, Placeholder: "SUBNET", Needs: []string{"groups"}, Example: "s1"},
			{Key: "groups", Pattern: "g[0-9]", List: true, Needs: []string{"subnets"}, Example: "g1"},
			{Key: "own", Pattern: "g[0-9]", Alone: "groups", Example: "g2"},
			{Key: "interval", Pattern: "[0-9]+[sm]", Duration: true, Default: "10s", Placeholder: "INTERVAL", Example: "5s"},
		},
		Paths: map[string]string{
			LogicalID([]string{ReservedCluster, "Queue", "Resource"}): "Queue/Resource",
			LogicalID([]string{ReservedCluster, "Function"}):          "Function",
		},
		Templates: map[string]json.RawMessage{"": json.RawMessage(plain)},
	}
	packed, err := made.Write()
	if err != nil {
		t.Fatal(err)
	}
	again, err := made.Write()
	if err != nil || string(again) != string(packed) {
		t.Error("the same bundle gives other bytes")
	}
	read, err := Read(packed)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestRender compares whole templates.
func TestRender(t *testing.T) {
	for _, test := range []struct {
		name string
		set  map[string]string
		want string
	}{
		{"defaults", nil, `{"Description":"for prod","Resources":{` +
			`"prodFunctionB5A0AB9A":{"Properties":{"Code":{"S3Bucket":"zips","S3Key":"a/ticker.zip"},"Hash":"0a",` +
			`"Sub":"${prodQueue2C1A6E3F.Arn}"},"Type":"F"},` +
			`"prodQueue2C1A6E3F":{"Properties":{"Both":["x"],"Days":3,"Empty":{},"Name":"whittle-prod-a","None":[],` +
			`"Number":1e3,"kubernetes.io/cluster/prod":"owned"},"Type":"Queue"}}}`},
		{"values", map[string]string{"topic": "pages", "days": "1", "role": "team/nodes", "subnets": "s1, s2", "groups": "g1"},
			`{"Description":"for prod","Resources":{` +
				`"prodFunctionB5A0AB9A":{"Properties":{"Code":{"S3Bucket":"zips","S3Key":"a/ticker.zip"},"Hash":"0a",` +
				`"Sub":"${prodQueue2C1A6E3F.Arn}","Subnets":["s1","s2"]},"Type":"F"},` +
				`"prodQueue2C1A6E3F":{"Properties":{"Actions":["pages"],"Both":["pages","x"],"Days":1,"Empty":{},` +
				`"Name":"whittle-prod-a","None":[],"Number":1e3,"Role":{"Name":"nodes"},"Topic":"pages",` +
				`"kubernetes.io/cluster/prod":"owned"},"Type":"Queue"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := small(t).Render(Input{Cluster: "prod", Bucket: "zips", Folder: "a", ManifestHash: "0a", Set: test.set})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer(
				"prodFunctionB5A0AB9A", LogicalID([]string{"prod", "Function"}),
				"prodQueue2C1A6E3F", LogicalID([]string{"prod", "Queue", "Resource"}),
			).Replace(test.want)
			if got := compact(t, text); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(written)
}

// TestRenderRefuses checks that each message names the setting and a remedy.
func TestRenderRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		cluster string
		set     map[string]string
		want    []string
	}{
		"a cluster's ARN":      {"arn:aws:eks", nil, []string{`"arn:aws:eks"`, "aws eks list-clusters"}},
		"a long name":          {strings.Repeat("n", 101), nil, []string{"101 characters"}},
		"the reserved name":    {ReservedCluster, nil, []string{"is reserved"}},
		"a near miss":          {"prod", map[string]string{"topics": "x"}, []string{"topics: ", "did you mean topic?"}},
		"an unknown setting":   {"prod", map[string]string{"kmsKey": "x"}, []string{"kmsKey: ", "the CDK", "days, dryRun"}},
		"a wrong value":        {"prod", map[string]string{"days": "2"}, []string{`days: "2"`, "days=1"}},
		"a part of a value":    {"prod", map[string]string{"days": "13"}, []string{`days: "13"`}},
		"a wrong item":         {"prod", map[string]string{"subnets": "s1,x", "groups": "g1"}, []string{`subnets: "x"`}},
		"a setting alone":      {"prod", map[string]string{"subnets": "s1"}, []string{"subnets: it needs groups too"}},
		"two of a list":        {"prod", map[string]string{"subnets": "s1", "groups": "g1,g2", "own": "g3"}, []string{"own: more"}},
		"its own group":        {"prod", map[string]string{"subnets": "s1", "groups": "g2", "own": "g2"}, []string{"needs no rule"}},
		"a shape that lacks":   {"prod", map[string]string{"dryRun": "true"}, []string{"no template with dry", "the CDK"}},
		"a duration of a year": {"prod", map[string]string{"interval": "1y"}, []string{`interval: "1y"`, "interval=5s"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := small(t).Render(Input{Cluster: test.cluster, Set: test.set})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: it lacks %q", err, part)
				}
			}
		})
	}
}

// TestDurationsHaveGosForm is about values that users write otherwise than templates do.
func TestDurationsHaveGosForm(t *testing.T) {
	values, err := small(t).Values(map[string]string{"interval": "1m"})
	if err != nil || values["interval"] != "1m0s" {
		t.Errorf("%v, %v", values, err)
	}
}

// TestReadRefuses is about files that are damaged or of another version.
func TestReadRefuses(t *testing.T) {
	if _, err := Read([]byte("x")); err == nil || !strings.Contains(err.Error(), "take the release again") {
		t.Errorf("%v", err)
	}
	packed, err := (&Bundle{}).Write()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(packed); err != nil {
		t.Error(err)
	}
	if _, err := Read(packed[:len(packed)-9]); err == nil {
		t.Error("half a file is accepted")
	}
}

// TestLogicalIDs has ids that the CDK made.
func TestLogicalIDs(t *testing.T) {
	for path, want := range map[string]string{
		"Alone": "Alone",
		ReservedCluster + "/Catalog/Log/Resource": "ZZwhittleZZclusterZZCatalogLogE18CA83E",
		ReservedCluster + "/Ticker/Log/Resource":  "ZZwhittleZZclusterZZTickerLog9623EB7B",
	} {
		if got := LogicalID(strings.Split(path, "/")); got != want {
			t.Errorf("%s has the id %s, want %s", path, got, want)
		}
	}
	if got := LogicalID([]string{"aTicker", "Ticker", "Default", "Resource"}); !strings.HasPrefix(got, "aTicker") ||
		len(got) != len("aTicker")+8 {
		t.Errorf("a repetition has the id %s", got)
	}
}
