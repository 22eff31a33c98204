package provision

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/queue"
)

func nodeOverlay(name string, spec map[string]any, families ...any) *unstructured.Unstructured {
	spec["requirements"] = []any{
		map[string]any{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": families},
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// overlays applies them and waits until the function sees them.
func (e *environment) overlays(overlays ...*unstructured.Unstructured) {
	e.t.Helper()
	for _, overlay := range overlays {
		e.apply(overlay)
	}
	e.until("the overlays to be seen", func() bool {
		seen, err := e.client.NodeOverlays(e.t.Context())
		return err == nil && len(seen) == len(overlays)
	})
}

func TestAPriceOverlayDecidesWhatIsLaunched(t *testing.T) {
	e := newEnvironment(t)
	e.overlays(nodeOverlay("contract", map[string]any{"price": "0.001"}, "m5.4xlarge"))
	e.pod("one", "1", nil)
	e.pass()
	e.oneNode()
	if got := e.instances()[0].InstanceType; got != "m5.4xlarge" {
		t.Errorf("launched %s, want the type that the overlay makes the cheapest", got)
	}
}

func TestACapacityOverlayMakesRoom(t *testing.T) {
	e := newEnvironment(t)
	e.overlays(nodeOverlay("devices", map[string]any{"capacity": map[string]any{"example.com/device": "2"}}, "m5.xlarge"))
	e.pod("one", "1", func(pod *corev1.Pod) {
		device := corev1.ResourceList{"example.com/device": resource.MustParse("1")}
		pod.Spec.Containers[0].Resources.Limits = device
		pod.Spec.Containers[0].Resources.Requests["example.com/device"] = resource.MustParse("1")
	})
	e.pass()
	e.oneNode()
	claim := e.claims()[0]
	devices := claim.Status.Allocatable["example.com/device"]
	if claim.Labels[corev1.LabelInstanceTypeStable] != "m5.xlarge" || devices.Value() != 2 {
		t.Errorf("claim of %s with %s devices", claim.Labels[corev1.LabelInstanceTypeStable], devices.String())
	}
}

func TestOverlaysReportWhetherTheyCount(t *testing.T) {
	e := newEnvironment(t)
	e.overlays(nodeOverlay("a", map[string]any{"price": "0.001"}, "m5.4xlarge"),
		nodeOverlay("b", map[string]any{"price": "0.5"}, "m5.4xlarge"),
		nodeOverlay("neuron", map[string]any{"capacity": map[string]any{"aws.amazon.com/neuron": "1"}}, "m5.4xlarge"))
	e.pod("one", "1", nil)
	e.pass()
	seen := map[string]string{}
	var before []string
	e.until("the statuses to be seen", func() bool {
		overlays, err := e.client.NodeOverlays(t.Context())
		e.try(err)
		before = nil
		for _, overlay := range overlays {
			before = append(before, overlay.ResourceVersion)
			valid := api.GetCondition(overlay.Status.Conditions, api.ConditionTypeValidationSucceeded)
			ready := api.GetCondition(overlay.Status.Conditions, api.ConditionReady)
			if valid == nil || ready == nil {
				return false
			}
			seen[overlay.Name] = strings.Join([]string{string(ready.Status), valid.Reason, valid.Message}, " ")
		}
		return true
	})
	for name, want := range map[string]string{
		"a":      `False Conflict nodeoverlay "a": spec.weight: 0 is also that of nodeoverlay "b"`,
		"b":      "True ValidationSucceeded",
		"neuron": "False RuntimeValidation NodeOverlay \"neuron\": spec.capacity[aws.amazon.com/neuron]",
	} {
		if !strings.HasPrefix(seen[name], want) {
			t.Errorf("overlay %s says %q, want %q", name, seen[name], want)
		}
	}
	if e.instances()[0].InstanceType == "m5.4xlarge" {
		t.Error("the overlay that is ignored was applied")
	}
	e.pod("two", "4", nil)
	e.pass()
	overlays, err := e.client.NodeOverlays(t.Context())
	e.try(err)
	var after []string
	for _, overlay := range overlays {
		after = append(after, overlay.ResourceVersion)
	}
	if !slices.Equal(before, after) {
		t.Error("statuses that say it already were written again")
	}
}

// Volumes and namespaces are read where a pod's plan depends on them, and not else.
func TestVolumesAndNamespacesAreReadOnlyWhenNeeded(t *testing.T) {
	e := newEnvironment(t)
	e.pod("plain", "1", nil)
	further := func() []string {
		count := alive()
		if _, err := e.handler(count).handle(t.Context(), tick("1")); err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, call := range count.calls {
			for _, kind := range []string{
				"persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "namespaces",
			} {
				if strings.HasSuffix(call, "/"+kind) && !slices.Contains(paths, kind) {
					paths = append(paths, kind)
				}
			}
		}
		slices.Sort(paths)
		return paths
	}
	if got := further(); len(got) > 0 {
		t.Errorf("for a plain pod it read %q", got)
	}
	e.pod("near", "1", func(pod *corev1.Pod) {
		term := corev1.PodAffinityTerm{
			TopologyKey:       corev1.LabelTopologyZone,
			NamespaceSelector: &metav1.LabelSelector{}, LabelSelector: &metav1.LabelSelector{},
		}
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
				{Weight: 1, PodAffinityTerm: term},
			},
		}}
	})
	if got := further(); !slices.Equal(got, []string{"namespaces"}) {
		t.Errorf("for a pod that selects namespaces it read %q", got)
	}
	e.pod("mounts", "1", func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{
			{
				Name: "v",
				VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "missing"},
				},
			},
		}
	})
	all := []string{"csinodes", "namespaces", "persistentvolumeclaims", "persistentvolumes", "storageclasses"}
	if got := further(); !slices.Equal(got, all) {
		t.Errorf("for a pod that mounts a claim it read %q", got)
	}
}

func TestPoliciesReachThePlanner(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	handler := e.handler(alive())
	handler.settings.PreferencePolicy, handler.settings.MinValuesPolicy = plan.PreferencesIgnored, plan.MinValuesBestEffort
	look := newPass(handler, e.client, queue.Message{})
	snapshot, err := look.prepare(t.Context())
	e.try(err)
	if snapshot.PreferencePolicy != plan.PreferencesIgnored || snapshot.MinValuesPolicy != plan.MinValuesBestEffort {
		t.Errorf("policies %q and %q", snapshot.PreferencePolicy, snapshot.MinValuesPolicy)
	}
}
