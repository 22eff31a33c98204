package pending

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// wakeFor is how long after a sleep a pool owes its nodes only since the sleep's end. After that a pod
	// that still waits has waited since its creation: something is wrong.
	wakeFor = 15 * time.Minute
	// step is how exactly the end of a sleep is found.
	step = time.Minute
)

// Waits says how long pods have waited.
type Waits struct {
	now   time.Time
	pools []pool
	// rested says that a pool sleeps, or did a short time ago. Without any, pods wait from their creation.
	rested bool
}

// pool is what decides whether a pool may serve a pod.
type pool struct {
	requirements scheduling.Requirements
	taints       []corev1.Taint
	// awakeFor is how long ago its sleep ended; zero while it sleeps. slept is set for both.
	awakeFor time.Duration
	slept    bool
}

// New reads the pools, which have the cluster's order.
func New(pools []api.NodePool, now time.Time) *Waits {
	w := &Waits{now: now}
	for i := range pools {
		one := &pools[i]
		requirements, err := scheduling.FromTerms(one.Spec.Template.Spec.Requirements)
		if err != nil || one.DeletionTimestamp != nil {
			continue // it launches nothing
		}
		requirements.Merge(scheduling.FromLabels(one.Spec.Template.Labels))
		requirements.Merge(scheduling.FromLabels(map[string]string{api.NodePoolLabelKey: one.Name}))
		made := pool{requirements: requirements, taints: one.Spec.Template.Spec.Taints}
		made.awakeFor, made.slept = awakeFor(one, now)
		w.rested = w.rested || made.slept
		w.pools = append(w.pools, made)
	}
	return w
}

// awakeFor is how long ago the pool's sleep ended, and whether it slept within wakeFor.
func awakeFor(pool *api.NodePool, now time.Time) (awake time.Duration, slept bool) {
	for ; awake <= wakeFor; awake += step {
		if pool.Rest(now.Add(-awake)).Asleep {
			return awake, true
		}
	}
	return 0, false
}

// Of is how long the pod has waited. Asleep says that every pool that may serve it sleeps now, so that it
// waits for nobody.
func (w *Waits) Of(pod *corev1.Pod) (waited time.Duration, asleep bool) {
	waited = max(w.now.Sub(pod.CreationTimestamp.Time), 0)
	if !w.rested {
		return waited, false
	}
	alternatives, err := workload.NodeAlternatives(&pod.Spec)
	if err != nil {
		return waited, false
	}
	longest, serves := time.Duration(0), false
	for i := range w.pools {
		one := &w.pools[i]
		if !one.mayServe(pod, alternatives) {
			continue
		}
		if !one.slept {
			return waited, false
		}
		longest, serves = max(longest, one.awakeFor), true
	}
	if !serves {
		return waited, false
	}
	return min(waited, longest), longest == 0
}

// mayServe reports whether the pool's nodes may have the labels that the pod wants, and no taint that keeps
// it off. Whether one is large enough is not asked.
func (p *pool) mayServe(pod *corev1.Pod, alternatives []scheduling.Requirements) bool {
	if !scheduling.ToleratesAll(p.taints, pod.Spec.Tolerations) {
		return false
	}
	for _, wanted := range alternatives {
		if p.requirements.IsCompatible(wanted, scheduling.UndefinedWellKnownIsAny) {
			return true
		}
	}
	return false
}
