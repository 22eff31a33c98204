package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadConfiguration(t *testing.T) {
	folder := builtFunctions(t)
	for _, test := range []struct {
		name    string
		context map[string]any
		want    configuration
	}{
		{
			name:    "defaults",
			context: map[string]any{"clusters": "prod"},
			want:    configuration{clusters: []string{"prod"}, architecture: "arm64", interval: 10 * time.Second},
		},
		{
			name:    "everything given",
			context: map[string]any{"clusters": "prod, staging_2", "architecture": "x86_64", "interval": "5s", "preferencePolicy": "Ignore", "minValuesPolicy": "BestEffort", "reservedENIs": 1, "vmMemoryOverheadPercent": "0.05"},
			want: configuration{
				clusters: []string{"prod", "staging_2"}, architecture: "x86_64", interval: 5 * time.Second, preferencePolicy: "Ignore", minValuesPolicy: "BestEffort",
				reservedENIs: "1", vmMemoryOverheadPercent: "0.05",
			},
		},
		{
			name:    "a list as cdk.json may hold",
			context: map[string]any{"clusters": []any{"b", "a"}, "interval": "1m"},
			want:    configuration{clusters: []string{"b", "a"}, architecture: "arm64", interval: time.Minute},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.context["functions"] = folder
			got, err := readConfiguration(func(key string) any { return test.context[key] })
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.clusters, test.want.clusters) || got.architecture != test.want.architecture || got.interval != test.want.interval ||
				got.preferencePolicy != test.want.preferencePolicy || got.minValuesPolicy != test.want.minValuesPolicy ||
				got.reservedENIs != test.want.reservedENIs || got.vmMemoryOverheadPercent != test.want.vmMemoryOverheadPercent {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if got.functions != folder {
				t.Errorf("functions folder %q, want %q", got.functions, folder)
			}
		})
	}
}

func TestReadConfigurationRefuses(t *testing.T) {
	folder := builtFunctions(t)
	unbuilt, flat := builtFunctions(t), builtFunctions(t)
	if err := os.RemoveAll(filepath.Join(unbuilt, "disrupt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(flat, "catalog", "bootstrap"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		context map[string]any
		want    []string // what the message must say: the key, the fault and the mend
	}{
		{"no clusters", map[string]any{}, []string{"context clusters", "no cluster given", "-c clusters=prod"}},
		{"an empty list", map[string]any{"clusters": " "}, []string{"no cluster given", "-c clusters=prod"}},
		{"an empty name", map[string]any{"clusters": "prod,,dev"}, []string{"context clusters", "empty", "single commas"}},
		{"a dot in a name", map[string]any{"clusters": "prod.eu"}, []string{"context clusters", `"prod.eu"`, "aws eks list-clusters"}},
		{"a hyphen first", map[string]any{"clusters": "-prod"}, []string{`"-prod"`, "letter or digit first"}},
		{"an ARN", map[string]any{"clusters": "arn:aws:eks:us-east-1:123456789012:cluster/prod"}, []string{"context clusters", "aws eks list-clusters"}},
		{"a newline", map[string]any{"clusters": "prod\nx"}, []string{"context clusters", `"prod\nx"`}},
		{"a long name", map[string]any{"clusters": strings.Repeat("a", 101)}, []string{"101 characters", "EKS allows 100"}},
		{"a name twice", map[string]any{"clusters": "prod,dev,prod"}, []string{`"prod" is given twice`, "once"}},
		{"too many", map[string]any{"clusters": "a,b,c,d,e,f,g,h,i"}, []string{"9 clusters", "room for 7"}},
		{"a number", map[string]any{"clusters": 7.0}, []string{"context clusters", "7", "-c clusters="}},
		{"a number in a list", map[string]any{"clusters": []any{"prod", 7.0}}, []string{"context clusters", "7", `["prod", "staging"]`}},
		{"reserved interfaces that are no number", map[string]any{"clusters": "prod", "reservedENIs": "one"}, []string{"context reservedENIs", `"one"`, "-c reservedENIs=NUMBER"}},
		{"fewer than no interfaces", map[string]any{"clusters": "prod", "reservedENIs": -1}, []string{"context reservedENIs", `"-1"`}},
		{"an overhead in percent", map[string]any{"clusters": "prod", "vmMemoryOverheadPercent": 7.5}, []string{"context vmMemoryOverheadPercent", `"7.5"`, "a fraction"}},
		{"an unknown policy", map[string]any{"clusters": "prod", "preferencePolicy": "ignore"}, []string{"context preferencePolicy", `"ignore"`, "-c preferencePolicy=Respect", "-c preferencePolicy=Ignore"}},
		{"every parameter", map[string]any{"clusters": "prod", "imageParameters": "/*"}, []string{"context imageParameters", `"/*"`, "-c imageParameters=/images/*"}},
		{"a parameter that is not absolute", map[string]any{"clusters": "prod", "imageParameters": "/a/b, images"}, []string{"context imageParameters", `"images"`}},
		{"a switch that is neither", map[string]any{"clusters": "prod", "disableDryRun": "yes"}, []string{"context disableDryRun", `"yes"`, "-c disableDryRun=true"}},
		{"a policy that is no word", map[string]any{"clusters": "prod", "minValuesPolicy": true}, []string{"context minValuesPolicy", `"true"`, "-c minValuesPolicy=BestEffort"}},
		{"a topic that is a name", map[string]any{"clusters": "prod", "alarmTopic": "pages"}, []string{"context alarmTopic", `"pages"`, "-c alarmTopic=arn:aws:sns:"}},
		{"an unknown architecture", map[string]any{"clusters": "prod", "architecture": "riscv"}, []string{"context architecture", `"riscv"`, "arm64", "x86_64"}},
		{"Go's name of an architecture", map[string]any{"clusters": "prod", "architecture": "amd64"}, []string{"context architecture", "-c architecture=x86_64"}},
		{"an architecture that is a list", map[string]any{"clusters": "prod", "architecture": []any{"arm64"}}, []string{"context architecture", "[arm64]"}},
		{"an interval without a unit", map[string]any{"clusters": "prod", "interval": 10.0}, []string{"context interval", `"10"`, "10s"}},
		{"an interval that divides nothing", map[string]any{"clusters": "prod", "interval": "7s"}, []string{"context interval", "7s", "10s"}},
		{"a short interval", map[string]any{"clusters": "prod", "interval": "500ms"}, []string{"context interval", "500ms"}},
		{"a broken second", map[string]any{"clusters": "prod", "interval": "1500ms"}, []string{"context interval", "1500ms"}},
		{"a long interval", map[string]any{"clusters": "prod", "interval": "2m"}, []string{"context interval", "2m", "1m"}},
		{"a negative interval", map[string]any{"clusters": "prod", "interval": "-10s"}, []string{"context interval", "-10s"}},
		{"no folder", map[string]any{"clusters": "prod", "functions": filepath.Join(folder, "nowhere")}, []string{"context functions", "ticker", "make build"}},
		{"the other architecture not built", map[string]any{"clusters": "prod", "functions": unbuilt, "architecture": "x86_64"}, []string{"context functions", "`make build architecture=x86_64`"}},
		{"a function not built", map[string]any{"clusters": "prod", "functions": unbuilt}, []string{"context functions", "disrupt", "make build"}},
		{"not executable", map[string]any{"clusters": "prod", "functions": flat}, []string{"context functions", "catalog", "not an executable file", "make build"}},
		{"a folder that is a number", map[string]any{"clusters": "prod", "functions": 1.0}, []string{"context functions", "-c functions="}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, ok := test.context["functions"]; !ok {
				test.context["functions"] = folder
			}
			_, err := readConfiguration(func(key string) any { return test.context[key] })
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("message %q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("message %q has more than one line", err)
			}
		})
	}
}

func TestCheckBootstrapKnowsTheProcessor(t *testing.T) {
	// The first 64 bytes of a 64-bit ELF file name its processor at offset 18.
	header := func(machine byte) string {
		h := make([]byte, 64)
		copy(h, "\x7fELF\x02\x01\x01")
		h[16], h[18], h[20] = 2, machine, 1
		h[52] = 64
		return string(h)
	}
	const amd64, arm64 = 62, 183
	for _, test := range []struct {
		name, content, architecture string
		want                        string
	}{
		{"arm64", header(arm64), "arm64", ""},
		{"x86_64", header(amd64), "x86_64", ""},
		{"x86_64 for arm64", header(amd64), "arm64", "EM_X86_64"},
		{"arm64 for x86_64", header(arm64), "x86_64", "EM_AARCH64"},
		{"a script", "#!/bin/sh\n", "arm64", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			writeBootstrap(t, folder, "ticker", test.content, 0o755)
			err := checkBootstrap(folder, "ticker", test.architecture)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want a message with %s", err, test.want)
			}
		})
	}
}
