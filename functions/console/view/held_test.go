package view

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/misfit"
)

// TestHeldPodsSayWhyAndUntilWhen shows pods that the nodes launched for them did not serve.
func TestHeldPodsSayWhyAndUntilWhen(t *testing.T) {
	pod := func(name string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-1",
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	}
	known := misfit.Misfit{Claims: []string{"a", "b"}, Until: now.Add(time.Minute), Because: "it requires cpu 4"}
	over := known
	over.Until = now
	for _, test := range []struct {
		name    string
		known   misfit.Misfit
		message string
		problem string
	}{
		{"held", known, `nodeclaim "b", does not serve it: it requires cpu 4; after 2 such launches the next one is not ` +
			"before 2026-03-01T12:01:00Z", "a pod is held"},
		{"over", over, "", "has waited for more than 10 minutes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := Of(&Cluster{Pods: []corev1.Pod{pod("web")}, Misfits: map[string]misfit.Misfit{"uid-1": test.known}}, now)
			shown := v.Waiting[0]
			if !strings.Contains(shown.Message, test.message) || (test.message == "") != shown.HeldUntil.IsZero() {
				t.Errorf("%+v", shown)
			}
			if !strings.Contains(strings.Join(v.Problems, "\n"), test.problem) {
				t.Errorf("problems %q", v.Problems)
			}
		})
	}
}
