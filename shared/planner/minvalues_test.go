package planner_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

// TestMinValues checks that a claim's types have as many values as its pool demands. If no claim
// can, the pods stay unplaced.
func TestMinValues(t *testing.T) {
	for _, test := range []struct {
		name      string
		key       string
		least     int
		placed    bool
		instances []string
	}{
		{"families", api.LabelInstanceFamily, 5, true, nil},
		{"more families than hold the pod", api.LabelInstanceFamily, 3, false,
			[]string{"m7i.large", "c7i.large", "m7i.xlarge"}},
		{"capacity types", api.CapacityTypeLabelKey, 2, true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := newPool("default")
			pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
				{Key: test.key, Operator: corev1.NodeSelectorOpExists, MinValues: &test.least},
			}
			s := realSnapshot(t, pool)
			if test.instances != nil {
				types := s.InstanceTypes["default"][:0]
				for _, typ := range s.InstanceTypes["default"] {
					for _, name := range test.instances {
						if typ.Name == name {
							types = append(types, typ)
						}
					}
				}
				s.InstanceTypes["default"] = types
			}
			s.Pods = manyPods(40, 4, 3)
			solved := planner.Solve(s)
			verify(t, s, solved)
			if (len(solved.NodeClaims) > 0) != test.placed || test.placed && len(solved.Unplaced) > 0 {
				t.Fatalf("%d claims, unplaced %v", len(solved.NodeClaims), solved.Unplaced)
			}
			for _, claim := range solved.NodeClaims {
				values := map[string]bool{}
				for _, choice := range claim.Offerings {
					node, _ := nodeOf(t, s, &claim, choice)
					values[node.Labels[test.key]] = true
				}
				if len(values) < test.least {
					t.Errorf("a claim offers %d values, want %d", len(values), test.least)
				}
			}
		})
	}
}

// TestMinValuesReasons checks the reasons of pods that are unplaced because of minValues. A reason
// names the limit if too few types fit it, or else the domain that the pod is bound to.
func TestMinValuesReasons(t *testing.T) {
	least := 2
	alone := awayFrom(corev1.LabelHostname, "web")
	for _, test := range []struct {
		name   string
		change func(*api.NodePool)
		pod    func(*corev1.Pod)
		claims int
		reason string
	}{
		{"limit", limited(corev1.ResourceMemory, "50Gi"), alone, 1,
			"minValues 2 of node.kubernetes.io/instance-type cannot be met within the limit of memory 50Gi: " +
				"its nodes have 0, this plan's 32Gi"},
		{"domain", func(*api.NodePool) {}, spreadOver(corev1.LabelArchStable, 1, "web"), 0,
			"that hold the pod in kubernetes.io/arch a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := newPool("default", test.change)
			pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &least},
			}
			s := &plan.Snapshot{
				NodePools:   []api.NodePool{pool},
				NodeClasses: []api.EC2NodeClass{{}},
				InstanceTypes: map[string][]catalog.InstanceType{
					"default": {
						smallType("t1", 4, 16, 0.2, api.ArchitectureAmd64),
						smallType("t2", 8, 32, 0.4, api.ArchitectureArm64),
					},
				},
			}
			s.NodeClasses[0].Name = "default"
			s.Pods = []corev1.Pod{newPod("p1", "1", "1Gi", app("web"), test.pod), newPod("p2", "1", "1Gi", app("web"), test.pod)}
			solved := planner.Solve(s)
			if len(solved.NodeClaims) != test.claims || len(solved.Unplaced) != 2-test.claims {
				t.Fatalf("%d claims, unplaced %v", len(solved.NodeClaims), solved.Unplaced)
			}
			if text := solved.Unplaced[0].Reasons[0].Message; !strings.Contains(text, test.reason) {
				t.Errorf("the reason is %q, want %q in it", text, test.reason)
			}
		})
	}
}

// TestMinValuesByBestEffort checks that BestEffort lowers minValues to the values that exist, and
// that an annotation of the claim says so.
func TestMinValuesByBestEffort(t *testing.T) {
	least := 3
	for _, test := range []struct {
		policy  plan.MinValuesPolicy
		claims  int
		relaxed string
	}{{plan.MinValuesStrict, 0, ""}, {plan.MinValuesBestEffort, 1, "true"}} {
		t.Run(string(test.policy), func(t *testing.T) {
			pool := newPool("default")
			pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &least},
			}
			s := &plan.Snapshot{
				NodePools:       []api.NodePool{pool},
				NodeClasses:     []api.EC2NodeClass{{}},
				MinValuesPolicy: test.policy,
				InstanceTypes: map[string][]catalog.InstanceType{
					"default": {
						smallType("t1", 4, 16, 0.2, api.ArchitectureAmd64),
						smallType("t2", 4, 16, 0.3, api.ArchitectureAmd64),
					},
				},
			}
			s.NodeClasses[0].Name = "default"
			s.Pods = []corev1.Pod{newPod("p", "1", "1Gi")}
			plan := planner.Solve(s)
			if len(plan.NodeClaims) != test.claims {
				t.Fatalf("%d claims, want %d: %v", len(plan.NodeClaims), test.claims, plan.Unplaced)
			}
			if test.claims == 0 {
				return
			}
			claim := plan.NodeClaims[0].NodeClaim
			if got := claim.Annotations[api.NodeClaimMinValuesRelaxedAnnotationKey]; got != test.relaxed {
				t.Errorf("the annotation is %q, want %q", got, test.relaxed)
			}
			for _, term := range claim.Spec.Requirements {
				if term.Key == corev1.LabelInstanceTypeStable && (term.MinValues == nil || *term.MinValues != 2) {
					t.Errorf("the claim asks for %v values of the instance type, want 2", term.MinValues)
				}
			}
		})
	}
}
