package schedulertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

const (
	// settleTime is how long nothing may change before the scheduler's answers count as final.
	settleTime = 200 * time.Millisecond
	// settleTimeStuck is the settle time while planned pods have no node. The scheduler may retry
	// them.
	settleTimeStuck = 1500 * time.Millisecond
)

// states has the pods of a cluster, except those of daemon sets.
type states map[plan.PodRef]corev1.Pod

// refOf returns a pod's reference without its UID, because the test creates some pods twice.
func refOf(pod *corev1.Pod) plan.PodRef { return plan.PodRef{Namespace: pod.Namespace, Name: pod.Name} }

// observe reads all pods.
func (c *cluster) observe(ctx context.Context) (states, error) {
	var list corev1.PodList
	if err := c.list(ctx, pods, &list); err != nil {
		return nil, err
	}
	seen := states{}
	for i := range list.Items {
		if !scheduling.IsOwnedByDaemonSet(&list.Items[i]) {
			seen[refOf(&list.Items[i])] = list.Items[i]
		}
	}
	return seen, nil
}

// refused reports whether the scheduler found no node for the pod, with its message.
func refused(pod *corev1.Pod) (string, bool) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse &&
			condition.Reason == corev1.PodReasonUnschedulable {
			return condition.Message, true
		}
	}
	return "", false
}

// settle waits until the scheduler has finished. It has finished if it bound the wanted pods, or
// others of their groups in their stead. It has also finished if it answered for every pod and
// nothing changed for a while.
func (c *cluster) settle(ctx context.Context, wanted, others []plan.PodRef, while time.Duration) (states, error) {
	var last states
	var changed time.Time
	var before string
	err := wait(ctx, "the scheduler had answered for every pod", func(ctx context.Context) (bool, error) {
		if err := c.provision(ctx); err != nil {
			return false, err
		}
		seen, err := c.observe(ctx)
		if err != nil {
			return false, err
		}
		last = seen
		answered, bound := true, 0
		for _, pod := range seen {
			_, no := refused(&pod)
			answered = answered && (no || pod.Spec.NodeName != "")
			if pod.Spec.NodeName != "" {
				bound++
			}
		}
		if now := fmt.Sprint(answered, bound); now != before {
			before, changed = now, time.Now()
		}
		if len(wanted) > 0 && last.complete(wanted, others) {
			return true, nil
		}
		return answered && time.Since(changed) > while, nil
	})
	return last, err
}

// groupOf returns the pod's group. The scheduler may bind any pod of a group for another one.
func groupOf(ref plan.PodRef) plan.PodRef {
	ref.Name = ref.Name[:strings.LastIndex(ref.Name, "-")]
	return ref
}

// complete reports whether as many pods of each group are bound as are wanted. Bound pods among the
// others count for their group.
func (s states) complete(wanted, others []plan.PodRef) bool {
	missing := map[plan.PodRef]int{}
	for _, ref := range wanted {
		missing[groupOf(ref)]++
	}
	for _, ref := range slices.Concat(wanted, others) {
		if s[ref].Spec.NodeName != "" {
			missing[groupOf(ref)]--
		}
	}
	for _, count := range missing {
		if count > 0 {
			return false
		}
	}
	return true
}

// unbound returns those of the pods that have no node.
func (s states) unbound(refs []plan.PodRef) []plan.PodRef {
	return slices.DeleteFunc(slices.Clone(refs), func(ref plan.PodRef) bool {
		pod, ok := s[ref]
		return ok && pod.Spec.NodeName != ""
	})
}

// refusals returns the scheduler's messages for the pods, each once with its first pod.
func (s states) refusals(refs []plan.PodRef) string {
	var lines []string
	seen := map[string]bool{}
	for _, ref := range refs {
		pod := s[ref]
		message, _ := refused(&pod)
		if !seen[message] {
			seen[message] = true
			lines = append(lines, fmt.Sprintf("%s: %s", ref, message))
		}
	}
	return strings.Join(lines, "\n")
}

// objects reads the objects that a plan is made from.
func (c *cluster) objects(ctx context.Context) (*snapshot.Objects, error) {
	var podList corev1.PodList
	var nodeList corev1.NodeList
	var setList appsv1.DaemonSetList
	var namespaceList corev1.NamespaceList
	var claimList corev1.PersistentVolumeClaimList
	var volumeList corev1.PersistentVolumeList
	var classList storagev1.StorageClassList
	var csiNodeList storagev1.CSINodeList
	for _, err := range []error{
		c.list(ctx, pods, &podList), c.list(ctx, nodes, &nodeList), c.list(ctx, daemonSets, &setList),
		c.list(ctx, namespaces, &namespaceList),
		c.list(ctx, claims, &claimList), c.list(ctx, volumes, &volumeList), c.list(ctx, storageClasses, &classList),
		c.list(ctx, csiNodes, &csiNodeList),
	} {
		if err != nil {
			return nil, err
		}
	}
	return &snapshot.Objects{
		Pods: podList.Items, Nodes: nodeList.Items, DaemonSets: setList.Items, Namespaces: namespaceList.Items,
		PersistentVolumeClaims: claimList.Items,
		PersistentVolumes:      volumeList.Items, StorageClasses: classList.Items, CSINodes: csiNodeList.Items,
	}, nil
}
