package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func workloadText(kind, name, spec string) string {
	version := "apps/v1"
	if kind == "Job" {
		version = "batch/v1"
	}
	if kind != "Job" {
		spec += fmt.Sprintf("\n  selector: {matchLabels: {app: %s}}", name)
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: shop}\nspec:\n  %s\n  template:\n"+
		"    metadata: {labels: {app: %s}}\n    spec:\n      containers: [{name: c, resources: {limits: {cpu: 100m}}}]\n"+
		"---\n",
		version, kind, name, spec, name)
}

func podText(name, owner, ownerName, more string) string {
	return fmt.Sprintf(
		"apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, uid: u-%s, labels: {pod-template-hash: h1}, "+
			"ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: o, controller: true}]%s\n---\n",
		name, name, owner, ownerName, more,
	)
}

// TestReplicas checks the names of the pods that controllers would create.
func TestReplicas(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"Deployment", workloadText("Deployment", "web", "replicas: 3"), "web-0 web-1 web-2"},
		{"Deployment of one", workloadText("Deployment", "web", "paused: false"), "web-0"},
		{"Deployment of none", workloadText("Deployment", "web", "replicas: 0"), ""},
		{"Deployment with pods", workloadText("Deployment", "web", "replicas: 4") +
			podText("web-h1-x", "ReplicaSet", "web-h1", "}") +
			podText("web-h1-y", "ReplicaSet", "web-h1", "}") +
			podText("other-h1-z", "ReplicaSet", "other-h1", "}"), "web-h1-x web-h1-y other-h1-z web-0 web-1"},
		{"Deployment with ReplicaSets", workloadText("Deployment", "web", "replicas: 3") +
			"apiVersion: apps/v1\nkind: ReplicaSet\n" +
			"metadata: {name: abc, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, " +
			"uid: o, controller: true}]}\nspec: {replicas: 3, selector: {matchLabels: {a: b}}, " +
			"template: {metadata: {labels: {a: b}}, spec: {containers: []}}}\n---\n" +
			podText("abc-x", "ReplicaSet", "abc", "}"), "abc-x web-0 web-1"},
		{"pods that end count no more", workloadText("Deployment", "web", "replicas: 2") +
			podText("a", "ReplicaSet", "web-h1", "}\nstatus: {phase: Failed}") +
			podText("b", "ReplicaSet", "web-h1", ", deletionTimestamp: '2026-01-01T00:00:00Z'}"), "a b web-0 web-1"},
		{
			"a name that is taken",
			workloadText("Deployment", "web", "replicas: 2") +
				"apiVersion: v1\nkind: Pod\nmetadata: {name: web-0, namespace: shop}\n",
			"web-0 web-1 web-2",
		},
		{"ReplicaSet", workloadText("ReplicaSet", "web", "replicas: 2"), "web-0 web-1"},
		{"StatefulSet", workloadText("StatefulSet", "db", "replicas: 2"), "db-0 db-1"},
		{"StatefulSet with ordinals", workloadText("StatefulSet", "db", "replicas: 2\n  ordinals: {start: 5}"), "db-5 db-6"},
		{
			"StatefulSet with pods",
			workloadText("StatefulSet", "db", "replicas: 3") + podText("db-1", "StatefulSet", "db", "}") +
				podText("db-7", "StatefulSet", "db", "}"),
			"db-1 db-7 db-0 db-2",
		},
		{
			"StatefulSet and Deployment of one name",
			workloadText("Deployment", "a", "replicas: 1") + workloadText("StatefulSet", "a", "replicas: 2"), "a-0 a-1 a-2",
		},
		{"Job", workloadText("Job", "batch", "parallelism: 3"), "batch-0 batch-1 batch-2"},
		{
			"Job that is nearly done", workloadText("Job", "batch", "parallelism: 3\n  completions: 10") + "",
			"batch-0 batch-1 batch-2",
		},
		{"Job with few completions", workloadText("Job", "batch", "parallelism: 3\n  completions: 2"), "batch-0 batch-1"},
		{"Job that is suspended", workloadText("Job", "batch", "suspend: true"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := readText(t, test.text)
			var names []string
			for _, pod := range m.Pods {
				names = append(names, pod.Name)
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("pods are %q, want %q", got, test.want)
			}
		})
	}
}

func TestMadePodsAreTheirControllers(t *testing.T) {
	m := readText(t, workloadText("Deployment", "web", "replicas: 1")+workloadText("StatefulSet", "db", "replicas: 1"))
	for i, want := range []string{"StatefulSet db", "ReplicaSet web"} {
		pod := m.Pods[i]
		owner := metav1.GetControllerOf(&pod)
		if owner == nil || owner.Kind+" "+owner.Name != want || owner.UID == "" {
			t.Errorf("pod %s belongs to %+v, want %s", pod.Name, owner, want)
		}
		if pod.Namespace != "shop" || pod.UID != "" || pod.Spec.Containers[0].Resources.Requests.Cpu().String() != "100m" {
			t.Errorf("pod is %+v", pod)
		}
	}
	if labels := m.Pods[0].Labels; labels["app"] != "db" || labels["statefulset.kubernetes.io/pod-name"] != "db-0" ||
		labels["apps.kubernetes.io/pod-index"] != "0" {
		t.Errorf("labels are %v", labels)
	}
	again := readText(t, workloadText("Deployment", "web", "replicas: 1"))
	if a, b := m.Pods[1].OwnerReferences[0].UID, again.Pods[0].OwnerReferences[0].UID; a != b {
		t.Errorf("owners are %s and %s", a, b)
	}
}

func TestClaimsOfStatefulSets(t *testing.T) {
	set := workloadText("StatefulSet", "db", `replicas: 2
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {storageClassName: gp3, resources: {requests: {storage: 1Gi}}}}`)
	m := readText(t, strings.TrimSuffix(set, "---\n")+
		`      volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-1, namespace: shop}
spec: {volumeName: pv-7}
`)
	var claims, volumes []string
	for _, claim := range m.PersistentVolumeClaims {
		claims = append(claims, claim.Namespace+"/"+claim.Name+" "+claim.Spec.VolumeName)
	}
	if want := []string{"shop/data-db-1 pv-7", "shop/data-db-0 "}; !slices.Equal(claims, want) {
		t.Errorf("claims are %q, want %q", claims, want)
	}
	for _, volume := range m.Pods[1].Spec.Volumes {
		text := volume.Name
		if volume.PersistentVolumeClaim != nil {
			text += " of " + volume.PersistentVolumeClaim.ClaimName
		}
		volumes = append(volumes, text)
	}
	if want := []string{"data of data-db-1", "tmp"}; !slices.Equal(volumes, want) {
		t.Errorf("volumes are %q, want %q", volumes, want)
	}
}

func TestStableUID(t *testing.T) {
	a, b := StableUID("Pod", "a", "b"), StableUID("Pod", "a", "c")
	if a == b || a != StableUID("Pod", "a", "b") || len(a) != 36 {
		t.Errorf("uids are %s and %s", a, b)
	}
}
