package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func read(t *testing.T, names ...string) *Manifests {
	t.Helper()
	m, err := Read(names, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func readText(t *testing.T, text string) *Manifests {
	t.Helper()
	m, err := Read([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEachKind reads a folder with each kind, and checks the API server's defaults.
func TestEachKind(t *testing.T) {
	m := read(t, "testdata/kinds")
	for name, count := range map[string][2]int{
		"Pods": {len(m.Pods), 3}, "Nodes": {len(m.Nodes), 1}, "NodeClaims": {len(m.NodeClaims), 1},
		"NodePools":   {len(m.NodePools), 2},
		"NodeClasses": {len(m.NodeClasses), 2}, "NodeOverlays": {len(m.NodeOverlays), 1},
		"DaemonSets":           {len(m.DaemonSets), 1},
		"PodDisruptionBudgets": {len(m.PodDisruptionBudgets), 1}, "Namespaces": {len(m.Namespaces), 2},
		"StorageClasses": {len(m.StorageClasses), 1},
		"CSINodes":       {len(m.CSINodes), 1}, "PersistentVolumes": {len(m.PersistentVolumes), 1},
		"PersistentVolumeClaims": {len(m.PersistentVolumeClaims), 1},
	} {
		if count[0] != count[1] {
			t.Errorf("%d %s, want %d", count[0], name, count[1])
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	want := []string{
		`testdata/kinds/cluster.yaml:102: AWSNodeTemplate "old": spec.amiFamily: AL2, the default, has no images beyond ` +
			`Kubernetes 1.32, so nodes have AL2023: remove calls of /etc/eks/bootstrap.sh from user data, and migrate to an ` +
			`EC2NodeClass with al2023@latest`,
	}
	if !slices.Equal(m.Warnings, want) {
		t.Errorf("warnings are\n%s\nwant\n%s", strings.Join(m.Warnings, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{`testdata/kinds/cluster.yaml:86: ConfigMap "passed-over" of v1 skipped: a plan does not depend on ` +
		`this kind (and 1 more)`}; !slices.Equal(m.Skipped, want) {
		t.Errorf("skipped are %q", m.Skipped)
	}

	plain := m.Pods[0]
	if plain.Namespace != "default" || plain.Spec.Priority == nil || *plain.Spec.Priority != 1000 ||
		plain.Spec.SchedulerName != "default-scheduler" || plain.ManagedFields != nil || plain.UID != "" {
		t.Errorf("the pod's defaults are %+v", plain)
	}
	requests := plain.Spec.Containers[0].Resources.Requests
	if requests.Cpu().String() != "500m" || requests.Name("nvidia.com/gpu", "").String() != "1" {
		t.Errorf("limits are not requests: %v", requests)
	}
	if requests = plain.Spec.InitContainers[0].Resources.Requests; requests.Cpu().String() != "1" ||
		requests.Memory().String() != "1Gi" {
		t.Errorf("the init container requests %v", requests)
	}
	if port := plain.Spec.Containers[0].Ports[0]; port.HostPort != 80 || port.Protocol != corev1.ProtocolTCP {
		t.Errorf("the port is %+v", port)
	}
	if class := plain.Spec.Volumes[0].Ephemeral.VolumeClaimTemplate.Spec.StorageClassName; class == nil ||
		*class != "gp3" {
		t.Errorf("the ephemeral claim's class is %v", class)
	}
	if m.Pods[1].Namespace != "shop" || m.Pods[2].Name != "made-2" {
		t.Errorf("the listed pods are %s/%s and %s", m.Pods[1].Namespace, m.Pods[1].Name, m.Pods[2].Name)
	}
	if port := m.DaemonSets[0].Spec.Template.Spec.Containers[0].Ports[0]; port.HostPort != 9100 {
		t.Errorf("the daemon's port is %+v", port)
	}
	if node := m.Nodes[0]; node.Status.Allocatable.Cpu().String() != "2" || node.Status.Images != nil {
		t.Errorf("the node is %+v", node.Status)
	}
	if class := m.PersistentVolumeClaims[0].Spec.StorageClassName; class == nil || *class != "gp3" {
		t.Errorf("the claim's class is %v", class)
	}
	if mode := m.StorageClasses[0].VolumeBindingMode; mode == nil || *mode != storagev1.VolumeBindingImmediate {
		t.Errorf("the class binds %v", mode)
	}
	if pool := m.NodePools[0]; pool.Spec.Template.Spec.ExpireAfter.IsZero() ||
		pool.Spec.Limits["cpu"] == (api.Limits{})["cpu"] {
		t.Errorf("the pool is %+v", pool.Spec)
	}
	if !reflect.DeepEqual(m.Namespaces[0].Labels, map[string]string{"team": "a", "kubernetes.io/metadata.name": "shop"}) ||
		m.Namespaces[1].Name != "default" {
		t.Errorf("namespaces are %+v", m.Namespaces)
	}
}

func TestTheLastOfTwoCounts(t *testing.T) {
	m := readText(
		t,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {rev: '1'}}\n---\n[{apiVersion: v1, kind: Pod, "+
			"metadata: {name: a, namespace: default, labels: {rev: '2'}}}, {apiVersion: v1, kind: Pod, metadata: {name: "+
			"a, namespace: b}}]",
	)
	if len(m.Pods) != 2 || m.Pods[0].Labels["rev"] != "2" {
		t.Errorf("pods are %+v", m.Pods)
	}
	if want := `<stdin>:5: Pod "default/a" takes the place of the one at <stdin>:1`; !slices.Equal(
		m.Warnings, []string{want},
	) {
		t.Errorf("warnings are %q, want %q", m.Warnings, want)
	}
}

func TestPodLevelRequests(t *testing.T) {
	m := readText(t, `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  resources: {limits: {cpu: "4", memory: 8Gi}}
  containers:
    - {name: a, resources: {requests: {cpu: 500m}}}
    - {name: b, resources: {limits: {cpu: "1"}}}
`)
	requests := m.Pods[0].Spec.Resources.Requests
	if requests.Cpu().String() != "1500m" || requests.Memory().String() != "8Gi" {
		t.Errorf("requests are %v", requests)
	}
}

func TestLimitRanges(t *testing.T) {
	m := readText(t, `
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: team}
spec:
  containers: [{name: a}, {name: b, resources: {limits: {cpu: "1"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec:
  containers: [{name: a}]
---
apiVersion: v1
kind: LimitRange
metadata: {name: a, namespace: team}
spec:
  limits: [{type: Container, defaultRequest: {cpu: "2"}}]
`)
	for i, want := range []string{"3", "0"} {
		requests := scheduling.PodRequests(&m.Pods[i])
		if requests.Cpu().String() != want {
			t.Errorf("pod %s requests %s cpu, want %s", m.Pods[i].Name, requests.Cpu(), want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown fields, once", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n" +
			"  metadata: {name: a}\n  spec:\n    nodeSelecter: {a: b}\n- apiVersion: v1\n  kind: Pod\n" +
			"  metadata: {name: b}\n  spec: {nodeSelecter: {a: b}}\n",
			`<stdin>:8: Pod "a": spec.nodeSelecter: there is no such field, it is ignored: did you mean "nodeSelector"? ` +
				`(and 1 more)`},
		{"a class that is nowhere", "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n" +
			"  template:\n    spec:\n      requirements: []\n" +
			"      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: x}\n",
			`<stdin>:1: NodePool "a": no file has its EC2NodeClass "x": the plan assumes its images, zones and volumes`},
		{"a field that a cluster wants", "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n" +
			"  template:\n    spec:\n      requirements: []\n",
			`<stdin>:6: NodePool "a": spec.template.spec.nodeClassRef: is missing: name the node class by group, kind and ` +
				`name; a cluster would refuse it`},
		{"a kind of others, once", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\n---\n" +
			"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: b}\n",
			`<stdin>:1: Rollout "a" of argoproj.io/v1alpha1 skipped: Whittle does not know this kind: if it makes pods, plan ` +
				`with the pods themselves (and 1 more)`},
		{"another's kind of a known name", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n",
			`<stdin>:1: Service "a" of serving.knative.dev/v1 skipped: Whittle does not know this kind: if it makes pods, ` +
				`plan with the pods themselves`},
		{"a gang of Kubernetes", "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: a}\n",
			`<stdin>:1: PodGroup "a" of scheduling.k8s.io/v1alpha2 skipped: its pods are planned one by one, so that a part ` +
				`of the gang may get nodes: use a PodGroup of scheduling.x-k8s.io/v1alpha1`},
		{"a gang of Volcano", "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: a}\n",
			`<stdin>:1: PodGroup "a" of scheduling.volcano.sh/v1beta1 skipped: its pods are planned one by one, so that a ` +
				`part of the gang may get nodes: use a PodGroup of scheduling.x-k8s.io/v1alpha1`},
		{"a kind that makes pods later", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n",
			`<stdin>:1: CronJob "a" of batch/v1 skipped: its Jobs start later, and a plan is for pods that wait now`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if m := readText(t, test.text); !slices.Equal(m.Warnings, []string{test.want}) {
				t.Errorf("warnings are %q, want %q", m.Warnings, test.want)
			}
		})
	}
}

func TestNearMissesAreErrors(t *testing.T) {
	for _, test := range []struct{ version, kind, meant string }{
		{"karpenter.sh/v1", "Nodepool", "karpenter.sh/v1 NodePool"},
		{"karpenter.sh/v1", "NodePol", "karpenter.sh/v1 NodePool"},
		{"karpenter.sh/v2", "NodePool", "karpenter.sh/v1 NodePool"},
		{"karpenter.k8s.aws/v1", "NodePool", "karpenter.sh/v1 NodePool"},
		{"karpenter.sh/v1", "EC2NodeClass", "karpenter.k8s.aws/v1 EC2NodeClass"},
		{"karpenter.k8s.aws/v1", "EC2Nodeclass", "karpenter.k8s.aws/v1 EC2NodeClass"},
		{"kapenter.sh/v1", "NodePool", "karpenter.sh/v1 NodePool"},
		{"kapenter.sh/v1", "Nodepool", "karpenter.sh/v1 NodePool"},
		{"karpenter.sh/v1alpha4", "Provisioner", "karpenter.sh/v1alpha5 Provisioner"},
		{"v1", "Deployment", "apps/v1 Deployment"},
		{"apps/v1beta2", "Deployment", "apps/v1 Deployment"},
		{"extensions/v1beta1", "Deployment", "apps/v1 Deployment"},
		{"apps/v1", "Deploymnet", "apps/v1 Deployment"},
		{"v1", "pod", "v1 Pod"},
		{"apps/v1", "Pod", "v1 Pod"},
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		text := "apiVersion: " + test.version + "\nkind: " + test.kind + "\nmetadata: {name: a}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("%s:2: %s \"a\": there is no kind %s in %s: did you mean %s?",
			path, test.kind, test.kind, test.version, test.meant)
		if _, err := Read([]string{path}, nil); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestKubernetesKindsAreRead holds that no kind is both read and passed over.
func TestKubernetesKindsAreRead(t *testing.T) {
	for group, names := range irrelevant {
		for _, name := range names {
			if slices.Contains(kindsOf(group), name) {
				t.Errorf("%s of %q is read", name, group)
			}
		}
	}
}
