package scenario

import (
	"context"
	"fmt"
	"path/filepath"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
)

// Wait creates a node with one pod that a disruption budget keeps from eviction, and deletes the
// node's claim. It returns while the drain waits; end releases the pod.
func Wait(ctx context.Context, setup Setup) (end func(context.Context) error, err error) {
	role, err := setup.World.NodeRole()
	if err != nil {
		return nil, err
	}
	for _, file := range []string{"fast.yaml", "inflate.yaml"} {
		if err := setup.Client.Apply(ctx, filepath.Join(setup.Root, "testdata", "manifests", file),
			map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}); err != nil {
			return nil, err
		}
	}
	if err := setup.Client.Scale(ctx, inflateNamespace, inflateName, 1); err != nil {
		return nil, err
	}
	if err := Until(ctx, patience, "a running pod",
		setup.Client.Running(inflateNamespace, inflateSelector, 1)); err != nil {
		return nil, err
	}
	none := intstr.FromInt32(0)
	budgets := setup.Client.Core.PolicyV1().PodDisruptionBudgets(inflateNamespace)
	_, err = budgets.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: inflateName},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": inflateName}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	claims, err := setup.Client.NodeClaims(ctx)
	if err != nil {
		return nil, err
	}
	for i := range claims {
		if err := setup.Client.Objects.Resource(nodeClaims()).Delete(ctx, claims[i].Name,
			metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
	}
	err = Until(ctx, patience, "a drain that waits", func(ctx context.Context) (bool, string, error) {
		claims, err := setup.Client.NodeClaims(ctx)
		for i := range claims {
			drained := api.GetCondition(claims[i].Status.Conditions, api.ConditionTypeDrained)
			if drained != nil && drained.Status == metav1.ConditionUnknown {
				return true, "", nil
			}
		}
		return false, fmt.Sprintf("%d claims", len(claims)), err
	})
	return func(ctx context.Context) error { return budgets.Delete(ctx, inflateName, metav1.DeleteOptions{}) }, err
}
