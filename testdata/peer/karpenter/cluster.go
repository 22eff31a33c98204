package karpenter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/karpenter/pkg/controllers/state"

	"github.com/whittle-dev/whittle/shared/plan"
)

// newClient serves the snapshot's objects from memory. The waiting pods are not among them:
// Karpenter is given those directly.
func newClient(s *plan.Snapshot) client.Client {
	var objects []client.Object
	for i := range s.Nodes {
		if s.Nodes[i].Node != nil {
			objects = append(objects, s.Nodes[i].Node)
		}
		for j := range s.Nodes[i].Pods {
			objects = append(objects, &s.Nodes[i].Pods[j])
		}
	}
	for i := range s.Namespaces {
		objects = append(objects, &s.Namespaces[i])
	}
	for i := range s.PersistentVolumeClaims {
		objects = append(objects, &s.PersistentVolumeClaims[i])
	}
	for i := range s.PersistentVolumes {
		objects = append(objects, &s.PersistentVolumes[i])
	}
	for i := range s.StorageClasses {
		objects = append(objects, &s.StorageClasses[i])
	}
	for i := range s.CSINodes {
		objects = append(objects, &s.CSINodes[i])
	}
	return fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).
		WithIndex(&corev1.Pod{}, "spec.nodeName",
			func(object client.Object) []string { return []string{object.(*corev1.Pod).Spec.NodeName} }).
		WithInterceptorFuncs(interceptor.Funcs{Get: getVolumeByName}).Build()
}

// getVolumeByName asks for persistent volumes without a namespace. They have none, and an API
// server would ignore the one that Karpenter names; the client in memory would look in it.
func getVolumeByName(
	ctx context.Context,
	c client.WithWatch,
	key client.ObjectKey,
	object client.Object,
	options ...client.GetOption,
) error {
	if _, ok := object.(*corev1.PersistentVolume); ok {
		key.Namespace = ""
	}
	return c.Get(ctx, key, object, options...)
}

// newCluster is Karpenter's picture of the existing nodes, as its informers would have drawn it.
func newCluster(ctx context.Context, kubeClient client.Client, s *plan.Snapshot) (*state.Cluster, error) {
	// Only a cluster that is still synchronising asks the cloud provider anything.
	cluster := state.NewCluster(clock.RealClock{}, kubeClient, nil)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.NodeClaim != nil {
			claim, err := nodeClaim(n.NodeClaim)
			if err != nil {
				return nil, err
			}
			cluster.UpdateNodeClaim(claim)
		}
		if n.Node == nil {
			continue
		}
		if err := cluster.UpdateNode(ctx, n.Node.DeepCopy()); err != nil {
			return nil, fmt.Errorf("adding node %q: %w", n.Node.Name, err)
		}
		for j := range n.Pods {
			if err := cluster.UpdatePod(ctx, n.Pods[j].DeepCopy()); err != nil {
				return nil, fmt.Errorf("adding pod %q of node %q: %w", n.Pods[j].Name, n.Node.Name, err)
			}
		}
	}
	return cluster, nil
}
