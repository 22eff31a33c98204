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
	// gate holds a pod back until it has its nomination.
	gate = "schedulertest.whittle.dev/nomination"
	// quietWhileNominated is how long nothing may have happened to nominated pods until the
	// scheduler's answer is taken for its last one.
	quietWhileNominated = 300 * time.Millisecond
)

// nominate makes the planned pods once more, each with its planned node as the one that the
// scheduler tries first, and returns where they went.
//
// A pod that cannot go there yet is taken back and offered again in a later wave: the scheduler
// places one pod after another, and a spread or an affinity may want another pod placed before. The
// first wave offers all pods. The scheduler counts the nominated pods of a node as if they ran
// there, but only while it looks at that node, so that a spread can seem broken by pods that are on
// their way to the same node. Where a wave brings no pod home the next are narrower: one pod of
// each group for each node, then one pod for each node. They end when one of those brings none
// home.
func (r *run) nominate(wanted []plan.PodRef, homes map[plan.PodRef]string) (states, int, error) {
	ctx := r.Context()
	templates := map[plan.PodRef]*corev1.Pod{}
	for i := range r.Pods {
		for _, pod := range r.Pods[i].expand() {
			templates[refOf(pod)] = pod
		}
	}
	widths := []func(plan.PodRef) string{
		func(ref plan.PodRef) string { return groupOf(ref).String() + " on " + homes[ref] },
		func(ref plan.PodRef) string { return homes[ref] },
	}
	offer := slices.Clone(wanted)
	for wave := 1; ; wave++ {
		if err := r.offer(ctx, offer, templates, homes); err != nil {
			return nil, wave, err
		}
		seen, err := r.cluster.settle(ctx, offer, nil, quietWhileNominated)
		if err != nil {
			return nil, wave, err
		}
		away := seen.away(homes)
		refused := slices.DeleteFunc(slices.Clone(offer), func(ref plan.PodRef) bool { return !slices.Contains(away, ref) })
		if len(refused) == len(offer) && wave > 1 {
			widths = widths[1:]
		}
		if len(away) == 0 || len(widths) == 0 {
			return seen, wave, nil
		}
		if err := r.takeBack(ctx, refused); err != nil {
			return nil, wave, err
		}
		// Those that were refused last come last.
		waiting := slices.DeleteFunc(away, func(ref plan.PodRef) bool { return slices.Contains(refused, ref) })
		offer = firstOfEach(append(waiting, refused...), widths[0])
	}
}

// offer makes the pods, and lets the scheduler have them once all have their nominations.
func (r *run) offer(
	ctx context.Context,
	refs []plan.PodRef,
	templates map[plan.PodRef]*corev1.Pod,
	homes map[plan.PodRef]string,
) error {
	err := each(ctx, refs, func(ctx context.Context, ref plan.PodRef) error {
		pod := templates[ref].DeepCopy()
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
		if err := r.cluster.create(ctx, pods, pod.Namespace, pod); err != nil {
			return err
		}
		nomination := map[string]any{"status": map[string]any{"nominatedNodeName": homes[ref]}}
		return r.cluster.patch(ctx, pods.path(ref.Namespace, ref.Name, "status"), nomination)
	})
	if err != nil {
		return err
	}
	return each(ctx, inTurn(refs, homes), func(ctx context.Context, ref plan.PodRef) error {
		open := map[string]any{"spec": map[string]any{"schedulingGates": nil}}
		return r.cluster.patch(ctx, pods.path(ref.Namespace, ref.Name), open)
	})
}

// takeBack deletes the pods and waits until they are gone.
func (r *run) takeBack(ctx context.Context, refs []plan.PodRef) error {
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

// inTurn sorts the pods so that each node gets its first one before any gets its second.
func inTurn(refs []plan.PodRef, homes map[plan.PodRef]string) []plan.PodRef {
	rank, count := map[plan.PodRef]int{}, map[string]int{}
	for _, ref := range refs {
		rank[ref] = count[homes[ref]]
		count[homes[ref]]++
	}
	refs = slices.Clone(refs)
	slices.SortStableFunc(refs, func(a, b plan.PodRef) int { return rank[a] - rank[b] })
	return refs
}

// firstOfEach is the first pod for each key.
func firstOfEach(refs []plan.PodRef, key func(plan.PodRef) string) []plan.PodRef {
	taken := map[string]bool{}
	return slices.DeleteFunc(refs, func(ref plan.PodRef) bool {
		again := taken[key(ref)]
		taken[key(ref)] = true
		return again
	})
}
