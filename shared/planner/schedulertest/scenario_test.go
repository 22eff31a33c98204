package schedulertest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
)

// pauseImage is never pulled: no kubelet runs.
const pauseImage = "registry.k8s.io/pause:3.10"

// scenario is a file of testdata.
type scenario struct {
	Description string `json:"description"`
	// Rounds is how often nodes may be launched until every pod is bound: 1 where whatever the
	// scheduler may do is foreseen, else 2, which is also the default.
	Rounds int `json:"rounds,omitempty"`
	// InstanceTypes are those on offer, at their real sizes and prices; none means all.
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// NodePools are one without requirements if none is given.
	NodePools        []api.NodePool           `json:"nodePools,omitempty"`
	PreferencePolicy string                   `json:"preferencePolicy,omitempty"`
	Namespaces       []corev1.Namespace       `json:"namespaces,omitempty"`
	RuntimeClasses   []nodev1.RuntimeClass    `json:"runtimeClasses,omitempty"`
	StorageClasses   []storagev1.StorageClass `json:"storageClasses,omitempty"`
	Volumes          []volume                 `json:"volumes,omitempty"`
	DaemonSets       []daemonSet              `json:"daemonSets,omitempty"`
	Nodes            []existingNode           `json:"nodes,omitempty"`
	Pods             []podGroup               `json:"pods"`
	// Unplaced is how many pods of a group neither the planner nor the scheduler may find a node for.
	Unplaced map[string]int `json:"unplaced,omitempty"`
}

// volume is a claim, bound to a volume if one has the zone or the host given, else waiting for its
// first consumer.
type volume struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Count     int    `json:"count,omitempty"`
	Class     string `json:"class,omitempty"`
	// Zone is where the bound volume is; Host the node of a local one.
	Zone string `json:"zone,omitempty"`
	Host string `json:"host,omitempty"`
}

type daemonSet struct {
	Name     string              `json:"name"`
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Spec     corev1.PodSpec      `json:"spec,omitempty"`
}

// existingNode is a node that is there and ready before the pods come.
type existingNode struct {
	Name        string              `json:"name"`
	Labels      map[string]string   `json:"labels,omitempty"`
	Taints      []corev1.Taint      `json:"taints,omitempty"`
	Allocatable corev1.ResourceList `json:"allocatable"`
	// AttachLimits are how many volumes of a CSI driver the node attaches.
	AttachLimits map[string]int32 `json:"attachLimits,omitempty"`
	Pods         []podGroup       `json:"pods,omitempty"`
}

// podGroup is a number of pods that differ in their names alone, and in the claims whose names they
// complete.
type podGroup struct {
	Name      string              `json:"name"`
	Namespace string              `json:"namespace,omitempty"`
	Count     int                 `json:"count,omitempty"`
	Labels    map[string]string   `json:"labels,omitempty"`
	Requests  corev1.ResourceList `json:"requests,omitempty"`
	// Claims are mounted; "data-*" is data-0 for the first pod.
	Claims []string       `json:"claims,omitempty"`
	Spec   corev1.PodSpec `json:"spec,omitempty"`
}

// readScenarios reads those of testdata, by name.
func readScenarios(t *testing.T) map[string]*scenario {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata (%v)", err)
	}
	scenarios := map[string]*scenario{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := &scenario{}
		if err := yaml.UnmarshalStrict(text, s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		s.Rounds = cmp.Or(s.Rounds, 2)
		if len(s.NodePools) == 0 {
			s.NodePools = []api.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
		}
		for i := range s.NodePools {
			s.NodePools[i].Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
				Group: api.AWSGroup,
				Kind:  api.EC2NodeClassKind,
				Name:  "default",
			}
		}
		scenarios[strings.TrimSuffix(filepath.Base(file), ".yaml")] = s
	}
	return scenarios
}

// namespaceNames are those that the scenario uses.
func (s *scenario) namespaceNames() []string {
	names := map[string]bool{metav1.NamespaceDefault: true}
	for i := range s.Namespaces {
		names[s.Namespaces[i].Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// expand makes the group's pods.
func (g *podGroup) expand() []*corev1.Pod {
	var made []*corev1.Pod
	for i := range cmp.Or(g.Count, 1) {
		number := fmt.Sprint(i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: cmp.Or(g.Namespace, metav1.NamespaceDefault), Name: g.Name + "-" + number, Labels: maps.Clone(g.Labels),
			},
			Spec: *podSpec(&g.Spec, g.Requests),
		}
		for j, claim := range g.Claims {
			pod.Spec.Volumes = append(
				pod.Spec.Volumes,
				corev1.Volume{Name: fmt.Sprintf("claim-%d", j), VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
						ClaimName: strings.ReplaceAll(claim, "*", number),
					},
				}},
			)
		}
		made = append(made, pod)
	}
	return made
}

// podSpec is the spec with what the API server demands of every pod; the requests are those of its
// first container.
func podSpec(spec *corev1.PodSpec, requests corev1.ResourceList) *corev1.PodSpec {
	spec = spec.DeepCopy()
	if len(spec.Containers) == 0 {
		spec.Containers = []corev1.Container{{Name: "app"}}
	}
	if len(requests) > 0 {
		spec.Containers[0].Resources.Requests = requests.DeepCopy()
		spec.Containers[0].Resources.Limits = extended(requests)
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			containers[i].Image = pauseImage
		}
	}
	return spec
}

// extended are the resources among the requests whose limit must be the same: those that the
// kubelet cannot share out in parts.
func extended(requests corev1.ResourceList) corev1.ResourceList {
	limits := corev1.ResourceList{}
	for name, quantity := range requests {
		if strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			limits[name] = quantity
		}
	}
	return limits
}

// object is the DaemonSet itself.
func (d *daemonSet) object() *appsv1.DaemonSet {
	labels := map[string]string{"daemonset": d.Name}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: d.Name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *podSpec(&d.Spec, d.Requests)},
		},
	}
}

// object is the Node itself. It has room for 110 pods unless it says otherwise.
func (n *existingNode) object() *corev1.Node {
	allocatable := n.Allocatable.DeepCopy()
	if _, ok := allocatable[corev1.ResourcePods]; !ok {
		allocatable[corev1.ResourcePods] = resource.MustParse("110")
	}
	labels := maps.Clone(n.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelHostname] = n.Name
	return readyNode(n.Name, labels, n.Taints, allocatable)
}
