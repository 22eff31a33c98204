package machine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forget deletes the Node of a terminated instance, as EKS' cloud controller does for a silent node
// without an instance.
func (m *Machines) forget(ctx context.Context, gone *machine) {
	gone.mu.Lock()
	cluster := gone.cluster
	gone.mu.Unlock()
	m.mu.Lock()
	client := m.clusters[cluster].client
	m.mu.Unlock()
	if client == nil {
		return // it never joined, or joined a cluster whose cloud controller is another's
	}
	name := gone.instance.PrivateDNSName
	for delay := gone.timing.NodeDeletion; wait(ctx, delay); delay = slowRetry {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && node.Spec.ProviderID == gone.instance.ProviderID() {
			err = client.CoreV1().Nodes().Delete(ctx, name,
				metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &node.UID}})
			if err == nil {
				gone.log.Info("node of a terminated instance deleted")
			}
		}
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		gone.log.Warn("node of a terminated instance cannot be deleted yet", "error", err)
	}
}
