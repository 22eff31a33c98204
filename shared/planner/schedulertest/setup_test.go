package schedulertest

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// setUp creates the scenario's cluster and waits until the scheduler has answered for every pod.
func (r *run) setUp() {
	r.Helper()
	ctx := r.Context()
	for i := range r.Namespaces {
		namespace := r.Namespaces[i].DeepCopy()
		if err := r.cluster.create(ctx, namespaces, "", namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			r.Fatal(err)
		}
		// No pod can be created without the account. A controller would create it later.
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if err := r.cluster.create(ctx, serviceAccounts, namespace.Name, account); err != nil &&
			!apierrors.IsAlreadyExists(err) {
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
	_, err := r.cluster.settle(ctx, nil, nil, settleTime)
	r.try(err)
}

// setUpNodes creates the existing nodes and waits for the pods that run there.
func (r *run) setUpNodes(ctx context.Context) {
	r.Helper()
	made := []*corev1.Node{bystander()}
	r.try(r.cluster.createNode(ctx, made[0].DeepCopy()))
	var bound []*corev1.Pod
	for i := range r.Nodes {
		node := r.Nodes[i].object()
		made = append(made, node.DeepCopy())
		r.try(r.cluster.createNode(ctx, node))
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
	r.try(r.cluster.awaitDaemons(ctx, made[1:], sets))
}

func (r *run) createPods(ctx context.Context, made []*corev1.Pod) error {
	return each(ctx, made, func(ctx context.Context, pod *corev1.Pod) error {
		return r.cluster.create(ctx, pods, pod.Namespace, pod)
	})
}

// clear restores the cluster that the plan was made for. It deletes the launched nodes, the planned
// pods, and the volumes that were provisioned for them.
func (r *run) clear(planned *plan.Snapshot) error {
	ctx := r.Context()
	var refs []plan.PodRef
	for i := range planned.Pods {
		refs = append(refs, refOf(&planned.Pods[i]))
	}
	if err := r.deletePods(ctx, refs); err != nil {
		return err
	}
	err := each(ctx, r.launched, func(ctx context.Context, node *corev1.Node) error {
		return r.cluster.remove(ctx, nodes.path("", node.Name))
	})
	if err != nil {
		return err
	}
	for i := range planned.PersistentVolumeClaims {
		if claim := &planned.PersistentVolumeClaims[i]; claim.Spec.VolumeName == "" {
			if err := r.clearClaim(ctx, claim); err != nil {
				return err
			}
		}
	}
	return wait(ctx, "the first round's nodes and volumes were gone", func(ctx context.Context) (bool, error) {
		left, err := r.cluster.objects(ctx)
		if err != nil {
			return false, err
		}
		return len(left.Nodes) == len(planned.Nodes) && len(left.PersistentVolumes) == len(planned.PersistentVolumes), nil
	})
}

// clearClaim makes the claim again without a volume. A claim of an ephemeral volume goes and comes
// with its pod.
func (r *run) clearClaim(ctx context.Context, old *corev1.PersistentVolumeClaim) error {
	path := claims.path(old.Namespace, old.Name)
	err := wait(ctx, "claim "+old.Name+" was gone", func(ctx context.Context) (bool, error) {
		err := r.cluster.rest.Get().AbsPath(path).Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		return false, r.cluster.remove(ctx, path)
	})
	if err != nil {
		return err
	}
	if err := r.cluster.remove(ctx, volumes.path("", provisionedName(old))); err != nil {
		return err
	}
	if metav1.GetControllerOf(old) != nil {
		return nil
	}
	again := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name},
		Spec:       old.Spec,
	}
	return r.cluster.create(ctx, claims, old.Namespace, again)
}
