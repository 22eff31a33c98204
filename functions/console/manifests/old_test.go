package manifests

import (
	"strings"
	"testing"
)

// TestOldObjects checks that each message about an old object names its file, line and field, and
// that a newer object of the same name counts.
func TestOldObjects(t *testing.T) {
	m := readText(t, `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: a}
spec:
  kubeletConfiguration:
    containerRuntime: dockerd
  provider: {launchTemplate: mine}
---
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: b}
spec:
  template: {spec: {nodeClassRef: {name: c}}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: b}
spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}}}}
`)
	if len(m.NodePools) != 2 || m.NodePools[0].Name != "b" || m.NodePools[1].Name != "a" || len(m.NodeClasses) != 1 {
		t.Errorf("the pools are %v, and the classes %v", m.NodePools, m.NodeClasses)
	}
	said := strings.Join(m.Warnings, "\n")
	for _, want := range []string{
		`<stdin>:8: Provisioner "a": spec.provider.launchTemplate: nodes cannot be launched with a launch template`,
		`<stdin>:10: NodePool "b" is ignored: the files have a newer object of its name`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("warnings are\n%s\nwithout\n%s", said, want)
		}
	}
}

// TestTheLeastTemplate checks that a template without an instance profile is planned for without a
// warning. The stack has a role for its nodes.
func TestTheLeastTemplate(t *testing.T) {
	m := readText(t, `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec: {providerRef: {name: default}}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: default}
spec: {amiFamily: Bottlerocket}
`)
	if len(m.NodePools) != 1 || len(m.NodeClasses) != 1 || m.NodeClasses[0].Spec.Role == "" || len(m.Warnings) > 0 {
		t.Errorf("the pools are %v, the classes %v, and the warnings %q", m.NodePools, m.NodeClasses, m.Warnings)
	}
}
