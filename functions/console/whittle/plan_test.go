package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

var planArguments = []string{
	"-f", "testdata/plan/cluster.yaml", "-f", "testdata/plan/pods.yaml", "--instance-types", "testdata/plan/types.json",
	"-daemon-sets", "files",
}

// runPlan runs a planning command, and returns its output.
func runPlan(t *testing.T, stdin string, arguments ...string) (out, problems string, err error) {
	t.Helper()
	var outBuffer, problemsBuffer bytes.Buffer
	err = run(t.Context(), arguments, strings.NewReader(stdin), &outBuffer, &problemsBuffer)
	return outBuffer.String(), problemsBuffer.String(), err
}

// withoutSeconds replaces the time, and the reasons' wording, which is the planner's.
func withoutSeconds(t *testing.T, text string) string {
	t.Helper()
	var shown map[string]any
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if seconds, ok := shown["seconds"].(float64); !ok || seconds <= 0 {
		t.Errorf("seconds are %v", shown["seconds"])
	}
	shown["seconds"] = 0
	for _, pod := range shown["unschedulable"].([]any) {
		for _, reason := range pod.(map[string]any)["reasons"].([]any) {
			if reason := reason.(map[string]any); reason["reason"] != "" {
				reason["reason"] = "…"
			}
		}
	}
	plain, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(plain) + "\n"
}

// TestPlanJSON checks the JSON form, and that the input's order changes nothing.
func TestPlanJSON(t *testing.T) {
	text, problems, err := runPlan(t, "", append([]string{"plan", "-o", "json"}, planArguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	if want := "whittle: testdata/plan/cluster.yaml:2: NodePool \"default\": no file has its EC2NodeClass \"default\": the " +
		"plan assumes its images, zones and volumes\n"; problems != want {
		t.Errorf("problems are %q, want %q", problems, want)
	}
	got := withoutSeconds(t, text)
	golden := "testdata/plan.json"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, arguments := range [][]string{
		{
			"plan", "--output=json", "--instance-types=testdata/plan/types.json", "-f", "testdata/plan/pods.yaml",
			"testdata/plan/cluster.yaml", "--daemon-sets=files",
		},
		{
			"plan", "-f", "testdata/plan/pods.yaml", "testdata/plan/cluster.yaml", "-o", "json", "-instance-types",
			"testdata/plan/types.json", "--policy", "Respect", "--min-values-policy", "Strict", "-daemon-sets", "files",
		},
	} {
		text, _, err := runPlan(t, "", arguments...)
		if err != nil {
			t.Fatal(err)
		}
		if again := withoutSeconds(t, text); again != got {
			t.Errorf("%q gives\n%s\nwant\n%s", arguments, again, got)
		}
	}
}

func TestPlanTable(t *testing.T) {
	text, _, err := runPlan(t, "", append([]string{"plan"}, planArguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"default       1  m6a.large  1 other  us-west-2a  on-demand  0.0864  ████████▊░  88%",
		"ip-10-0-1-2                   1  default/small",
		"1 pod: default/huge\n  nodepool \"default\": ", "4 pods: 2 on 1 new node, 1 on 1 existing node, 1 without a place",
		"$0.0864/h, $63.07/month", "planned in ",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
}

// TestPlanInputs checks the ways to name the input.
func TestPlanInputs(t *testing.T) {
	pods, err := os.ReadFile("testdata/plan/pods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	types, err := os.ReadFile("testdata/plan/types.json")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"cluster.yaml", "pods.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata/plan", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, stdin string
		arguments   []string
		want        string
	}{
		{
			"standard input", string(pods),
			[]string{"-f", "-", "-f", "testdata/plan/cluster.yaml", "--instance-types", "testdata/plan/types.json"},
			"4 pods: 2 on 1 new node",
		},
		{
			"types from standard input", string(types), []string{"-f", folder, "--instance-types", "-"},
			"4 pods: 2 on 1 new node",
		},
		{"built-in table", "", []string{"-f", "testdata/plan/builtin.yaml"}, "3 pods: 3 on 3 new nodes"},
		{
			"kwok's form", "",
			[]string{"-f", "testdata/plan/builtin.yaml", "--instance-types", "../instancetypes/testdata/kwok.json"},
			"3 pods: 1 on 1 new node, 2 without a place",
		},
		{
			"kwok's labels", "",
			[]string{"-f", "testdata/plan/kwok.yaml", "--instance-types", "../instancetypes/testdata/kwok.json"},
			"2 pods: 2 on 2 new nodes",
		},
		{"pods without requests share large nodes", "",
			[]string{"-f", "testdata/plan/norequests.yaml", "-daemon-sets", "files"},
			"50 pods: 50 on 2 new nodes"},
		{"preferences respected", "", []string{"-f", "testdata/plan/preference.yaml"}, "u7i-12tb.224xlarge"},
		{"preferences ignored", "", []string{"-f", "testdata/plan/preference.yaml", "-policy", "Ignore"}, "us-east-1b  spot"},
		{"minValues strict", "", []string{"-f", "testdata/plan/minvalues.yaml"}, "1 pod: 1 without a place"},
		{
			"a pool that allows no type", "", []string{"-f", "testdata/plan/empty.yaml"},
			"NODEPOOLS THAT CAN OPEN NO NODE\n  empty: none of 1334 known instance types has karpenter.k8s.aws/instance-family In " +
				"[nothing]",
		},
		{"no pod that waits", "", []string{"-f", "testdata/plan/cluster.yaml"}, "No pod is pending."},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, _, err := runPlan(t, test.stdin, append([]string{"plan"}, test.arguments...)...)
			if err != nil || !strings.Contains(text, test.want) {
				t.Errorf("%v, lacks %q:\n%s", err, test.want, text)
			}
		})
	}
}

// TestPolicies checks that the planner gets the flags' policies, by default those of provision.
func TestPolicies(t *testing.T) {
	for _, test := range []struct {
		arguments  []string
		preference plan.PreferencePolicy
		minValues  plan.MinValuesPolicy
	}{
		{nil, plan.PreferencesRespected, plan.MinValuesStrict},
		{[]string{"--policy", "Ignore"}, plan.PreferencesIgnored, plan.MinValuesStrict},
		{[]string{"-min-values-policy=BestEffort"}, plan.PreferencesRespected, plan.MinValuesBestEffort},
	} {
		flags, err := parsePlanFlags(
			"plan", noWords, append([]string{"-f", "testdata/plan/empty.yaml"}, test.arguments...), io.Discard,
		)
		if err != nil {
			t.Fatal(err)
		}
		made, err := flags.plan(t.Context(), time.Now, strings.NewReader(""), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if s := made.view.Snapshot; s.PreferencePolicy != test.preference || s.MinValuesPolicy != test.minValues {
			t.Errorf("%q gives %s and %s", test.arguments, s.PreferencePolicy, s.MinValuesPolicy)
		}
	}
}

func TestPlanUsage(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"plan", "a.yaml"}, `got "a.yaml": name files with -f`},
		{[]string{"plan", "-f"}, "flag needs an argument"},
		{[]string{"plan", "-f", "a", "-o", "xml"},
			`invalid value "xml" for flag -o: want table, wide, json, yaml, markdown, jsonpath=TEMPLATE, `},
		{[]string{"plan", "-f", "a", "--prices", "free"}, "want built-in or aws"},
		{[]string{"plan", "-f", "a", "--prices", "aws", "--instance-types", "b"}, "leave -prices out"},
		{[]string{"plan", "-f", "a", "--region", "eu-west-1"}, "-region is the region of -prices aws"},
		{[]string{"plan", "--diff", "a"}, "name the other with -f"},
		{[]string{"plan", "-f", "a", "--policy", "respect"}, `want Respect or Ignore`},
		{[]string{"plan", "-f", "a", "--min-values-policy", "None"}, `want Strict or BestEffort`},
		{[]string{"plan", "-f", "a", "-context", "b"}, "-f plans without a cluster"},
		{[]string{"plan", "-f", "-", "--instance-types", "-"}, "standard input can be read only once"},
		{[]string{"plan", "--colour"}, "there is no flag -colour: `whittle help plan` lists all"},
		{[]string{"plan", "--instance-type", "a"}, `there is no flag -instance-type: did you mean "instance-types"?`},
		{[]string{"plan", "--max-price", "cheap"}, "write dollars an hour, such as 12.50"},
		{[]string{"plan", "--max-price", "-1"}, "write dollars an hour, such as 12.50"},
		{[]string{"plam"}, `there is no command "plam": did you mean "plan"?`},
		{[]string{"launch"}, "`whittle help` lists all"},
		{[]string{"completion", "tcsh"}, "bash, zsh or fish"},
		{[]string{"explain"}, "want TYPE NAME or TYPE/NAME"},
		{[]string{"explain", "node", "-f", "b"}, "want TYPE NAME or TYPE/NAME"},
		{[]string{"explain", "pod", "shop/a", "-n", "other", "-f", "b"}, "want TYPE NAME or TYPE/NAME"},
		{[]string{"explain", "pod", "a/", "-f", "b"}, "want TYPE NAME or TYPE/NAME"},
	} {
		out, problems, err := runPlan(t, "", test.arguments...)
		if !errors.Is(err, errUsage) || !strings.Contains(problems, test.want) || out != "" {
			t.Errorf("%q: %v, %q, out %q", test.arguments, err, problems, out)
		}
	}
	if _, problems, err := runPlan(t, "", "plan", "--help"); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(problems, "-instance-types") {
		t.Errorf("help: %v, %q", err, problems)
	}
}

func TestPlanErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(
		bad, []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  tolerations:\n  - effect: Never\n"), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{
			[]string{"plan", "-f", bad},
			bad + `:6: Pod "web": spec.tolerations[0].effect: "Never": want one of NoSchedule, PreferNoSchedule, NoExecute`,
		},
		{[]string{"plan", "-f", "none.yaml"}, "none.yaml: no such file or directory"},
		{
			[]string{"plan", "-f", "testdata/plan/pods.yaml", "--instance-types", "none.json"},
			"none.json: no such file or directory",
		},
		{
			[]string{"plan", "-f", "testdata/plan/pods.yaml", "--instance-types", "testdata/plan/pods.yaml"},
			"testdata/plan/pods.yaml: holds 4 documents",
		},
		{
			[]string{"explain", "pod", "web", "-f", "testdata/plan/pods.yaml"},
			"there is no pod default/web: did you mean default/web-0 or default/web-1?",
		},
		{
			[]string{"explain", "pod", "shop/nobody", "-f", "testdata/plan/pods.yaml"},
			"there is no pod shop/nobody among the 4 pods",
		},
	} {
		_, _, err := runPlan(t, "", test.arguments...)
		want(t, err, test.want)
	}
}

func TestExplain(t *testing.T) {
	for name, parts := range map[string][]string{
		"web-0": {
			`default/web-0 goes to a new node of nodepool "default": m6a.large, on-demand in us-west-2a, $0.0864/h.`,
			"nodeSelector: example.com/tier is gold", "it shares the node with 1 pod: default/web-1",
			`2  allowed by nodepool "default"`,
		},
		"default/small":     {`default/small goes to node "ip-10-0-1-2", which has room for it`},
		"default/huge":      {"default/huge has no place.", `nodepool "default": `, "cpu 64"},
		"default/running":   {`default/running needs no node: it runs on node "ip-10-0-1-2"`},
		"default/undecided": {"default/undecided waits for no node: the scheduler has not reported it as unschedulable yet"},
	} {
		text, _, err := runPlan(t, "", append([]string{"explain", "pod", name}, planArguments...)...)
		for _, part := range parts {
			if err != nil || !strings.Contains(text, part) {
				t.Errorf("%s: %v, lacks %q:\n%s", name, err, part, text)
			}
		}
	}
	text, _, err := runPlan(t, "", append([]string{"explain", "pod", "default/web-0", "-o", "json"}, planArguments...)...)
	var shown struct {
		Pod, Outcome string
		Node         struct{ InstanceType string }
	}
	if err := errors.Join(err, json.Unmarshal([]byte(text), &shown)); err != nil || shown.Outcome != "new node" ||
		shown.Node.InstanceType != "m6a.large" {
		t.Errorf("%v, %+v in\n%s", err, shown, text)
	}
}

// TestBinary runs the command as people do.
func TestBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "whittle")
	if text, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, test := range []struct {
		arguments []string
		code      int
		out, err  string
	}{
		{append([]string{"plan", "-o", "json"}, planArguments...), 0, `"instanceType": "m6a.large"`, "no file has"},
		{append([]string{"explain", "pod", "default/web-0"}, planArguments...), 0, "goes to a new node", "no file has"},
		{[]string{"plan", "-f", "none.yaml"}, 1, "", "whittle: "},
		{[]string{"plan", "-o", "xml"}, 2, "", "want table, wide, json, yaml, "},
		{[]string{"plan", "-h"}, 0, "", "-instance-types"},
	} {
		var out, problems bytes.Buffer
		command := exec.CommandContext(t.Context(), binary, test.arguments...)
		command.Stdout, command.Stderr = &out, &problems
		err := command.Run()
		if code := command.ProcessState.ExitCode(); code != test.code || !strings.Contains(out.String(), test.out) ||
			!strings.Contains(problems.String(), test.err) {
			t.Errorf(
				"%q: %v, exit %d, want %d; out %s, problems %s", test.arguments, err, code, test.code, out.String(),
				problems.String(),
			)
		}
	}
}

// The full clientset alone is as large as the rest of the command.
func TestImports(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range strings.Fields(string(output)) {
		for _, forbidden := range []string{
			"k8s.io/client-go/kubernetes", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter", "github.com/prometheus",
		} {
			if dependency == forbidden || strings.HasPrefix(dependency, forbidden+"/") {
				t.Errorf("imports %s", dependency)
			}
		}
	}
}

func TestPlanWarnings(t *testing.T) {
	_, _, err := runPlan(t, "", append([]string{"plan", "--strict"}, planArguments...)...)
	want(t, err, "-strict: 1 warnings are errors")
	_, problems, err := runPlan(t, "", append([]string{"plan", "-v"}, planArguments...)...)
	if err != nil || !strings.Contains(problems, "pods.yaml:28: ConfigMap \"web\" of v1 skipped: a plan does not depend") {
		t.Errorf("-v: %v, %s", err, problems)
	}
}

// TestPlanGaps checks that the command says what the built-in table does not know of the files' objects.
func TestPlanGaps(t *testing.T) {
	const manifests = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: radeon}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: blocks}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g4ad, m6a]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [reserved]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: blocks}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {team: ml}}]
  securityGroupSelectorTerms: [{tags: {team: ml}}]
status:
  capacityReservations:
    - {id: cr-1, instanceType: m6a.large, availabilityZone: us-east-1a, instanceMatchCriteria: open, ownerID: "1", state: active}
---
apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  nodeSelector: {node.kubernetes.io/instance-type: trn2.48xlarge}
  containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]
`
	out, problems, err := runPlan(t, manifests, "plan", "-f", "-")
	for _, part := range []string{
		`NodePool "radeon" names karpenter.k8s.aws/instance-family g4ad: the built-in table lacks it; use -prices aws`,
		"pod default/trainer names node.kubernetes.io/instance-type trn2.48xlarge: the built-in table lacks it",
		`EC2NodeClass "blocks": status.capacityReservations: nothing here holds the free counts of its 1 capacity reservations`,
	} {
		if err != nil || !strings.Contains(problems, part) {
			t.Errorf("%v, lacks %q:\n%s", err, part, problems)
		}
	}
	if want := "it allows only capacity reservations (cr-1)"; !strings.Contains(out, want) || strings.Contains(problems, "m6a") {
		t.Errorf("lacks %q, or names what the table has:\n%s%s", want, out, problems)
	}
	counted, problems, err := runPlan(t, manifests, "plan", "-f", "-", "--reserved", "cr-1=1")
	if err != nil || strings.Contains(problems, "capacity reservations") || strings.Contains(counted, "it allows only capacity") {
		t.Errorf("%v, with a free count:\n%s%s", err, counted, problems)
	}
	_, problems, err = runPlan(t, manifests, "plan", "-f", "-", "--reserved", "cr-1")
	if err == nil || !strings.Contains(problems, "write such as cr-0a1b=3") {
		t.Errorf("%v: %s", err, problems)
	}
}

func TestPlanForms(t *testing.T) {
	for form, parts := range map[string][]string{
		"yaml": {"formatVersion: 1\n", "pricePerHour: 0.0864\n", "prices: the file testdata/plan/types.json\n"},
		"wide": {"NAMES", "default/web-0,default/web-1"},
	} {
		text, _, err := runPlan(t, "", append([]string{"plan", "-o", form}, planArguments...)...)
		for _, part := range parts {
			if err != nil || !strings.Contains(text, part) {
				t.Errorf("%s: %v, lacks %q:\n%s", form, err, part, text)
			}
		}
	}
}

// TestPlanDiff compares a file with itself and with one that has no pods.
func TestPlanDiff(t *testing.T) {
	arguments := []string{"plan", "--instance-types", "testdata/plan/types.json", "-f", "testdata/plan/cluster.yaml", "-f",
		"testdata/plan/pods.yaml", "--diff", "testdata/plan/cluster.yaml"}
	text, _, err := runPlan(t, "", arguments...)
	for _, part := range []string{
		"+  default   m6a.large  us-west-2a  on-demand  0.0864  0 -> 1", "1 pod without a place now: default/huge",
		"4 pods added: ", "0 new nodes -> 1 new node, $0.0000/h -> $0.0864/h (+0.0864 $/h)",
	} {
		if err != nil || !strings.Contains(text, part) {
			t.Errorf("%v, lacks %q:\n%s", err, part, text)
		}
	}
	text, _, err = runPlan(t, "", append(arguments, "--diff", "testdata/plan/pods.yaml")...)
	if err != nil || !strings.HasPrefix(text,
		"1 pod still without a place: default/huge\n1 new node -> 1 new node, $0.0864/h -> $0.0864/h") {
		t.Errorf("%v, a plan differs from itself:\n%s", err, text)
	}
	var outcome *verdict
	_, _, err = runPlan(t, "", append(arguments, "--exit-code")...)
	if !errors.As(err, &outcome) || outcome.code != codeUnplaced {
		t.Errorf("--exit-code: %v", err)
	}
}
