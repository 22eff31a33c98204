package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/report"
)

// TestCasesOfPublicReports plans inputs made after public reports of people who run autoscalers.
// The first line of each file names the report and says what is right.
func TestCasesOfPublicReports(t *testing.T) {
	for _, test := range []struct {
		file string
		// moves is set for a question about consolidation.
		moves bool
		// want are the nodes, the places and the pods without one, or the moves and the nodes that stay.
		want string
		// because are parts of the reasons.
		because []string
	}{
		{file: "planning/01-sidecar-overhead", want: "m6i.2xlarge us-east-1a: 1 pods"},
		{file: "planning/02-pod-level-resources", want: "m6i.2xlarge us-east-1a: 1 pods"},
		{file: "planning/04-daemonset-by-size", want: "m6i.2xlarge us-east-1a: 1 pods"},
		{file: "planning/09-ephemeral-exact", want: "default/scratch has no place; m6i.large us-east-1a: 1 pods"},
		{file: "planning/12-affinity-and-volume-zone", want: "m6i.xlarge us-east-1c: 2 pods"},
		{file: "planning/13b-csi-limit-new-nodes", want: "2 of m6i.4xlarge us-east-1a: 25 pods; m6i.4xlarge us-east-1a: 10 pods"},
		{file: "planning/16-or-terms-weights", want: "m6i.large us-east-1a: 1 pods"},
		{file: "planning/17-prefers-foreign-nodes", want: "default/never has no place; m6i.large us-east-1a: 1 pods",
			because: []string{"karpenter.sh/nodepool DoesNotExist"}},
		{file: "planning/18a-impossible-zone",
			want: "m6i.large us-east-1a: 1 pods; m6i.large us-east-1b: 1 pods; " +
				"m6i.large us-east-1c: 1 pods; m6i.xlarge us-east-1a: 3 pods; " +
				"m6i.xlarge us-east-1b: 3 pods; m6i.xlarge us-east-1c: 3 pods"},
		{file: "planning/18b-affinity-policy-honor", want: "m6i.large us-east-1a: 1 pods; m6i.xlarge us-east-1a: 3 pods"},
		{file: "planning/20-match-label-keys-rollout", want: "b1: 1 pods; m6i.large us-east-1a: 1 pods"},
		{file: "planning/23-node-limit",
			want: "2 of m6i.large us-east-1a: 1 pods; default/lone-3 has no place; default/lone-4 has no place; " +
				"default/lone-5 has no place", because: []string{"limit of nodes 3 reached"}},
		{file: "planning/25a-besteffort-minvalues-zone", want: "default/kafka has no place", because: []string{"minValues 2 of topology.kubernetes.io/zone"}},
		{file: "planning/27a-namespace-selector", want: "m6i.large us-east-1a: 1 pods; n1: 1 pods"},
		{file: "planning/27c-namespace-selector-none", want: "n1: 1 pods; team-a/aff has no place", because: []string{"wants pods app=db"}},
		{file: "planning/27d-namespace-selector-none-inverse", want: "m6i.xlarge us-east-1a: 3 pods"},
		{file: "planning/28-terminating-in-spread", want: "m6i.xlarge us-east-1b: 1 pods"},
		{file: "planning/38-hostname-overscale", want: "200 of m6i.large us-east-1a: 1 pods"},
		{file: "planning/39-ds-weight-small-nodes", want: "c6i.8xlarge us-east-1a: 40 pods"},
		{file: "planning/50c-spread-2-1-1-1", moves: true, want: "h0 stays; h1 stays; h2 stays; h3 stays"},
		{file: "planning/51-consolidate-pdb-spread", moves: true,
			want: "h0 to m6i.large us-east-1a; h1 to m6i.large us-east-1a; h2 to m6i.large us-east-1a; " +
				"h3 to m6i.large us-east-1a"},
		{file: "planning/53b-resized-down-thrash", moves: true, want: "r0 to r2; r1 stays; r2 stays"},
		{file: "planning/56-consolidate-pvc-zone", moves: true, want: "za to m6i.large us-east-1a; zb to m6i.large us-east-1b"},
		{file: "planning/58-pdb-misconfigured", moves: true, want: "p0 stays; p1 stays", because: []string{"2 pod disruption budgets"}},
		{file: "planning/63-limitrange-default-only", want: "m6i.4xlarge us-east-1a: 6 pods"},
		{file: "planning/65-virtual-buffer-pod-level", want: "m6i.2xlarge us-east-1a: 2 pods"},
		{file: "planning/67-mindomains-zones-needed",
			want: "default/q-2 has no place; default/q-3 has no place; m6i.large us-east-1a: 1 pods; " +
				"m6i.large us-east-1b: 1 pods", because: []string{"minDomains of 3"}},
		{file: "planning/10a-instance-store-off", want: "default/cache has no place",
			because: []string{"volumeSize", "instanceStorePolicy"}},
		{file: "planning/90-daemonset-custom-label", want: "m6i.large us-east-1a: 1 pods; m6i.xlarge us-east-1a: 1 pods"},
		{file: "planning/91-affinity-to-daemonset", want: "default/hater-0 has no place; m6i.xlarge us-east-1a: 2 pods",
			because: []string{"daemon set default/cachesrv runs there"}},
		{file: "planning/106-anti-affinity-instance-label",
			want:    "default/collector-0 has no place; default/collector-1 has no place",
			because: []string{"daemon set default/agent runs there"}},
		{file: "planning/74-static-volume-in-files", want: "m6i.large us-east-1a: 2 pods"},
		{file: "planning/79-priority-under-limit",
			want: "default/low-0 has no place; default/low-1 has no place; default/low-2 has no place; " +
				"default/low-3 has no place; default/low-4 has no place; default/low-5 has no place; " +
				"m6i.2xlarge us-east-1a: 2 pods"},
		{file: "planning/82-anti-affinity-zone-4-of-3",
			want: "default/z-3 has no place; m6i.large us-east-1a: 1 pods; m6i.large us-east-1b: 1 pods; " +
				"m6i.large us-east-1c: 1 pods", because: []string{"podAntiAffinity"}},
		{file: "planning/84-dedicated-hostname-spread", moves: true, want: "h0 stays; h1 stays; h2 stays; h3 stays", because: []string{"keeps their spread"}},
		{file: "planning/87-preferred-spread-consolidation", moves: true,
			want: "n0 to m6i.large us-east-1a; n1 to m6i.large us-east-1b; n2 to m6i.large us-east-1c"},
		{file: "planning/114-chart-default-spread",
			want: "4 of m6i.large us-east-1a: 1 pods; 4 of m6i.large us-east-1b: 1 pods; " +
				"4 of m6i.large us-east-1c: 1 pods"},
		{file: "planning/114b-chart-default-spread-settled", moves: true,
			want: "n0 stays; n1 stays; n10 stays; n11 stays; n2 stays; n3 stays; n4 stays; n5 stays; " +
				"n6 stays; n7 stays; n8 stays; n9 stays"},
		{file: "operations/09b-al2023-maxpods-lower", want: "2 of m5.large us-east-1a: 10 pods; m5.large us-east-1a: 7 pods"},
		{file: "operations/09c-bottlerocket-maxpods", want: "2 of m5.large us-east-1a: 10 pods; m5.large us-east-1a: 7 pods"},
		{file: "ml/39c-limits-only-age-reversed",
			want: "3 of g5.xlarge us-east-1c: 1 pods; default/new-0 has no place; default/new-1 has no place; " +
				"default/new-2 has no place"},
		{file: "ml/41-timeslice-by-overlay", want: "g4dn.xlarge us-east-1a: 4 pods"},
	} {
		t.Run(test.file, func(t *testing.T) {
			file := filepath.Join("..", "..", "..", "testdata", "cases", test.file+".yaml")
			answer := answerOf
			if test.moves {
				answer = movesOf
			}
			got, reasons := answer(t, file)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			for _, part := range test.because {
				if !strings.Contains(reasons, part) {
					t.Errorf("no %q in %s", part, reasons)
				}
			}
		})
	}
}

// answerOf is what the command plans, in the order of the words.
func answerOf(t *testing.T, file string) (summary, reasons string) {
	t.Helper()
	text, problems, err := runPlan(t, "", "plan", "-daemon-sets", "files", "-o", "json", "-f", file)
	if err != nil {
		t.Fatal(err, problems)
	}
	var shown report.Plan
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, node := range shown.Nodes {
		count[fmt.Sprintf("%s %s: %d pods", node.InstanceType, node.Zone, len(node.Pods))]++
	}
	for _, existing := range shown.Existing {
		count[fmt.Sprintf("%s: %d pods", existing.Node, len(existing.Pods))]++
	}
	for _, pod := range shown.Unschedulable {
		count[pod.Pod+" has no place"]++
		for _, reason := range pod.Reasons {
			reasons += reason.Reason + "\n"
		}
	}
	return summed(count), reasons
}

// movesOf is what the command moves.
func movesOf(t *testing.T, file string) (summary, reasons string) {
	t.Helper()
	text, problems, err := runPlan(t, "", "plan", "--consolidate", "-daemon-sets", "files", "-o", "json", "-f", file)
	if err != nil {
		t.Fatal(err, problems)
	}
	var shown report.Consolidation
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, move := range shown.Moves {
		var words []string
		for _, leaving := range move.Delete {
			words = append(words, leaving.Node)
		}
		words = append(words, "to")
		for _, node := range move.Launch {
			words = append(words, node.InstanceType, node.Zone)
		}
		for _, existing := range move.Existing {
			words = append(words, existing.Node)
		}
		count[strings.Join(words, " ")]++
	}
	for _, stay := range shown.Stays {
		count[stay.Node+" stays"]++
		reasons += stay.Reason + "\n"
	}
	return summed(count), reasons
}

func summed(count map[string]int) string {
	var parts []string
	for part, number := range count {
		if number > 1 {
			part = fmt.Sprintf("%d of %s", number, part)
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// TestMistakesInFiles gives what people write by mistake. The answer names the field, and a remedy.
func TestMistakesInFiles(t *testing.T) {
	for file, want := range map[string]string{
		"odd/o02-memory-gb":                "resources.requests.memory: \"8GB\": want a quantity such as 8Gi",
		"odd/o03-cpu-comma":                "resources.requests.cpu: \"1,5\": want a quantity such as 1500m",
		"odd/o04-milli-memory":             "512m: is a part of a byte",
		"odd/o05-limits-below-requests":    "resources.requests.cpu: 2: is more than the limit of 1",
		"odd/o11-spread-maxskew-0":         "maxSkew: 0: want one or more",
		"odd/o12-spread-mindomains-anyway": "minDomains: 3: goes with whenUnsatisfiable: DoNotSchedule only",
		"odd/o13-spread-nil-selector":      "labelSelector: is missing: the constraint counts no pod",
		"odd/o29-gpu-half":                 "[nvidia.com/gpu]: 500m: want a whole number",
		"odd/o45-affinity-no-topologykey":  "topologyKey: is missing",
		"odd/o46-weight-0-pref":            "weight: 0: want a number from 1 to 100",
		"odd/o54-block-device-wrong-name":  "volumeSize of the root volume",
		"odd/o67-helm-template":            "render it first",
		"planning/113-do-not-disrupt-unreadable": `metadata.annotations[karpenter.sh/do-not-disrupt]: "4 hours" ` +
			`protects nothing`,
	} {
		t.Run(file, func(t *testing.T) {
			text, problems, err := runPlan(t, "", "plan", "-f", filepath.Join("..", "..", "..", "testdata", "cases", file+".yaml"))
			if told := fmt.Sprint(text, problems, err); !strings.Contains(told, want) {
				t.Errorf("%s\nwant %q", told, want)
			}
		})
	}
}

// TestConsolidationOfFilesWarnsToo has annotations that a person took for protection.
func TestConsolidationOfFilesWarnsToo(t *testing.T) {
	path := filepath.Join("..", "..", "..", "testdata", "cases", "planning", "113-do-not-disrupt-unreadable.yaml")
	_, problems, err := runPlan(t, "", "plan", "--consolidate", "-f", path)
	if err != nil || strings.Count(problems, "protects nothing") != 3 {
		t.Errorf("%v: %s", err, problems)
	}
}
