package status_test

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/status"
)

func TestADeploymentTellsOfItself(t *testing.T) {
	s := &store{}
	if told, err := status.LastDeployment(t.Context(), s); err != nil || told != nil {
		t.Errorf("before the first: %+v, %v", told, err)
	}
	first := status.Plan{Time: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC), Pods: 3}
	if err := status.PutPlan(t.Context(), s, first); err != nil {
		t.Fatal(err)
	}
	deployment := status.Deployment{
		Tick: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Version: "1.0.0", PreferencePolicy: "Respect",
		MinValuesPolicy: "Strict", DefaultTopologySpread: []corev1.TopologySpreadConstraint{{TopologyKey: "zone"}},
	}
	if err := status.PutDeployment(t.Context(), s, deployment); err != nil {
		t.Fatal(err)
	}
	told, err := status.LastDeployment(t.Context(), s)
	if err != nil || told == nil || !reflect.DeepEqual(*told, deployment) {
		t.Errorf("%+v, %v", told, err)
	}
	if plan, err := status.LastPlan(t.Context(), s); err != nil || plan == nil || plan.Pods != 3 {
		t.Errorf("the plan is gone: %+v, %v", plan, err)
	}
	s.object = &corev1.ConfigMap{Data: map[string]string{"deployment.json": "{"}}
	if told, err := status.LastDeployment(t.Context(), s); err != nil || told != nil {
		t.Errorf("what cannot be decoded: %+v, %v", told, err)
	}
}
