package planner_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/dense"

	appsv1 "k8s.io/api/apps/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

var update = flag.Bool("update", false, "write what the planner does into the scenarios' want")

// scenario is a file of testdata: a cluster, and the plan that it must have.
type scenario struct {
	Description string `json:"description"`
	// InstanceTypes are the types on offer, with their real sizes and prices. None means all.
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// Unavailable are offerings without capacity, as capacityType:instanceType:zone.
	Unavailable []string           `json:"unavailable,omitempty"`
	NodeClass   *api.EC2NodeClass  `json:"nodeClass,omitempty"`
	NodePools   []api.NodePool     `json:"nodePools,omitempty"`
	Limits      []plan.Limit       `json:"limits,omitempty"`
	DaemonSets  []appsv1.DaemonSet `json:"daemonSets,omitempty"`
	Nodes       []plan.Node        `json:"nodes,omitempty"`
	Pods        []scenarioPods     `json:"pods,omitempty"`
	// Want describes the plan, with a line for each new node, existing node and reason.
	Want []string `json:"want"`
}

// scenarioPods are pods that differ only in their names.
type scenarioPods struct {
	Name  string     `json:"name"`
	Count int        `json:"count,omitempty"`
	Pod   corev1.Pod `json:"pod"`
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var scenario scenario
			if err := yaml.UnmarshalStrict(text, &scenario); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			s := scenario.snapshot(t)
			solved := planner.Solve(s)
			verify(t, s, solved)
			got := describe(solved)
			if *update {
				before, _, _ := strings.Cut(string(text), "\nwant:")
				want, err := yaml.Marshal(map[string][]string{"want": got})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(before+"\n"+string(want)), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !slices.Equal(got, scenario.Want) {
				t.Errorf(
					"%s\ngot:\n- %s\nwant:\n- %s",
					scenario.Description,
					strings.Join(got, "\n- "),
					strings.Join(scenario.Want, "\n- "),
				)
			}
		})
	}
}

func (c *scenario) snapshot(t *testing.T) *plan.Snapshot {
	facts := catalogtest.Catalog(t)
	if len(c.InstanceTypes) > 0 {
		facts.InstanceTypes = slices.DeleteFunc(
			facts.InstanceTypes,
			func(i catalog.InstanceTypeInfo) bool { return !slices.Contains(c.InstanceTypes, i.InstanceType) },
		)
	}
	unavailable := &catalog.Unavailable{}
	for _, key := range c.Unavailable {
		capacityType, instanceType, zone, err := catalog.ParseOfferingKey(key)
		if err != nil {
			t.Fatal(err)
		}
		unavailable.Mark(capacityType, instanceType, zone, catalogtest.Now)
	}
	class := c.NodeClass
	if class == nil {
		class = catalogtest.NodeClass("default")
	}
	s := &plan.Snapshot{
		Limits:    c.Limits,
		NodePools: c.NodePools, NodeClasses: []api.EC2NodeClass{*class}, DaemonSets: c.DaemonSets, Nodes: c.Nodes,
		InstanceTypes: map[string][]catalog.InstanceType{},
	}
	resolved := catalog.Resolve(facts, class, catalog.Observed{Unavailable: unavailable}, catalogtest.Now)
	for i := range s.NodePools {
		if s.NodePools[i].Spec.Template.Spec.NodeClassRef == nil {
			s.NodePools[i].Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
				Group: api.AWSGroup,
				Kind:  api.EC2NodeClassKind,
				Name:  "default",
			}
		}
		if s.NodePools[i].Spec.Template.Spec.NodeClassRef.Name == class.Name {
			s.InstanceTypes[s.NodePools[i].Name] = resolved
		}
	}
	for _, pods := range c.Pods {
		for i := range max(pods.Count, 1) {
			pod := *pods.Pod.DeepCopy()
			pod.Namespace, pod.Name = cmp.Or(pod.Namespace, "default"), fmt.Sprintf("%s-%d", pods.Name, i)
			pod.UID = types.UID("uid-" + pod.Name)
			s.Pods = append(s.Pods, pod)
		}
	}
	return s
}

// describe prints a plan as the lines of a scenario's want.
func describe(solved *plan.Plan) []string {
	var lines []string
	for _, claim := range solved.NodeClaims {
		first := claim.Offerings[0]
		line := fmt.Sprintf(
			"new %s node: %s; cheapest %s %s in %s at %.4f $/h, %d types",
			claim.NodeClaim.Labels[api.NodePoolLabelKey],
			names(claim.Pods),
			first.CapacityType,
			first.InstanceType,
			first.Zone,
			first.Price,
			len(claim.InstanceTypes),
		)
		var labels []string
		for _, key := range dense.SortedKeys(claim.NodeClaim.Labels) {
			if !strings.HasPrefix(key, "karpenter.") && key != corev1.LabelInstanceTypeStable {
				labels = append(labels, key+"="+claim.NodeClaim.Labels[key])
			}
		}
		if len(labels) > 0 {
			line += "; labels " + strings.Join(labels, ",")
		}
		lines = append(lines, line)
	}
	byNode := map[string][]plan.PodRef{}
	for _, n := range solved.Nominations {
		name := cmp.Or(n.NodeName, "claim "+n.NodeClaimName)
		byNode[name] = append(byNode[name], n.Pod)
	}
	for _, name := range dense.SortedKeys(byNode) {
		lines = append(lines, fmt.Sprintf("on %s: %s", name, names(byNode[name])))
	}
	byReasons := map[string][]plan.PodRef{}
	for _, u := range solved.Unplaced {
		var reasons []string
		for _, r := range u.Reasons {
			reasons = append(reasons, r.String())
		}
		text := strings.Join(reasons, " | ")
		byReasons[text] = append(byReasons[text], u.Pod)
	}
	for _, reasons := range dense.SortedKeys(byReasons) {
		lines = append(lines, fmt.Sprintf("no place for %s: %s", names(byReasons[reasons]), reasons))
	}
	return lines
}

// names counts the pods of each of the scenario's names.
func names(pods []plan.PodRef) string {
	count := map[string]int{}
	for _, pod := range pods {
		count[pod.Name[:strings.LastIndex(pod.Name, "-")]]++
	}
	var parts []string
	for _, name := range dense.SortedKeys(count) {
		parts = append(parts, fmt.Sprintf("%d %s", count[name], name))
	}
	return strings.Join(parts, ", ")
}
