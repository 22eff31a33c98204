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
	}
}

// reset returns the world to its first state: no process, an account without instances, a cluster
// without nodes and pods, and a clock that shows the real time. Near a half hour it waits up to
// three minutes for lifecycle's sweep to pass. It must not set the clock forward instead: claims
// would look older to the functions and exceed the five minutes that a launch may take.
func (w *World) reset(ctx context.Context) error {
	w.end()
	w.gate.attach(nil)
	w.log.take()
	select {
	case <-time.After(untilNoSweep(time.Now())):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := w.pass(-w.ahead); err != nil {
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

// sweeps is the interval of lifecycle's sweeps, which run in the first minute of each half hour.
const sweeps = 30 * time.Minute

// untilNoSweep returns the wait until no sweep is near. The sweep is a scenario of its own and no
// part of the others.
func untilNoSweep(now time.Time) time.Duration {
	const sweepTakes, trialTakes = time.Minute, 2 * time.Minute
	into, wait := now.Sub(now.Truncate(sweeps)), time.Duration(0)
	switch {
	case into < sweepTakes:
		wait = sweepTakes - into
	case into > sweeps-trialTakes:
		wait = sweeps - into + sweepTakes
	}
	return wait
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
	for _, resource := range held() {
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

func (w *World) clearAll(ctx context.Context, resource schema.GroupVersionResource) error {
	list, err := w.objects.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, object := range list.Items {
		if len(object.GetFinalizers()) > 0 {
			_, err = w.objects.Resource(resource).Patch(ctx, object.GetName(), types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
		if err == nil {
			err = w.objects.Resource(resource).Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		err = nil
	}
	return nil
}
