package infra

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/metrics"
)

// update makes tests write the files that they compare with.
var update = flag.Bool("update", false, "write the table in README.md and the snapshots anew")

func TestReadConfiguration(t *testing.T) {
	folder := builtFunctions(t)
	plain := func(name string) clusterConfiguration {
		return clusterConfiguration{
			name: name, interval: 10 * time.Second, logRetention: 14, authenticationMode: "API",
			reaction: "adaptive", quietAfter: 5 * time.Minute, metrics: metrics.DetailFew, alarms: true, dashboard: true,
			terminationProtection: true,
			admission:             "audit", nodeCNI: true,
		}
	}
	changed := func(name string, change func(*clusterConfiguration)) clusterConfiguration {
		made := plain(name)
		change(&made)
		return made
	}
	everything := func(c *clusterConfiguration) {
		c.interval, c.dryRun, c.memory, c.logRetention = 5*time.Second, true, map[string]float64{
			"provision": 2048, "disrupt": 512,
		}, 30
		c.reaction, c.quietAfter = "always", 2*time.Minute
		c.metrics, c.dashboard, c.terminationProtection = metrics.DetailFull, false, false
		c.alarmTopic = "arn:aws:sns:us-east-1:123456789012:pages"
		c.subnets, c.securityGroups, c.clusterSecurityGroup = []string{
			"subnet-0a1b2c3d", "subnet-4e5f6a7b",
		}, []string{"sg-0a1b2c3d"}, "sg-4e5f6a7b"
		c.nodeRole, c.authenticationMode = "arn:aws:iam::123456789012:role/team/nodes", "CONFIG_MAP"
		c.defaultInstanceProfile = "KarpenterNodeInstanceProfile-prod"
		c.allowAutoMode, c.admission, c.nodeCNI, c.nodeSSM = true, "deny", false, true
		c.permissionBoundary = "arn:aws:iam::123456789012:policy/boundary"
		c.kmsKey = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
		c.volumeKeys = []string{c.kmsKey, "arn:aws:kms:us-east-1:111122223333:key/shared"}
		c.redriveRoles = []string{"arn:aws:iam::123456789012:role/operators", "arn:aws:iam::123456789012:role/a/b"}
		c.preferencePolicy, c.minValuesPolicy, c.disableDryRun = "Ignore", "BestEffort", "true"
		c.nodeClassCEL, c.rebootForRepair = "true", true
		c.eventBus = "arn:aws:events:us-east-1:111122223333:event-bus/shared"
		c.defaultTopologySpread = `[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]`
		c.karpenterServiceAccounts = "autoscaling/karpenter,kube-system/k"
		c.imageParameters, c.reservedENIs, c.vmMemoryOverheadPercent = []string{"/images/*", "/golden"}, "1", "0.05"
	}
	for _, test := range []struct {
		name    string
		context map[string]any
		file    string
		want    configuration
	}{
		{
			name: "defaults", context: map[string]any{"clusters": "prod"},
			want: configuration{architecture: "arm64", clusters: []clusterConfiguration{plain("prod")}},
		},
		{
			name: "everything by the command line",
			context: map[string]any{
				"clusters": "prod, staging_2", "architecture": "x86_64", "tags": "team=platform, stage = a b", "interval": "5s",
				"dryRun": "true", "memory": "provision=2048,disrupt=512",
				"reaction": "always", "quietAfter": "2m", "logRetention": "30", "alarmTopic": "arn:aws:sns:us-east-1:123456789012:pages",
				"metrics": "full", "alarms": "true", "dashboard": "false", "terminationProtection": "false",
				"subnets": "subnet-0a1b2c3d,subnet-4e5f6a7b", "securityGroups": "sg-0a1b2c3d",
				"clusterSecurityGroup": "sg-4e5f6a7b", "nodeRole": "arn:aws:iam::123456789012:role/team/nodes",
				"defaultInstanceProfile": "KarpenterNodeInstanceProfile-prod",
				"authenticationMode":     "CONFIG_MAP", "allowAutoMode": "true", "admission": "deny", "nodeCNI": "false", "nodeSSM": "true",
				"permissionBoundary": "arn:aws:iam::123456789012:policy/boundary",
				"kmsKey":             "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
				"volumeKeys":         "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab, arn:aws:kms:us-east-1:111122223333:key/shared",
				"redriveRoles":       "arn:aws:iam::123456789012:role/operators,arn:aws:iam::123456789012:role/a/b",
				"preferencePolicy":   "Ignore", "minValuesPolicy": "BestEffort", "disableDryRun": "true",
				"nodeClassCEL":             "true",
				"rebootForRepair":          "true",
				"eventBus":                 "arn:aws:events:us-east-1:111122223333:event-bus/shared",
				"defaultTopologySpread":    "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
				"karpenterServiceAccounts": "autoscaling/karpenter, kube-system/k",
				"imageParameters":          "/images/*, /golden", "reservedENIs": "1", "vmMemoryOverheadPercent": "0.05",
			},
			want: configuration{
				architecture: "x86_64", tags: map[string]string{"team": "platform", "stage": "a b"},
				clusters: []clusterConfiguration{changed("prod", everything), changed("staging_2", everything)},
			},
		},
		{
			name: "everything by a file",
			file: `
architecture: x86_64
tags: {team: platform, account: 123456789012}
clusters:
  prod:
    interval: 5s
    reaction: always
    quietAfter: 2m
    dryRun: true
    memory: {provision: 2048, disrupt: 512}
    logRetention: 30
    metrics: full
    alarms: true
    dashboard: false
    terminationProtection: false
    alarmTopic: arn:aws:sns:us-east-1:123456789012:pages
    subnets: [subnet-0a1b2c3d, subnet-4e5f6a7b]
    securityGroups: [sg-0a1b2c3d]
    clusterSecurityGroup: sg-4e5f6a7b
    nodeRole: arn:aws:iam::123456789012:role/team/nodes
    defaultInstanceProfile: KarpenterNodeInstanceProfile-prod
    authenticationMode: CONFIG_MAP
    allowAutoMode: true
    admission: deny
    nodeCNI: false
    nodeSSM: true
    permissionBoundary: arn:aws:iam::123456789012:policy/boundary
    kmsKey: arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab
    volumeKeys:
    - arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab
    - arn:aws:kms:us-east-1:111122223333:key/shared
    redriveRoles:
    - arn:aws:iam::123456789012:role/operators
    - arn:aws:iam::123456789012:role/a/b
    preferencePolicy: Ignore
    minValuesPolicy: BestEffort
    disableDryRun: true
    nodeClassCEL: true
    rebootForRepair: true
    eventBus: arn:aws:events:us-east-1:111122223333:event-bus/shared
    defaultTopologySpread:
    - maxSkew: 1
      topologyKey: zone
      whenUnsatisfiable: DoNotSchedule
    karpenterServiceAccounts: [autoscaling/karpenter, kube-system/k]
    imageParameters: [/images/*, /golden]
    reservedENIs: 1
    vmMemoryOverheadPercent: 0.05
`,
			want: configuration{
				architecture: "x86_64", tags: map[string]string{"team": "platform", "account": "123456789012"},
				clusters: []clusterConfiguration{changed("prod", everything)},
			},
		},
		{
			name:    "a cluster's part before the context, and that before what is for all",
			context: map[string]any{"interval": "20s"},
			file: "interval: 30s\nlogRetention: 7\nclusters:\n  prod: {interval: 5s}\n  dev:\n  stage: {windowsNodes: " +
				"true}\n",
			want: configuration{architecture: "arm64", clusters: []clusterConfiguration{
				changed("dev", func(c *clusterConfiguration) { c.interval, c.logRetention = 20*time.Second, 7 }),
				changed("prod", func(c *clusterConfiguration) { c.interval, c.logRetention = 5*time.Second, 7 }),
				changed(
					"stage", func(c *clusterConfiguration) { c.interval, c.logRetention, c.windowsNodes = 20*time.Second, 7, true },
				),
			}},
		},
		{
			name:    "clusters of the context, with their parts of the file",
			context: map[string]any{"clusters": []any{"b", "a"}},
			file:    "clusters: {a: {interval: 1m}}\n",
			want: configuration{architecture: "arm64", clusters: []clusterConfiguration{
				plain("b"), changed("a", func(c *clusterConfiguration) { c.interval = time.Minute }),
			}},
		},
		{
			name: "a list in a file", file: "clusters: [b, a]\n",
			want: configuration{architecture: "arm64", clusters: []clusterConfiguration{plain("b"), plain("a")}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readConfiguration(lookup(t, test.context, test.file, folder))
			if err != nil {
				t.Fatal(err)
			}
			if got.functions != folder || got.manifestHash == "" {
				t.Errorf("functions folder %q, want %q, manifests %q", got.functions, folder, got.manifestHash)
			}
			test.want.functions, test.want.manifestHash = got.functions, got.manifestHash
			got.installations = nil // TestOneRoadUnderneath compares them
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// lookup returns a context with the folder of the built functions, and a file with the content, if
// any.
func lookup(t *testing.T, context map[string]any, content, folder string) func(string) any {
	t.Helper()
	all := map[string]any{"functions": folder}
	if content != "" {
		path := filepath.Join(t.TempDir(), "whittle.yaml")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		all["config"] = path
	}
	maps.Copy(all, context)
	return func(key string) any { return all[key] }
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
	prod := func(key string, value any) map[string]any { return map[string]any{"clusters": "prod", key: value} }
	for _, test := range []struct {
		name    string
		context map[string]any
		want    []string // what the message must say: the key, the fault and the mend
	}{
		{"no clusters", map[string]any{}, []string{"context clusters", "no cluster given", "-c clusters=prod"}},
		{"an empty list", map[string]any{"clusters": " "}, []string{"no cluster given", "-c clusters=prod"}},
		{
			"a dot in a name", map[string]any{"clusters": "prod.eu"},
			[]string{"context clusters", `"prod.eu"`, "aws eks list-clusters"},
		},
		{"a hyphen first", map[string]any{"clusters": "-prod"}, []string{`"-prod"`, "letter or digit first"}},
		{
			"an ARN", map[string]any{"clusters": "arn:aws:eks:us-east-1:123456789012:cluster/prod"},
			[]string{"context clusters", "aws eks list-clusters"},
		},
		{"a newline", map[string]any{"clusters": "prod\nx"}, []string{"context clusters", `"prod\nx"`}},
		{"a long name", map[string]any{"clusters": strings.Repeat("a", 101)}, []string{"101 characters", "EKS allows 100"}},
		{"a name twice", map[string]any{"clusters": "prod,dev,prod"}, []string{`"prod" is given twice`, "once"}},
		{"a number", map[string]any{"clusters": 7.0}, []string{"context clusters", "7", "-c clusters="}},
		{"a number in a list", map[string]any{"clusters": []any{"prod", 7.0}}, []string{"context clusters", "7"}},
		{
			"reserved interfaces that are no number", prod("reservedENIs", "one"),
			[]string{"context reservedENIs", `"one"`, "-c reservedENIs=1"},
		},
		{"fewer than no interfaces", prod("reservedENIs", -1), []string{"context reservedENIs", `"-1"`}},
		{
			"an overhead in percent", prod("vmMemoryOverheadPercent", 7.5),
			[]string{"context vmMemoryOverheadPercent", `"7.5"`, "a fraction"},
		},
		{
			"an unknown policy", prod("preferencePolicy", "ignore"),
			[]string{"context preferencePolicy", `"ignore"`, "Respect and Ignore", "-c preferencePolicy=Ignore"},
		},
		{
			"a constraint without a key", prod("defaultTopologySpread", "[{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]"),
			[]string{"context defaultTopologySpread", "[0].topologyKey is missing", `-c defaultTopologySpread=[{"maxSkew":1`},
		},
		{
			"a constraint with a selector", prod("defaultTopologySpread", []any{map[string]any{
				"maxSkew": 1.0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": map[string]any{},
			}}), []string{"context defaultTopologySpread", "[0].labelSelector is set"},
		},
		{
			"constraints that are a switch", prod("defaultTopologySpread", true),
			[]string{"context defaultTopologySpread", "no list of topology spread constraints"},
		},
		{
			"every parameter", prod("imageParameters", "/*"),
			[]string{"context imageParameters", `"/*"`, "-c imageParameters=/images/*"},
		},
		{
			"a service account without its namespace", prod("karpenterServiceAccounts", "karpenter"),
			[]string{"context karpenterServiceAccounts", `"karpenter"`, "NAMESPACE/NAME"},
		},
		{
			"a parameter that is not absolute", prod("imageParameters", "/a/b, images"),
			[]string{"context imageParameters", `"images"`},
		},
		{
			"a switch that is neither", prod("disableDryRun", "yes"),
			[]string{"context disableDryRun", `"yes"`, "-c disableDryRun=true"},
		},
		{"a dry run that is neither", prod("dryRun", 1.0), []string{"context dryRun", `"1"`, "-c dryRun=true"}},
		{
			"a policy that is no word", prod("minValuesPolicy", true),
			[]string{"context minValuesPolicy", `"true"`, "-c minValuesPolicy=BestEffort"},
		},
		{"metrics of some", prod("metrics", "some"), []string{"context metrics", `"some"`, "full and few and off are known"}},
		{
			"a topic without alarms", map[string]any{
				"clusters": "prod", "alarms": "false", "alarmTopic": "arn:aws:sns:us-east-1:123456789012:pages",
			},
			[]string{`cluster "prod"`, "alarmTopic without alarms"},
		},
		{
			"a topic that is a name", prod("alarmTopic", "pages"),
			[]string{"context alarmTopic", `"pages"`, "-c alarmTopic=arn:aws:sns:"},
		},
		{
			"an unknown architecture", prod("architecture", "riscv"),
			[]string{"context architecture", `"riscv"`, "arm64", "x86_64"},
		},
		{
			"Go's name of an architecture", prod("architecture", "amd64"),
			[]string{"context architecture", "-c architecture=x86_64"},
		},
		{"an architecture that is a list", prod("architecture", []any{"arm64"}), []string{"context architecture", "[arm64]"}},
		{"an interval without a unit", prod("interval", 10.0), []string{"context interval", `"10"`, "10s"}},
		{"an interval that divides nothing", prod("interval", "7s"), []string{"context interval", "7s", "10s"}},
		{"a short interval", prod("interval", "500ms"), []string{"context interval", "500ms"}},
		{"a broken second", prod("interval", "1500ms"), []string{"context interval", "1.5s"}},
		{"a long interval", prod("interval", "2m"), []string{"context interval", "2m", "1m"}},
		{"a negative interval", prod("interval", "-10s"), []string{"context interval", "-10s"}},
		{
			"memory of nobody", prod("memory", "planner=512"),
			[]string{"context memory", `"planner" is no function`, "provision"},
		},
		{"memory without a number", prod("memory", "provision"), []string{"context memory", `"provision" has no =`}},
		{
			"memory that Lambda does not have", prod("memory", map[string]any{"provision": 64.0}),
			[]string{"context memory", `"64"`, "128 to 10240"},
		},
		{"days that nobody keeps", prod("logRetention", 15.0), []string{"context logRetention", `"15"`, "14, 30"}},
		{"a release's key that is a path", prod("releaseKey", "infra/release.pub"), []string{
			"context releaseKey", `"infra/release.pub" is no public key of minisign`, "-c releaseKey=RW",
		}},
		{"a subnet's name", prod("subnets", "private-a"), []string{"context subnets", `"private-a"`, "subnet-"}},
		{"subnets alone", prod("subnets", "subnet-0a1b2c3d"), []string{`cluster "prod"`, "subnets without securityGroups"}},
		{"security groups alone", prod("securityGroups", "sg-0a1b2c3d"), []string{`cluster "prod"`, "name its subnets"}},
		{"a role's name", prod("nodeRole", "nodes"), []string{"context nodeRole", `"nodes"`, "arn:aws:iam::"}},
		{
			"a profile's ARN", prod("defaultInstanceProfile", "arn:aws:iam::123456789012:instance-profile/nodes"),
			[]string{"context defaultInstanceProfile", "an ARN or a path is none", "-c defaultInstanceProfile=Karpenter"},
		},
		{
			"a profile's path", prod("defaultInstanceProfile", "team/nodes"),
			[]string{"context defaultInstanceProfile", `"team/nodes"`},
		},
		{
			"a name that no pool has", prod("nodePoolMetrics", "default,GPU pool"),
			[]string{"context nodePoolMetrics", "GPU pool"},
		},
		{
			"too many pools", prod("nodePoolMetrics", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u"),
			[]string{"context nodePoolMetrics", "at most 20"},
		},
		{
			"a user among roles", prod("redriveRoles", "arn:aws:iam::123456789012:user/operator"),
			[]string{"context redriveRoles", "user/operator"},
		},
		{
			"an alias among keys", prod("volumeKeys", "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab,alias/nodes"),
			[]string{"context volumeKeys", "alias/nodes", ":key/"},
		},
		{
			"an ARN of another kind", prod("kmsKey", "arn:aws:kms:us-east-1:123456789012:alias/queues"),
			[]string{"context kmsKey", "alias/queues", ":key/"},
		},
		{
			"an unknown mode", prod("authenticationMode", "API_AND_CONFIG_MAP"),
			[]string{"context authenticationMode", "API and CONFIG_MAP"},
		},
		{"a tag of AWS's", prod("tags", "aws:team=x"), []string{"context tags", `"aws:team"`}},
		{"no folder", prod("functions", filepath.Join(folder, "nowhere")), []string{"functions", "ticker", "make build"}},
		{
			"the other architecture not built",
			map[string]any{"clusters": "prod", "functions": unbuilt, "architecture": "x86_64"},
			[]string{"functions", "`make build architecture=x86_64`"},
		},
		{"a function not built", prod("functions", unbuilt), []string{"functions", "disrupt", "make build"}},
		{"not executable", prod("functions", flat), []string{"functions", "catalog", "not an executable file", "make build"}},
		{"a folder that is a number", prod("functions", 1.0), []string{"context functions", "-c functions="}},
		{
			"a file that is not there", prod("config", "nowhere.yaml"),
			[]string{"context config", "nowhere.yaml", "-c config=whittle.yaml"},
		},
		{"a file that is a number", prod("config", 1.0), []string{"context config", "-c config=whittle.yaml"}},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, lookup(t, test.context, "", folder), test.want) })
	}
}

func refused(t *testing.T, lookup func(string) any, want []string) {
	t.Helper()
	_, err := readConfiguration(lookup)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message %q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("message %q has more than one line", err)
	}
}

func TestAFileIsRefusedByItsKey(t *testing.T) {
	folder := builtFunctions(t)
	for _, test := range []struct {
		name, content string
		want          []string
	}{
		{"no YAML", "clusters: [", []string{"whittle.yaml", "not YAML"}},
		{"a key twice", "interval: 5s\ninterval: 6s\nclusters: [a]\n", []string{"whittle.yaml", "interval"}},
		{"an unknown key", "cluster: prod\n", []string{"whittle.yaml: cluster: there is no such key", "clusters"}},
		{
			"a stack's key in a cluster's part", "clusters: {prod: {architecture: arm64}}\n",
			[]string{"whittle.yaml: clusters.prod.architecture: there is no such key", "interval"},
		},
		{"a part that is no map", "clusters: {prod: 10s}\n", []string{"whittle.yaml: clusters.prod", "no map"}},
		{"no clusters", "interval: 5s\n", []string{"clusters", "no cluster given"}},
		{
			"an empty map of them", "clusters: {}\n",
			[]string{"whittle.yaml: clusters", "no cluster given", "clusters: [prod, staging]"},
		},
		{"a bad name", "clusters: {prod.eu: {}}\n", []string{"whittle.yaml: clusters", `"prod.eu"`}},
		{
			"a value in a cluster's part", "clusters: {prod: {interval: 7s}}\n",
			[]string{"whittle.yaml: clusters.prod.interval", "7s", "interval: 10s"},
		},
		{"a value for all", "clusters: [prod]\ninterval: 7s\n", []string{"whittle.yaml: interval", "7s", "interval: 10s"}},
		{
			"a role and a second one",
			"clusters: {prod: {windowsNodes: true, nodeRole: 'arn:aws:iam::123456789012:role/nodes'}}\n",
			[]string{"whittle.yaml: clusters", `"prod"`, "leave windowsNodes out"},
		},
		{
			"a rule for the cluster's own group",
			"clusters: {prod: {subnets: subnet-0a1b2c3d, securityGroups: sg-0a1b2c3d, clusterSecurityGroup: sg-0a1b2c3d}}\n",
			[]string{"needs no rule"},
		},
	} {
		t.Run(test.name, func(t *testing.T) { refused(t, lookup(t, nil, test.content, folder), test.want) })
	}
}

func TestThePageHasTheSettings(t *testing.T) {
	const begin = "<!-- settings: written by `go test ./infra -run Settings -update` -->\n"
	checkTable(t, "README.md", begin, "<!-- end of settings -->", settingsTable())
}

// checkTable compares the part of a page between two markers with a table. With -update it writes
// the table.
func checkTable(t *testing.T, path, begin, end, want string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	table, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table between %q and %q", path, begin, end)
	}
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not that of the code: run go test ./infra -run %s -update", path, t.Name())
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEveryExampleIsAccepted also checks that each setting has a documented meaning.
func TestEveryExampleIsAccepted(t *testing.T) {
	for _, s := range stackSettings() {
		if err := s.set(&configuration{}, s.example); err != nil || s.meaning == "" {
			t.Errorf("%s=%s: %v, meaning %q", s.key, s.example, err, s.meaning)
		}
	}
	for _, s := range clusterSettings() {
		if err := s.set(&clusterConfiguration{}, s.example); err != nil || s.meaning == "" {
			t.Errorf("%s=%s: %v, meaning %q", s.key, s.example, err, s.meaning)
		}
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

func TestUnknownContextIsRefused(t *testing.T) {
	for key, want := range map[string]string{
		"interval": "", "config": "", "clusters": "", "architecture": "", "aws:cdk:bundling-stacks": "",
		"@aws-cdk/core:x": "", "availability-zones:account=1:region=us-east-1": "", "cdk-nag": "",
		"intervl": "context intervl: there is no such setting: did you mean -c interval?",
		"xyzzy":   "context xyzzy: there is no such setting: use one of ",
	} {
		err := checkContext([]string{"clusters", key})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
}

// TestAReleaseIsDeployedWithoutABuild synthesizes from zips alone.
func TestAReleaseIsDeployedWithoutABuild(t *testing.T) {
	release := t.TempDir()
	all := writeRelease(t, release)
	list := filepath.Join(release, "SHA256SUMS")
	refused := func(what, content, want string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readConfiguration(func(key string) any { return map[string]any{"clusters": "prod", "release": release}[key] })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	refused("a release without the sum of a file", all[strings.Index(all, "\n")+1:], "it was changed after the release")
	refused("a changed zip", strings.Replace(all, all[:8], "00000000", 1), "it was changed after the release")
	refused("two sums of a file", all+all, "the second of one")
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	_, unlisted := readConfiguration(func(key string) any {
		return map[string]any{"clusters": "prod", "release": release}[key]
	})
	if unlisted == nil || !strings.Contains(unlisted.Error(), "SHA256SUMS is not in") {
		t.Errorf("without sums: %v", unlisted)
	}
	if err := os.WriteFile(list, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	template := synthesizeWith(t, map[string]any{"clusters": "prod", "release": release})
	if n := len(template.ofType("AWS::Lambda::Function")); n != 9 {
		t.Errorf("%d functions", n)
	}
	for want, context := range map[string]map[string]any{
		"release and functions both":               {"clusters": "prod", "release": release, "functions": release},
		"release: SHA256SUMS is not in /":          {"clusters": "prod", "release": t.TempDir()},
		"release: the function ticker is not in /": {"clusters": "prod", "release": release, "architecture": "x86_64"},
	} {
		_, err := readConfiguration(func(key string) any { return context[key] })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", context, err, want)
		}
	}
	writeArchive(t, release, "ticker", "bin")
	_, err := readConfiguration(func(key string) any { return map[string]any{"clusters": "prod", "release": release}[key] })
	if err == nil || !strings.Contains(err.Error(), "has no file bootstrap") {
		t.Errorf("a zip without bootstrap: %v", err)
	}
}
