package planner_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

// TestPodsBesideDaemonSets plans pods with affinity and anti-affinity to the pods of a daemon set.
// Its pod is on each new node before the planned ones.
func TestPodsBesideDaemonSets(t *testing.T) {
	term := func(key, value, topology string) []corev1.PodAffinityTerm {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		return []corev1.PodAffinityTerm{{LabelSelector: selector, TopologyKey: topology}}
	}
	hates := func(key, value, topology string) *corev1.Affinity {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(key, value, topology)}}
	}
	wants := func(key, value string) *corev1.Affinity {
		return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(key, value, corev1.LabelHostname)}}
	}
	prefersNot := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 1, PodAffinityTerm: term("app", "agent", corev1.LabelHostname)[0]}}}}
	for _, test := range []struct {
		name string
		// of is the pod's affinity, and daemon that of the daemon set's pod, which runs on the nodes of
		// one pool, or of each.
		of, daemon *corev1.Affinity
		pool       string
		// want are the pools of the planned nodes. because is a part of the reason of a pod without a
		// place.
		want, because string
	}{
		{name: "hates the daemon", of: hates("app", "agent", corev1.LabelHostname),
			because: "daemon set default/agent runs there"},
		{name: "hates it in its zone", of: hates("app", "agent", corev1.LabelTopologyZone),
			because: "daemon set default/agent"},
		{name: "hates another", of: hates("app", "other", corev1.LabelHostname), want: "[a]"},
		{name: "is hated", daemon: hates("app", "web", corev1.LabelHostname),
			because: "daemon set default/agent runs there"},
		{name: "runs elsewhere", of: hates("app", "agent", corev1.LabelHostname), pool: "a", want: "[b]"},
		{name: "would rather not", of: prefersNot, want: "[a]"},
		{name: "wants it", of: wants("app", "agent"), want: "[a]"},
		{name: "wants it where it runs", of: wants("app", "agent"), pool: "b", want: "[b]"},
		{name: "wants it where nobody runs it", of: wants("app", "agent"), pool: "c",
			because: "daemon set default/agent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}}
			set.Spec.Template.Labels = map[string]string{"app": "agent"}
			set.Spec.Template.Spec = corev1.PodSpec{Affinity: test.daemon, Containers: []corev1.Container{{Name: "agent"}}}
			if test.pool != "" {
				set.Spec.Template.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: test.pool}
			}
			s := &plan.Snapshot{
				NodePools:     []api.NodePool{newPool("a"), newPool("b")},
				NodeClasses:   []api.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}},
				InstanceTypes: map[string][]catalog.InstanceType{},
				DaemonSets:    []appsv1.DaemonSet{set},
			}
			for i, pool := range s.NodePools {
				s.InstanceTypes[pool.Name] = []catalog.InstanceType{
					smallType("small", 4, 16, 0.1*float64(i+1), api.ArchitectureAmd64)}
			}
			s.Pods = []corev1.Pod{newPod("web", "1", "1Gi", func(p *corev1.Pod) {
				p.Labels = map[string]string{"app": "web"}
				p.Spec.Affinity = test.of
			})}
			p := planner.Solve(s)
			var pools []string
			for i := range p.NodeClaims {
				pools = append(pools, p.NodeClaims[i].NodeClaim.Labels[api.NodePoolLabelKey])
			}
			if got := fmt.Sprint(pools); len(p.Unplaced) == 0 && got != test.want || len(p.Unplaced) > 0 && test.because == "" {
				t.Errorf("nodes of %v, without a place %v; want %s", pools, p.Unplaced, test.want)
			}
			if test.because != "" && (len(p.Unplaced) != 1 ||
				!strings.Contains(fmt.Sprint(p.Unplaced[0].Reasons), test.because)) {
				t.Errorf("nodes of %v, without a place: %v; want %q", pools, p.Unplaced, test.because)
			}
			// In the next pass the node is in flight, without pods of the daemon set.
			for i := range p.NodeClaims {
				claim := p.NodeClaims[i].NodeClaim
				claim.Name, claim.Status.Allocatable = "started", s.InstanceTypes[pools[i]][0].Allocatable
				s.Nodes = append(s.Nodes, plan.Node{NodeClaim: &claim})
			}
			if again := planner.Solve(s); len(p.NodeClaims) > 0 && (len(again.NodeClaims) > 0 || len(again.Unplaced) > 0) {
				t.Errorf("with the node in flight, %d nodes and %v", len(again.NodeClaims), again.Unplaced)
			}
		})
	}
}
