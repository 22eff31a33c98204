package schedulertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// gate holds pods back until all of them are there with their nominations.
const gate = "schedulertest.whittle.dev/nomination"

// setUp makes the scenario's cluster and waits until the scheduler has answered for every pod.
func (r *run) setUp() {
	r.Helper()
	ctx := r.Context()
	for i := range r.Namespaces {
		namespace := r.Namespaces[i].DeepCopy()
		if err := r.cluster.create(ctx, namespaces, "", namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			r.Fatal(err)
		}
		// A controller makes it too, in its own time; without it no pod can be made.
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if err := r.cluster.create(ctx, serviceAccounts, namespace.Name, account); err != nil && !apierrors.IsAlreadyExists(err) {
			r.Fatal(err)
		}
	}
	for i := range r.RuntimeClasses {
		r.try(r.cluster.create(ctx, runtimeClasses, "", r.RuntimeClasses[i].DeepCopy()))
	}
	for i := range r.StorageClasses {
		r.try(r.cluster.create(ctx, storageClasses, "", r.StorageClasses[i].DeepCopy()))
	}
	for i := range r.DaemonSets {
		r.try(r.cluster.create(ctx, daemonSets, metav1.NamespaceDefault, r.DaemonSets[i].object()))
	}
	r.try(r.cluster.createVolumes(ctx, r.Volumes))
	r.setUpNodes(ctx)
	var waiting []*corev1.Pod
	for i := range r.Pods {
		waiting = append(waiting, r.Pods[i].expand()...)
	}
	r.try(r.createPods(ctx, waiting))
	_, err := r.cluster.settle(ctx, nil, quiet)
	r.try(err)
}

// setUpNodes makes the existing nodes with what runs there.
func (r *run) setUpNodes(ctx context.Context) {
	r.Helper()
	var made []*corev1.Node
	var bound []*corev1.Pod
	for i := range r.Nodes {
		node := r.Nodes[i].object()
		made = append(made, node.DeepCopy())
		r.try(r.cluster.create(ctx, nodes, "", node))
		if len(r.Nodes[i].AttachLimits) > 0 {
			r.try(r.cluster.create(ctx, csiNodes, "", csiNode(node, r.Nodes[i].AttachLimits)))
		}
		for j := range r.Nodes[i].Pods {
			for _, pod := range r.Nodes[i].Pods[j].expand() {
				pod.Spec.NodeName = node.Name
				bound = append(bound, pod)
			}
		}
	}
	r.try(r.createPods(ctx, bound))
	r.try(r.cluster.awaitTaints(ctx, made))
	var sets []appsv1.DaemonSet
	for i := range r.DaemonSets {
		sets = append(sets, *r.DaemonSets[i].object())
	}
	r.try(r.cluster.awaitDaemons(ctx, made, sets))
}

func (r *run) createPods(ctx context.Context, made []*corev1.Pod) error {
	return each(ctx, made, func(ctx context.Context, pod *corev1.Pod) error {
		return r.cluster.create(ctx, pods, pod.Namespace, pod)
	})
}

// clear takes back what the scheduler's choice has made of the cluster: launched nodes, the pods that were planned, the volumes made for them.
func (r *run) clear(snapshot *plan.Snapshot) error {
	ctx := r.Context()
	err := each(ctx, snapshot.Pods, func(ctx context.Context, pod corev1.Pod) error {
		return r.cluster.remove(ctx, pods.path(pod.Namespace, pod.Name))
	})
	if err != nil {
		return err
	}
	err = each(ctx, r.launched, func(ctx context.Context, node *corev1.Node) error {
		return r.cluster.remove(ctx, nodes.path("", node.Name))
	})
	if err != nil {
		return err
	}
	if err := r.clearClaims(ctx, snapshot); err != nil {
		return err
	}
	return wait(ctx, "the first round's pods, nodes and volumes were gone", func(ctx context.Context) (bool, error) {
		left, err := r.cluster.snapshot(ctx)
		if err != nil {
			return false, err
		}
		return len(left.Nodes) == len(snapshot.Nodes) && len(left.Pods) == 0 && len(left.PersistentVolumes) == len(snapshot.PersistentVolumes), nil
	})
}

// clearClaims makes those claims anew that have found their volume since the snapshot.
func (r *run) clearClaims(ctx context.Context, snapshot *plan.Snapshot) error {
	for i := range snapshot.PersistentVolumeClaims {
		old := &snapshot.PersistentVolumeClaims[i]
		if old.Spec.VolumeName != "" {
			continue
		}
		path := claims.path(old.Namespace, old.Name)
		var claim corev1.PersistentVolumeClaim
		if err := r.cluster.rest.Get().AbsPath(path).Do(ctx).Into(&claim); err != nil {
			return err
		}
		if claim.Spec.VolumeName == "" {
			continue
		}
		if err := r.cluster.remove(ctx, path); err != nil {
			return err
		}
		if err := r.cluster.remove(ctx, volumes.path("", claim.Spec.VolumeName)); err != nil {
			return err
		}
		err := wait(ctx, "claim "+old.Name+" was gone", func(ctx context.Context) (bool, error) {
			err := r.cluster.rest.Get().AbsPath(path).Do(ctx).Error()
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
		if err != nil {
			return err
		}
		if metav1.GetControllerOf(old) != nil {
			continue // the pod's own: its controller makes it again with the pod
		}
		again := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name}, Spec: old.Spec}
		if err := r.cluster.create(ctx, claims, old.Namespace, again); err != nil {
			return err
		}
	}
	return nil
}

// nominate makes the planned pods once more, each with its planned node as the one that the scheduler tries first, and lets the scheduler have them, one of
// each node in turn.
func (r *run) nominate(snapshot *plan.Snapshot, wanted []plan.PodRef, homes map[plan.PodRef]string) error {
	ctx := r.Context()
	templates := map[plan.PodRef]*corev1.Pod{}
	for i := range r.Pods {
		for _, pod := range r.Pods[i].expand() {
			templates[refOf(pod)] = pod
		}
	}
	err := each(ctx, wanted, func(ctx context.Context, ref plan.PodRef) error {
		pod := templates[ref]
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
	for _, ref := range inTurn(wanted, homes) {
		open := map[string]any{"spec": map[string]any{"schedulingGates": nil}}
		if err := r.cluster.patch(ctx, pods.path(ref.Namespace, ref.Name), open); err != nil {
			return err
		}
	}
	return nil
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

// homesOf is where the plan puts each pod, with its claims launched as the nodes.
func homesOf(made *plan.Plan, launched []*corev1.Node) map[plan.PodRef]string {
	homes := map[plan.PodRef]string{}
	for i := range made.NodeClaims {
		for _, ref := range made.NodeClaims[i].Pods {
			homes[ref] = launched[i].Name
		}
	}
	for _, n := range made.Nominations {
		homes[n.Pod] = n.NodeName
	}
	return homes
}

// placed are the pods that the plan has a place for, node by node.
func placed(made *plan.Plan) []plan.PodRef {
	var refs []plan.PodRef
	for i := range made.NodeClaims {
		refs = append(refs, made.NodeClaims[i].Pods...)
	}
	for _, n := range made.Nominations {
		refs = append(refs, n.Pod)
	}
	return refs
}

func unplacedOf(made *plan.Plan) []plan.PodRef {
	var refs []plan.PodRef
	for _, u := range made.Unplaced {
		refs = append(refs, u.Pod)
	}
	return refs
}

// reasons are why the plan leaves pods out, for a message.
func reasons(made *plan.Plan) string {
	var text strings.Builder
	for _, u := range made.Unplaced {
		fmt.Fprintf(&text, "\n%s:", u.Pod)
		for _, reason := range u.Reasons {
			fmt.Fprintf(&text, " %s;", reason)
		}
	}
	return text.String()
}

// describe lists the plan's nodes, for a message.
func describe(made *plan.Plan) string {
	var text strings.Builder
	for i := range made.NodeClaims {
		claim := &made.NodeClaims[i]
		first, last := claim.Offerings[0], claim.Offerings[len(claim.Offerings)-1]
		fmt.Fprintf(&text, "planned node %d: %s %s %s (or as the last of %d: %s %s), labels %v, pods %v\n",
			i, first.InstanceType, first.Zone, first.CapacityType, len(claim.Offerings), last.InstanceType, last.Zone, claim.NodeClaim.Labels, claim.Pods)
	}
	for _, n := range made.Nominations {
		fmt.Fprintf(&text, "nominated: %s to %s\n", n.Pod, n.NodeName)
	}
	return text.String()
}

// whereabouts lists where the pods are, for a message.
func (s states) whereabouts(homes map[plan.PodRef]string) string {
	byNode := map[string][]string{}
	for ref, pod := range s {
		name := ref.String()
		if home := homes[ref]; home != "" && home != pod.Spec.NodeName {
			name += "(planned on " + home + ")"
		}
		byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], name)
	}
	var text strings.Builder
	for _, node := range slices.Sorted(maps.Keys(byNode)) {
		slices.Sort(byNode[node])
		fmt.Fprintf(&text, "on node %q: %v\n", node, byNode[node])
	}
	return text.String()
}
