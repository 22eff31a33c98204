package schedulertest

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/shared/plan"
)

const (
	// nominationGate is a scheduling gate that holds a pod until it has its nomination.
	nominationGate = "schedulertest.whittle.dev/nomination"
	// settleTimeNominated is the settle time for nominated pods.
	settleTimeNominated = 300 * time.Millisecond
)

// nominate creates the planned pods again and nominates each for its planned node, which the
// scheduler then tries first. It returns where the pods are, and how many waves it took.
//
// The scheduler places one pod after another. A spread or an affinity may require another pod
// first. So nominate deletes a pod that the scheduler refuses and offers it again in a later wave.
// The first wave offers all pods.
//
// The scheduler counts the nominated pods of a node as running, but only while it looks at that
// node. Pods on their way to the same node can therefore seem to violate a spread. After a wave
// that places no pod, waves become smaller: one pod of each group for each node, then one pod for
// each node. The last wave is one of these that places no pod.
func (r *run) nominate(wanted []plan.PodRef, plannedNodes map[plan.PodRef]string) (states, int, error) {
	ctx := r.Context()
	templates := map[plan.PodRef]*corev1.Pod{}
	for i := range r.Pods {
		for _, pod := range r.Pods[i].expand() {
			templates[refOf(pod)] = pod
		}
	}
	widths := []func(plan.PodRef) string{
		func(ref plan.PodRef) string { return groupOf(ref).String() + " on " + plannedNodes[ref] },
		func(ref plan.PodRef) string { return plannedNodes[ref] },
	}
	offer := slices.Clone(wanted)
	for wave := 1; ; wave++ {
		if err := r.offer(ctx, offer, templates, plannedNodes); err != nil {
			return nil, wave, err
		}
		seen, err := r.cluster.settle(ctx, offer, nil, settleTimeNominated)
		if err != nil {
			return nil, wave, err
		}
		misplaced := seen.misplaced(plannedNodes)
		refused := slices.DeleteFunc(slices.Clone(offer), func(ref plan.PodRef) bool {
			return !slices.Contains(misplaced, ref)
		})
		if len(refused) == len(offer) && wave > 1 {
			widths = widths[1:]
		}
		if len(misplaced) == 0 || len(widths) == 0 {
			return seen, wave, nil
		}
		if err := r.deletePods(ctx, refused); err != nil {
			return nil, wave, err
		}
		// Pods that were refused now come last.
		waiting := slices.DeleteFunc(misplaced, func(ref plan.PodRef) bool { return slices.Contains(refused, ref) })
		offer = firstOfEach(append(waiting, refused...), widths[0])
	}
}

// offer creates the pods with their nominations. It removes their gates when all are nominated.
func (r *run) offer(
	ctx context.Context,
	refs []plan.PodRef,
	templates map[plan.PodRef]*corev1.Pod,
	plannedNodes map[plan.PodRef]string,
) error {
	err := each(ctx, refs, func(ctx context.Context, ref plan.PodRef) error {
		pod := templates[ref].DeepCopy()
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: nominationGate}}
		if err := r.cluster.create(ctx, pods, pod.Namespace, pod); err != nil {
			return err
		}
		nomination := map[string]any{"status": map[string]any{"nominatedNodeName": plannedNodes[ref]}}
		return r.cluster.patch(ctx, pods.path(ref.Namespace, ref.Name, "status"), nomination)
	})
	if err != nil {
		return err
	}
	return each(ctx, roundRobin(refs, plannedNodes), func(ctx context.Context, ref plan.PodRef) error {
		open := map[string]any{"spec": map[string]any{"schedulingGates": nil}}
		return r.cluster.patch(ctx, pods.path(ref.Namespace, ref.Name), open)
	})
}

// deletePods deletes the pods and waits until they are gone.
func (r *run) deletePods(ctx context.Context, refs []plan.PodRef) error {
	return each(ctx, refs, func(ctx context.Context, ref plan.PodRef) error {
		path := pods.path(ref.Namespace, ref.Name)
		if err := r.cluster.remove(ctx, path); err != nil {
			return err
		}
		return wait(ctx, "pod "+ref.String()+" was gone", func(ctx context.Context) (bool, error) {
			err := r.cluster.rest.Get().AbsPath(path).Do(ctx).Error()
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
	})
}

// roundRobin sorts the pods so that every node gets its first pod before any node gets a second.
func roundRobin(refs []plan.PodRef, plannedNodes map[plan.PodRef]string) []plan.PodRef {
	rank, count := map[plan.PodRef]int{}, map[string]int{}
	for _, ref := range refs {
		rank[ref] = count[plannedNodes[ref]]
		count[plannedNodes[ref]]++
	}
	refs = slices.Clone(refs)
	slices.SortStableFunc(refs, func(a, b plan.PodRef) int { return rank[a] - rank[b] })
	return refs
}

// firstOfEach returns the first pod for each key.
func firstOfEach(refs []plan.PodRef, key func(plan.PodRef) string) []plan.PodRef {
	taken := map[string]bool{}
	return slices.DeleteFunc(refs, func(ref plan.PodRef) bool {
		again := taken[key(ref)]
		taken[key(ref)] = true
		return again
	})
}
