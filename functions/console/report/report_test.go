package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

func amounts(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse(pods),
	}
}

func refs(names ...string) []plan.PodRef {
	var all []plan.PodRef
	for _, name := range names {
		all = append(all, plan.PodRef{Namespace: "default", Name: name, UID: "u-" + name})
	}
	return all
}

func claim(
	pool string, requests corev1.ResourceList, price float64, zone string, types []string, pods ...string,
) plan.PlannedNodeClaim {
	c := plan.PlannedNodeClaim{Pods: refs(pods...), InstanceTypes: types, PricePerHour: price}
	for _, name := range types {
		c.Offerings = append(c.Offerings, plan.Choice{InstanceType: name, Zone: zone, CapacityType: "spot", Price: price})
	}
	c.NodeClaim.GenerateName = pool + "-"
	c.NodeClaim.Labels = map[string]string{api.NodePoolLabelKey: pool, "team": "a"}
	c.NodeClaim.Annotations = map[string]string{api.NominatedPodsAnnotationKey: "u-a,u-b"}
	least := 2
	c.NodeClaim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: "In", Values: types, MinValues: &least},
		{Key: corev1.LabelTopologyZone, Operator: "In", Values: []string{zone}},
	}
	c.NodeClaim.Spec.Resources.Requests = requests
	return c
}

func example() (*plan.Snapshot, *plan.Plan) {
	typ := func(name, cpu, memory string, price float64) catalog.InstanceType {
		return catalog.InstanceType{
			Name: name, Allocatable: amounts(cpu, memory, "58"),
			Requirements: scheduling.FromLabels(
				map[string]string{corev1.LabelInstanceTypeStable: name, corev1.LabelTopologyZone: "us-east-1a"},
			),
			Offerings: []catalog.Offering{{CapacityType: "spot", Zone: "us-east-1a", Price: price, Available: true}},
		}
	}
	s := &plan.Snapshot{InstanceTypes: map[string][]catalog.InstanceType{
		"default": {
			typ("m6a.large", "2", "8Gi", 0.05), typ("m6i.large", "2", "8Gi", 0.06), typ("m6a.4xlarge", "16", "64Gi", 0.4),
		},
		"gpu": {typ("g5.xlarge", "4", "16Gi", 0.5)},
	}}
	first := claim(
		"default", amounts("1900m", "2Gi", "3"), 0.05, "us-east-1a", []string{"m6a.large", "m6i.large"}, "a", "b",
	)
	first.PricePerHour, first.ExtrasPerHour = 0.0522, 0.0022
	first.NodeClaim.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	second := claim("default", amounts("700m", "2Gi", "2"), 0.05, "us-east-1a", []string{"m6a.large", "m6i.large"}, "c")
	second.PricePerHour, second.ExtrasPerHour = 0.0522, 0.0022
	p := &plan.Plan{
		NodeClaims: []plan.PlannedNodeClaim{
			first, second, claim("gpu", amounts("4", "1Gi", "1"), 0.5, "us-east-1b", []string{"g5.xlarge"}, "d"),
		},
		Nominations: []plan.Nomination{
			{Pod: refs("e")[0], NodeName: "n2", NodeClaimName: "default-2"}, {Pod: refs("f")[0], NodeClaimName: "default-3"},
			{Pod: refs("g")[0], NodeName: "n1"}, {Pod: refs("h")[0], NodeName: "n2", NodeClaimName: "default-2"},
		},
		PricePerHour: 0.6044, ExtrasPerHour: 0.0044, LowerBoundPerHour: 0.5,
	}
	for _, name := range []string{"w1", "x", "w2", "w3", "w4"} {
		reasons := []plan.Reason{
			{
				NodePool: "default",
				Message:  "requires cpu 64, the largest of its 3 instance types offers 16 (m6a.4xlarge): lower the request",
			},
			{NodePool: "gpu", Message: "taint gpu:NoSchedule is not tolerated"},
		}
		if name == "x" {
			reasons = []plan.Reason{{Message: "persistentvolumeclaim default/data is lost"}}
		}
		p.Unplaced = append(p.Unplaced, plan.Unplaced{Pod: refs(name)[0], Reasons: reasons})
	}
	return s, p
}

func TestJSON(t *testing.T) {
	_, p := example()
	text, err := json.MarshalIndent(Of(p, 4*time.Millisecond, "built in"), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", string(text)+"\n")
	if p.NodeClaims[0].NodeClaim.Annotations[api.NominatedPodsAnnotationKey] == "" {
		t.Error("the plan has been changed")
	}
	text, err = json.Marshal(Of(&plan.Plan{}, 0, ""))
	const want = `{"formatVersion":1,"nodes":[],"existing":[],"unschedulable":[],"held":[],"pricePerHour":0,"extrasPerHour":0,"lowerBoundPerHour":0,"optimal":false,"assumedDaemonSets":[],"prices":"","seconds":0}`
	if err != nil || string(text) != want {
		t.Errorf("an empty plan is %s, %v", text, err)
	}
	text, err = json.Marshal(Of(&plan.Plan{NodeClaims: []plan.PlannedNodeClaim{{}}, Unplaced: []plan.Unplaced{{}}}, 0, ""))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("lists are null in %s, %v", text, err)
	}
}

func TestTable(t *testing.T) {
	s, p := example()
	problems := []PoolProblem{
		{NodePool: "old", Problem: "none of 3 instance types has karpenter.k8s.aws/instance-cpu Gt 5000"},
	}
	for name, style := range map[string]terminal.Style{
		"plan.txt": {}, "plan-100.txt": {Width: 100}, "plan-80.txt": {Width: 80},
		"plan-color.txt": {Width: 120, Color: true},
	} {
		var out bytes.Buffer
		if err := Of(p, 4*time.Millisecond, "built in").WriteTable(&out, s, problems, false, style); err != nil {
			t.Fatal(err)
		}
		golden(t, name, out.String())
		if style.Width > 0 && !style.Color {
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > style.Width {
					t.Errorf("%s: a line has %d characters: %s", name, n, line)
				}
			}
		}
	}
	var out bytes.Buffer
	if err := Of(&plan.Plan{}, 0, "").WriteTable(&out, &plan.Snapshot{}, nil, false, terminal.Style{}); err != nil ||
		out.String() != "No pod is pending.\n" {
		t.Errorf("an empty plan is %q, %v", out.String(), err)
	}
}

func TestBar(t *testing.T) {
	for _, test := range []struct {
		part float64
		want string
	}{
		{0, "░░░░"}, {-1, "░░░░"}, {1, "████"}, {7, "████"}, {0.5, "██░░"}, {0.53125, "██▏░"}, {0.98, "███▉"},
	} {
		if got := terminal.Bar(test.part, 4); got != test.want {
			t.Errorf("%v is %s, want %s", test.part, got, test.want)
		}
	}
}

func TestDollars(t *testing.T) {
	for price, want := range map[float64]string{0: "0.0000", 0.69: "0.6900", 1e-7: "1e-07", 12.34567: "12.3457"} {
		if got := dollars(price); got != want {
			t.Errorf("%v is %s, want %s", price, got, want)
		}
	}
}
