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
	if told, err := status.Read(t.Context(), s); err != nil || told.Deployment != nil {
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
	if err := status.PutDeployment(t.Context(), s, deployment, 0); err != nil {
		t.Fatal(err)
	}
	told, err := status.Read(t.Context(), s)
	if err != nil || told.Deployment == nil || !reflect.DeepEqual(*told.Deployment, deployment) {
		t.Errorf("%+v, %v", told, err)
	}
	if told.Plan == nil || told.Plan.Pods != 3 {
		t.Errorf("the plan is gone: %+v", told.Plan)
	}
	s.object = &corev1.ConfigMap{Data: map[string]string{"deployment.json": "{"}}
	if told, err := status.Read(t.Context(), s); err != nil || told.Deployment != nil {
		t.Errorf("what cannot be decoded: %+v, %v", told, err)
	}
}
