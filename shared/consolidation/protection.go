package consolidation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// guard says what keeps pods from being evicted. Pods that are equal to PodDisruptionBudgets are held against them once: a cluster may have thousands of pods and
// hundreds of budgets.
type guard struct {
	budgets []policyv1.PodDisruptionBudget
	now     time.Time
	blocked map[string]bool
	key     strings.Builder
}

func newGuard(budgets []policyv1.PodDisruptionBudget, now time.Time) *guard {
	return &guard{budgets: budgets, now: now, blocked: map[string]bool{}}
}

// why is the reason why the pods keep their node, or "". Of several pods the first by name says it.
func (g *guard) why(pods []corev1.Pod) string {
	var first *corev1.Pod
	why := ""
	for i := range pods {
		pod := &pods[i]
		if scheduling.IsTerminal(pod) || pod.DeletionTimestamp != nil ||
			first != nil && cmp.Or(strings.Compare(pod.Namespace, first.Namespace), strings.Compare(pod.Name, first.Name)) > 0 {
			continue
		}
		if reason := g.whyPod(pod); reason != "" {
			first, why = pod, reason
		}
	}
	return why
}

func (g *guard) whyPod(pod *corev1.Pod) string {
	of := []*corev1.Pod{pod}
	if why := disruption.Blocked(of, nil, g.now); why != "" || !g.mayBlock(pod) {
		return why
	}
	return disruption.Blocked(of, g.budgets, g.now)
}

// mayBlock tells whether budgets block pods like this one.
func (g *guard) mayBlock(pod *corev1.Pod) bool {
	if len(g.budgets) == 0 {
		return false
	}
	g.key.Reset()
	g.key.WriteString(pod.Namespace)
	for _, name := range slices.Sorted(maps.Keys(pod.Labels)) {
		fmt.Fprintf(&g.key, "\x00%s=%s", name, pod.Labels[name])
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			fmt.Fprintf(&g.key, "\x00%s", pod.Status.Conditions[i].Status)
		}
	}
	if scheduling.IsStatic(pod) {
		g.key.WriteString("\x00static")
	}
	key := g.key.String()
	blocked, known := g.blocked[key]
	if !known {
		blocked = disruption.Blocked([]*corev1.Pod{pod}, g.budgets, g.now) != ""
		g.blocked[key] = blocked
	}
	return blocked
}
