package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestDevicesAndLabelsHaveColumns has a node with GPUs, of which a pod requests one, and one without.
func TestDevicesAndLabelsHaveColumns(t *testing.T) {
	objects := leaving(0)
	objects.NodeClaims[0].DeletionTimestamp = nil
	objects.Nodes[0].Labels = map[string]string{"example.com/team": "search"}
	objects.Nodes[0].Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("4"), "pods": resource.MustParse("110"),
		"ephemeral-storage": resource.MustParse("80Gi"), "hugepages-2Mi": resource.MustParse("0"),
	}
	objects.Pods[0].Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1"), "cpu": resource.MustParse("1")},
		Limits:   corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
	}}}
	plain := corev1.Node{}
	plain.Name = "plain"
	objects.Nodes = append(objects.Nodes, plain)
	shown := Of(objects, now)
	if names := shown.OtherNames(); len(names) != 1 || names[0] != "nvidia.com/gpu" {
		t.Fatalf("the other resources are %q", names)
	}
	var tables bytes.Buffer
	if err := shown.WriteTables(&tables, Form{Labels: []string{"example.com/team"}}); err != nil {
		t.Fatal(err)
	}
	var header, gpu, other string
	for line := range strings.Lines(tables.String()) {
		switch {
		case strings.HasPrefix(line, "NODECLAIM"):
			header = strings.Join(strings.Fields(line), " ")
		case strings.HasPrefix(line, "default-1"):
			gpu = strings.Join(strings.Fields(line), " ")
		case strings.Contains(line, "plain"):
			other = strings.Join(strings.Fields(line), " ")
		}
	}
	if !strings.HasSuffix(header, "MEMORY GPU TEAM NOTE") || !strings.Contains(gpu, " 1 of 4 search ") ||
		!strings.Contains(other, " 0 of 0 - - ") {
		t.Errorf("%s\n%s\n%s", header, gpu, other)
	}
	encoded, err := json.Marshal(shown)
	if err != nil || !strings.Contains(string(encoded),
		`"otherResources":[{"name":"nvidia.com/gpu","requested":"1","allocatable":"4"}]`) {
		t.Errorf("%v: %s", err, encoded)
	}
}
