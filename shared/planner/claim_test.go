package planner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestClaimCarriesTheTemplate checks what a claim takes over from its pool, and what the plan adds.
func TestClaimCarriesTheTemplate(t *testing.T) {
	pool := newPool(
		"web",
		require("example.com/team", corev1.NodeSelectorOpIn, "red", "blue"),
		require(api.LabelInstanceCPU, corev1.NodeSelectorOpGt, "3"),
	)
	template := &pool.Spec.Template
	template.Labels = map[string]string{"example.com/tier": "front"}
	template.Annotations = map[string]string{"example.com/note": "x"}
	template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	template.Spec.StartupTaints = []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoExecute}}
	template.Spec.ExpireAfter = api.DurationOf(time.Hour)
	template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Minute}
	s := realSnapshot(t, pool)
	s.Pods = []corev1.Pod{newPod("a", "1", "1Gi", func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		p.Spec.NodeSelector = map[string]string{"example.com/team": "blue"}
	})}
	solved := planner.Solve(s)
	verify(t, s, solved)
	if len(solved.NodeClaims) != 1 {
		t.Fatalf("%d claims, %v", len(solved.NodeClaims), solved.Unplaced)
	}
	claim := solved.NodeClaims[0].NodeClaim
	if claim.Name != "" || claim.GenerateName != "web-" || claim.Kind != api.NodeClaimKind ||
		claim.APIVersion != api.APIVersion {
		t.Errorf("claim is %s %s named %q, %q", claim.APIVersion, claim.Kind, claim.Name, claim.GenerateName)
	}
	if len(claim.Finalizers) != 1 || claim.Finalizers[0] != api.TerminationFinalizer {
		t.Errorf("finalizers %v", claim.Finalizers)
	}
	if len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].UID != pool.UID ||
		claim.OwnerReferences[0].Kind != api.NodePoolKind ||
		!*claim.OwnerReferences[0].BlockOwnerDeletion {
		t.Errorf("owners %v", claim.OwnerReferences)
	}
	for key, want := range map[string]string{"example.com/tier": "front", "example.com/team": "blue",
		api.NodePoolLabelKey: "web"} {
		if claim.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, claim.Labels[key], want)
		}
	}
	if claim.Annotations["example.com/note"] != "x" || claim.Annotations[api.NominatedPodsAnnotationKey] != "uid-a" {
		t.Errorf("annotations %v", claim.Annotations)
	}
	spec := claim.Spec
	if len(spec.Taints) != 1 || len(spec.StartupTaints) != 1 || spec.NodeClassRef.Name != "default" ||
		spec.ExpireAfter.String() != "1h0m0s" ||
		spec.TerminationGracePeriod.Minutes() != 1 {
		t.Errorf("spec %+v", spec)
	}
	if cpu := spec.Resources.Requests[corev1.ResourceCPU]; cpu.MilliValue() != 1000 {
		t.Errorf("requests %v", spec.Resources.Requests)
	}
	requirements, err := scheduling.FromTerms(spec.Requirements)
	if err != nil {
		t.Fatal(err)
	}
	if cpu := requirements[api.LabelInstanceCPU]; cpu.Has("3") || !cpu.Has("4") {
		t.Errorf("requirement %s", cpu)
	}
	if _, hasNote := s.NodePools[0].Spec.Template.Annotations[api.NominatedPodsAnnotationKey]; hasNote {
		t.Error("the snapshot's pool was changed")
	}
	if types := solved.NodeClaims[0].InstanceTypes; len(types) < plan.MinimumSpotTypes {
		t.Errorf("a spot claim keeps only %d types", len(types))
	}
}

// TestMinValues checks that a claim's types offer as many values as its pool demands, and that pods
// go without a node if none can.
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

// TestMinValuesReasons checks what a pod is told that goes without a node for minValues: the limit,
// if types within it do not suffice, or the domain that the pod is bound to.
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
