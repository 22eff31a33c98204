package provision

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/spread"
)

// TestPodsOfAServiceAreSpreadByDefault has three pods of a service that fit one node. Nodes are in
// three zones where the setting requires it, or prefers it and preferences count.
func TestPodsOfAServiceAreSpreadByDefault(t *testing.T) {
	const required, preferred = "DoNotSchedule", "ScheduleAnyway"
	for name, test := range map[string]struct {
		when       string
		preference plan.PreferencePolicy
		selects    string // the value of the label app that the service selects
		zones      int
	}{
		"required":                     {required, plan.PreferencesRespected, "web", 3},
		"required without preferences": {required, plan.PreferencesIgnored, "web", 3},
		"preferred":                    {preferred, plan.PreferencesRespected, "web", 3},
		"preferred and ignored":        {preferred, plan.PreferencesIgnored, "web", 1},
		"of a service of other pods":   {required, plan.PreferencesRespected, "db", 1},
		"off":                          {"", plan.PreferencesRespected, "web", 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironment(t)
			_, err := e.core.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
					Selector: map[string]string{"app": test.selects}, Ports: []corev1.ServicePort{{Port: 80}},
				},
			}, metav1.CreateOptions{})
			e.try(err)
			t.Cleanup(func() {
				_ = e.core.CoreV1().Services("default").Delete(
					context.WithoutCancel(t.Context()), "web", metav1.DeleteOptions{})
			})
			for i := range 3 {
				e.pod(fmt.Sprint("web-", i), "100m", func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "web"} })
			}
			calls := alive()
			h := e.handler(calls)
			h.settings.PreferencePolicy = test.preference
			if test.when != "" {
				h.settings.DefaultTopologySpread, err = spread.Parse(
					"[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: " + test.when + "}]")
				e.try(err)
			}
			_, err = h.handle(t.Context(), tick("1"))
			e.try(err)
			zones := map[string]bool{}
			for _, claim := range e.claims() {
				zones[claim.Labels[corev1.LabelTopologyZone]] = true
			}
			if len(zones) != test.zones {
				t.Errorf("nodes are in the zones %v, want %d", zones, test.zones)
			}
			const services = "GET /api/v1/namespaces/default/services"
			if reads := slices.Contains(calls.calls, services); reads != (test.when != "") {
				t.Errorf("reads services: %t", reads)
			}
		})
	}
}
