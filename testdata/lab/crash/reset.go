package crash

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

const (
	whittleNamespace = "whittle-system"
	catalogName      = "whittle-catalog"
)

var getNow = metav1.GetOptions{}

// held lists the kinds whose objects finalizers may hold, dependent kinds first.
func held() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		{Version: "v1", Resource: "nodes"},
		{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"},
		{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
		{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"},
		overlays(),
	}
}

func overlays() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: api.Group, Version: api.OverlayVersion, Resource: api.NodeOverlayResource}
}

// reset returns the world to its first state: no process, an account without instances, a cluster
// without nodes and pods, and a clock that shows the time at which trials begin.
func (w *World) reset(ctx context.Context) error {
	w.end()
	w.log.take()
	return w.renew(ctx)
}

// wipe makes the real control plane's cluster what it was at first.
func (w *World) wipe(ctx context.Context) error {
	w.gate.attach(nil)
	w.gate.lag.Show("")
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.clear(ctx); err != nil {
		return fmt.Errorf("clearing the cluster: %w", err)
	}
	if err := w.account.close(); err != nil {
		return err
	}
	account, err := w.newAccount(ctx)
	if err != nil {
		return err
	}
	w.account = account
	if !w.uninstalled {
		return nil
	}
	w.uninstalled = false
	if w.rights(true) == "" {
		return nil
	}
	return w.undisturbed(ctx, "install", installEvent(cfn.RequestCreate, ""))
}

// undisturbed invokes a function outside of any scenario.
func (w *World) undisturbed(ctx context.Context, name string, event any) error {
	w.gate.attach(&trial{
		world: w, scenario: &Scenario{}, stage: &stage{}, ledger: newLedger("", nil), evictions: map[string]int{},
	})
	_, err := w.invoke(ctx, name, event)
	return err
}

func (w *World) clear(ctx context.Context) error {
	if w.deployed {
		if err := w.clearDeployments(ctx); err != nil {
			return err
		}
		w.deployed = false
	}
	zero := int64(0)
	// Events stay, because no function reads them.
	failed := []error{
		w.core.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero},
			metav1.ListOptions{}),
		w.core.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{}),
		w.core.CoordinationV1().Leases(whittleNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		w.core.CoordinationV1().Leases(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{FieldSelector: "metadata.name=" + cluster.KarpenterLease}),
		w.core.CoreV1().Pods(metav1.NamespaceSystem).DeleteCollection(ctx,
			metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{}),
		w.core.CoreV1().ConfigMaps(whittleNamespace).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{FieldSelector: "metadata.name!=" + catalogName + ",metadata.name!=kube-root-ca.crt"}),
	}
	kinds := held()
	if w.claimed {
		kinds = append(kinds, schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"},
			schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"})
		w.claimed = false
	}
	if w.aged {
		kinds = append([]schema.GroupVersionResource{provisionersKind(), templatesKind()}, kinds...)
		w.aged = false
	}
	if w.grouped {
		kinds = append(kinds, podTemplates())
		for _, resource := range []schema.GroupVersionResource{api.PodGroupGVR(), requests()} {
			if w.serves(ctx, resource) {
				kinds = append(kinds, resource)
			}
		}
		w.grouped = false
	}
	for _, resource := range kinds {
		failed = append(failed, w.clearAll(ctx, resource))
	}
	// A scenario may have deleted the catalogue.
	restored := w.catalog.DeepCopy()
	restored.ResourceVersion, restored.UID = "", ""
	if _, err := w.core.CoreV1().ConfigMaps(whittleNamespace).Create(ctx, restored,
		metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// clearDeployments deletes all Deployments and waits until they are gone.
func (w *World) clearDeployments(ctx context.Context) error {
	apps := w.core.AppsV1()
	foreground := metav1.DeletePropagationForeground
	options := metav1.DeleteOptions{PropagationPolicy: &foreground}
	zero := int64(0)
	if err := apps.Deployments(metav1.NamespaceDefault).DeleteCollection(ctx, options, metav1.ListOptions{}); err != nil {
		return err
	}
	for deadline := time.Now().Add(settleWithin); ; {
		left, err := apps.Deployments(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil || len(left.Items) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("deployment %s is there still after %s", left.Items[0].Name, settleWithin)
		}
		// No kubelet ends these pods.
		err = w.core.CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(ctx,
			metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{})
		if err != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// serves reports whether the kind is defined.
func (w *World) serves(ctx context.Context, resource schema.GroupVersionResource) bool {
	_, err := w.objects.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil
}

func (w *World) clearAll(ctx context.Context, resource schema.GroupVersionResource) error {
	list, err := w.objects.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, object := range list.Items {
		objects := w.objects.Resource(resource).Namespace(object.GetNamespace())
		if len(object.GetFinalizers()) > 0 {
			_, err = objects.Patch(ctx, object.GetName(), types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
		if err == nil {
			err = objects.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		err = nil
	}
	return nil
}
