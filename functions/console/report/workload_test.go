package report_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// TestWorkloadsOwnTheirPods has pods as a cluster has them: a Deployment owns its own by a ReplicaSet.
func TestWorkloadsOwnTheirPods(t *testing.T) {
	yes := true
	pod := func(name, kind, owner, hash string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: name, Labels: map[string]string{"pod-template-hash": hash},
				OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &yes}},
			},
			Spec: corev1.PodSpec{NodeName: "n"},
		}
	}
	pods := []corev1.Pod{
		pod("web-1-a", "ReplicaSet", "web-1", "1"), pod("web-2-a", "ReplicaSet", "web-2", "2"),
		pod("db-0", "StatefulSet", "db", ""), pod("other-1-a", "ReplicaSet", "other-1", "1"),
	}
	view := &sight.View{Objects: &snapshot.Objects{Pods: pods}, Snapshot: &plan.Snapshot{}}
	for _, test := range []struct {
		kind, name string
		pods       int
	}{
		{"Deployment", "web", 2}, {"ReplicaSet", "web-1", 1}, {"StatefulSet", "db", 1}, {"Deployment", "db", 0},
		{"ReplicaSet", "web", 0}, {"Deployment", "we", 0},
	} {
		got := 0
		explained := report.ExplainWorkload([]string{test.kind}, "shop", test.name, view, &plan.Plan{})
		if explained != nil {
			got = explained.Pods
			if explained.Kind != test.kind || len(explained.Outcomes) != 1 ||
				explained.Outcomes[0].Outcome != report.OutcomeRunning {
				t.Errorf("%s %s: %+v", test.kind, test.name, explained)
			}
		}
		if got != test.pods {
			t.Errorf("%s %s has %d pods, want %d", test.kind, test.name, got, test.pods)
		}
	}
}
