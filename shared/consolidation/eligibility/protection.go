package eligibility

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// podProtection tells why pods must not be evicted. A cluster may have thousands of pods and
// hundreds of PodDisruptionBudgets. It therefore checks pods that are equal for budgets only once.
type podProtection struct {
	budgets []policyv1.PodDisruptionBudget
	now     time.Time
	// blocked tells whether budgets block the pods with that key.
	blocked map[string]bool
	key     strings.Builder
}

func newPodProtection(budgets []policyv1.PodDisruptionBudget, now time.Time) *podProtection {
	return &podProtection{budgets: budgets, now: now, blocked: map[string]bool{}}
}

// of is the reason why a pod keeps the node, or "". If several pods do, it names the first by name.
func (p *podProtection) of(pods []corev1.Pod) string {
	var first *corev1.Pod
	found := ""
	for i := range pods {
		pod := &pods[i]
		if scheduling.IsTerminal(pod) || pod.DeletionTimestamp != nil || first != nil && compareNames(pod, first) > 0 {
			continue
		}
		if reason := p.ofPod(pod); reason != "" {
			first, found = pod, reason
		}
	}
	return found
}

// runningJob names a pod of a Job among the running pods, or is empty.
func runningJob(pods []*state.Pod) string {
	for _, pod := range pods {
		if pod.Job != "" {
			return fmt.Sprintf("pod %s is of the %s, and the NodePool has the annotation %s",
				pod.Ref, pod.Job, api.KeepJobsAnnotationKey)
		}
	}
	return ""
}

func compareNames(a, b *corev1.Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

func (p *podProtection) ofPod(pod *corev1.Pod) string {
	pods := []*corev1.Pod{pod}
	if reason := protection.Blocked(pods, nil, p.now); reason != "" || !p.budgetsBlock(pod) {
		return reason
	}
	return protection.Blocked(pods, p.budgets, p.now)
}

// budgetsBlock tells whether budgets block pods like this one.
func (p *podProtection) budgetsBlock(pod *corev1.Pod) bool {
	if len(p.budgets) == 0 || !scheduling.IsEvicted(pod) {
		return false
	}
	p.key.Reset()
	p.key.WriteString(pod.Namespace)
	for _, name := range slices.Sorted(maps.Keys(pod.Labels)) {
		fmt.Fprintf(&p.key, "\x00%s=%s", name, pod.Labels[name])
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			fmt.Fprintf(&p.key, "\x00%s", pod.Status.Conditions[i].Status)
		}
	}
	key := p.key.String()
	blocked, known := p.blocked[key]
	if !known {
		blocked = protection.Blocked([]*corev1.Pod{pod}, p.budgets, p.now) != ""
		p.blocked[key] = blocked
	}
	return blocked
}
