package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPlanOfManifestsHasRoomForBuffers plans for one pod, and for room for half more of its
// Deployment. A buffer of a PodTemplate that the file lacks is a warning.
func TestAPlanOfManifestsHasRoomForBuffers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "buffer.yaml")
	const text = twoNodes + `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: main, resources: {requests: {cpu: 3}}}]
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: web, namespace: shop}
spec:
  scalableRef: {apiGroup: apps, kind: Deployment, name: web}
  percentage: 150
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: lost, namespace: shop}
spec:
  podTemplateRef: {name: nothing}
  replicas: 1
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if err := run(t.Context(), []string{"plan", "-f", file}, strings.NewReader(""), &out, &problems); err != nil {
		t.Fatal(err, problems.String())
	}
	// The limit allows two nodes: one for the pod, and one for a pod of the buffer.
	for _, want := range []string{"2 on 2 new nodes", "1 pod: shop/capacity-buffer-web-2"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan lacks %q:\n%s", want, out.String())
		}
	}
	const broken = `CapacityBuffer "shop/lost": spec.podTemplateRef: the PodTemplate "nothing" does not exist: create it`
	if !strings.Contains(problems.String(), broken) {
		t.Errorf("it warns of %q", problems.String())
	}
}
