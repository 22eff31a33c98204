package planner_test

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// TestClaimCarriesTheTemplate checks what a claim copies from its pool, and what the plan adds.
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
