package infra

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
)

// bundleOf makes the templates of some shapes.
func bundleOf(t *testing.T, shapes ...[]string) *cfntemplate.Bundle {
	t.Helper()
	var settings struct{ Context map[string]any }
	decodeFile(t, filepath.Join("..", "cdk.json"), &settings)
	made, err := makeBundle(settings.Context, shapes)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := made.Write()
	if err != nil {
		t.Fatal(err)
	}
	read, err := cfntemplate.Read(packed)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// render renders a template for a cluster with settings.
func render(t *testing.T, bundle *cfntemplate.Bundle, cluster string, set map[string]string) []byte {
	t.Helper()
	text, err := bundle.Render(cfntemplate.Input{
		Cluster: cluster, Bucket: "zips", Folder: "a/b", ManifestHash: "0a1b", Set: set,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withoutCode returns a template without the place of its code, which is another for each release.
func withoutCode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	for id, resource := range decoded["Resources"].(map[string]any) {
		properties, _ := resource.(map[string]any)["Properties"].(map[string]any)
		if _, ok := properties["ManifestHash"]; ok {
			properties["ManifestHash"] = "HASH"
		}
		if resource.(map[string]any)["Type"] == "AWS::Lambda::Function" {
			if code, _ := properties["Code"].(map[string]any); code["S3Bucket"] == nil || code["S3Key"] == nil {
				t.Errorf("%s has the code %v", id, properties["Code"])
			}
			delete(properties, "Code")
		}
	}
	return decoded
}

// TestRenderedTemplatesAreTheSynthesizedOnes compares, for names of every kind, what the command line
// renders with what the CDK synthesizes.
func TestRenderedTemplatesAreTheSynthesizedOnes(t *testing.T) {
	bundle := bundleOf(t, []string{"arm64"})
	built := builtFunctions(t)
	for _, cluster := range []string{
		"prod", "a", "Z", "zz-9", "a_b", "a-b", "A_b", "a__b", "prod-", "prod_", "Ticker", "my-Provision", "Resource",
		"Default", "ZZwhittle", "xTickerSchedule", strings.Repeat("n", 100), strings.Repeat("n", 46),
		strings.Repeat("n", 47), "n" + strings.Repeat("_", 99), "Prod-" + strings.Repeat("aB_", 30),
	} {
		want := synthesizeWith(t, map[string]any{"clusters": cluster, "functions": built})
		got := render(t, bundle, cluster, nil)
		for _, line := range differences("", withoutCode(t, want.text), withoutCode(t, got)) {
			t.Fatalf("%s: %s", cluster, line)
		}
	}
}

// TestRenderedSettingsAreTheSynthesizedOnes does so for settings.
func TestRenderedSettingsAreTheSynthesizedOnes(t *testing.T) {
	network := map[string]string{"subnets": "subnet-0a1b2c3d, subnet-4e5f6a7b", "securityGroups": "sg-0a1b2c3d,sg-5a6b7c8d"}
	values := map[string]string{
		"interval": "1m", "quietAfter": "1h", "logRetention": "30", "admission": "deny", "preferencePolicy": "Ignore",
		"minValuesPolicy": "BestEffort", "karpenterServiceAccounts": "a/b, c/d", "reservedENIs": "1",
		"vmMemoryOverheadPercent": "0.05", "alarmTopic": "arn:aws:sns:us-east-1:123456789012:pages",
		"permissionBoundary": "arn:aws-us-gov:iam::123456789012:policy/team/boundary", "terminationProtection": "false",
	}
	role := map[string]string{"nodeRole": "arn:aws:iam::123456789012:role/team/nodes"}
	with := func(all ...map[string]string) map[string]string {
		joined := map[string]string{}
		for _, one := range all {
			maps.Copy(joined, one)
		}
		return joined
	}
	rule := with(network, map[string]string{"securityGroups": "sg-0a1b2c3d", "clusterSecurityGroup": "sg-4e5f6a7b"})
	configMap := map[string]string{"authenticationMode": "CONFIG_MAP"}
	dry := map[string]string{"dryRun": "true", "architecture": "x86_64"}
	bundle := bundleOf(t,
		[]string{"arm64"}, []string{"arm64", "network"}, []string{"arm64", "network", "rule", "configMap"},
		[]string{"x86_64", "dryRun", "nodeRole"}, []string{"x86_64", "dryRun", "nodeRole", "network", "rule", "configMap"},
		[]string{"arm64", "nodeRole", "configMap"},
	)
	built := builtFunctions(t)
	for _, set := range []map[string]string{
		values, with(network, values), with(rule, configMap), with(dry, role), with(values, rule, configMap, dry, role),
		with(role, configMap),
	} {
		given := map[string]any{"clusters": "prod_eu-1", "functions": built}
		for key, value := range set {
			given[key] = value
		}
		want := synthesizeWith(t, given)
		got := render(t, bundle, "prod_eu-1", set)
		for _, line := range differences("", withoutCode(t, want.text), withoutCode(t, got)) {
			t.Errorf("%v: %s", set, line)
		}
	}
}

// TestARenderedTemplateHasItsCode checks the parts that no synthesized template has. `make synth` checks
// these templates by programs that others wrote.
func TestARenderedTemplateHasItsCode(t *testing.T) {
	bundle := bundleOf(t, []string{"arm64"}, []string{"arm64", "network", "rule"})
	text := render(t, bundle, "prod", nil)
	others := render(t, bundle, "prod", map[string]string{
		"subnets": "subnet-0a1b2c3d,subnet-4e5f6a7b", "securityGroups": "sg-0a1b2c3d", "clusterSecurityGroup": "sg-4e5f6a7b",
		"interval": "5s", "alarmTopic": "arn:aws:sns:us-east-1:123456789012:pages",
	})
	made := parse(t, text)
	for _, name := range functionNames() {
		_, f := made.function(t, "whittle-prod-"+name)
		want := `{"S3Bucket":"zips","S3Key":"a/b/` + name + `.zip"}`
		if got := encoded(t, f.Properties["Code"]); got != want {
			t.Errorf("%s has the code %s, want %s", name, got, want)
		}
	}
	if _, install := installation(t, made); install.Properties["ManifestHash"] != "0a1b" {
		t.Errorf("install has the hash %v", install.Properties["ManifestHash"])
	}
	for name, text := range map[string][]byte{"release": text, "release-settings": others} {
		if strings.Contains(string(text), "ZZ") {
			t.Errorf("a placeholder is left in %s", name)
		}
		folder := os.Getenv(templatesVariable)
		if folder == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name+".template.json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTemplatesAcceptWhatSettingsAccept compares the patterns with the settings' own checks.
func TestTemplatesAcceptWhatSettingsAccept(t *testing.T) {
	samples := []string{
		"true", "false", "0", "1", "7", "10", "14", "15", "30", "0.05", "1.0", "-1", "7s", "10s", "1m", "60s", "61s", "9s",
		"99s", "2m", "59m", "60m", "61m", "1h", "2h", "arm64", "x86_64", "amd64", "API", "CONFIG_MAP", "audit", "deny", "off",
		"Respect", "Ignore", "Strict", "BestEffort", "a/b", "a/b,c/d", "a", "subnet-0a1b2c3d", "subnet-0a1b2c3d,subnet-4e5f6a7b",
		"sg-0a1b2c3d", "sg-xyz", "arn:aws:sns:us-east-1:123456789012:pages", "arn:aws:sns:us-east-1:12:pages",
		"arn:aws:iam::123456789012:role/a/b", "arn:aws:iam::aws:policy/a", "arn:aws:iam::123456789012:policy/b", "pages",
	}
	accepted := 0
	for _, one := range templateSettings() {
		pattern := regexp.MustCompile(`^(?:` + one.Pattern + `)$`)
		if one.Example == "" {
			t.Errorf("%s is no setting", one.Key)
		}
		for _, sample := range append(samples, one.Example) {
			items := []string{sample}
			if one.List {
				items = strings.Split(sample, ",")
			}
			matches := !slices.ContainsFunc(items, func(item string) bool { return !pattern.MatchString(item) })
			if err := setOne(one.Key, sample); (err == nil) != matches {
				t.Errorf("%s=%s: the pattern says %v, and the setting %v", one.Key, sample, matches, err)
			}
			if matches {
				accepted++
			}
		}
	}
	if accepted < 40 {
		t.Errorf("only %d samples are correct", accepted)
	}
}

func TestThePageHasTheTemplateSettings(t *testing.T) {
	const begin = "<!-- template settings: written by `go test ./infra -run TemplateSettings -update` -->\n"
	checkTable(t, "README.md", begin, "<!-- end of template settings -->", templateSettingsList())
}

// setOne checks a value of a setting.
func setOne(key, value string) error {
	for _, s := range stackSettings() {
		if s.key == key {
			return s.set(&configuration{}, value)
		}
	}
	for _, s := range clusterSettings() {
		if s.key == key {
			return s.set(&clusterConfiguration{}, value)
		}
	}
	return os.ErrNotExist
}
