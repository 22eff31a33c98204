package lifecycle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// makeOld parses an object and creates it.
func makeOld[T any](t *testing.T, path, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return functiontest.Create(t, server, path, object)
}

// TestAProvisionerHasAPoolAndAClass brings a Provisioner and its template through a real API server:
// made, changed, in conflict, and refused.
func TestAProvisionerHasAPoolAndAClass(t *testing.T) {
	l := newLife(t)
	l.betweenSweeps()
	makeOld[legacy.AWSNodeTemplate](t, legacy.AWSNodeTemplatesPath, `
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: old-template}
spec:
  amiFamily: Bottlerocket
  blockDeviceMappings: [{deviceName: /dev/xvdb, ebs: {volumeSize: 50000Mi}}]
`)
	makeOld[legacy.Provisioner](t, legacy.ProvisionersPath, `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old}
spec:
  labels: {team: a}
  requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]
  kubeletConfiguration: {maxPods: 20, systemReserved: {cpu: 1}, containerRuntime: dockerd}
  limits: {resources: {cpu: 8}}
  ttlSecondsAfterEmpty: 30
  ttlSecondsUntilExpired: 3600
  weight: 10
  providerRef: {name: old-template}
`)
	makeOld[legacy.Provisioner](t, legacy.ProvisionersPath, `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old-taken}
spec: {provider: {instanceProfile: nodes, launchTemplate: mine}}
`)
	l.tickOnce(t)
	l.tickOnce(t)
	pool := functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/old")
	class := readClass(t, "old")
	if pool == nil || class == nil {
		t.Fatalf("the pool is %v, and the class %v", pool, class)
	}
	old := functiontest.Get[legacy.Provisioner](t, server, legacy.ProvisionersPath+"/old")
	for _, made := range []metav1.ObjectMeta{pool.ObjectMeta, class.ObjectMeta} {
		if len(made.OwnerReferences) != 1 || made.OwnerReferences[0].UID != old.UID {
			t.Errorf("the owners of %s are %v", made.Name, made.OwnerReferences)
		}
	}
	supported := api.GetCondition(old.Status.Conditions, api.ConditionTypeSupported)
	if supported == nil || !strings.Contains(supported.Message, "spec.kubeletConfiguration.containerRuntime") {
		t.Errorf("the condition is %+v", supported)
	}
	if limit := pool.Spec.Limits["cpu"]; limit.String() != "8" || class.Spec.Kubelet.SystemReserved["cpu"] != "1" {
		t.Errorf("the pool is %+v, and the class %+v", pool.Spec, class.Spec)
	}
	if class.Spec.Role != "test-nodes" || class.Spec.InstanceProfile != nil {
		t.Errorf("a template without a profile gives the role %q and the profile %v, want the stack's role",
			class.Spec.Role, class.Spec.InstanceProfile)
	}
	// Nothing changes, so nothing is written.
	version := pool.ResourceVersion
	l.tickOnce(t)
	if pool = functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/old"); pool.ResourceVersion != version {
		t.Errorf("the pool was written again: %+v", pool)
	}
	server.Patch(t, legacy.ProvisionersPath+"/old", map[string]any{"spec": map[string]any{"weight": 20, "limits": nil}})
	l.tickOnce(t)
	pool = functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/old")
	if *pool.Spec.Weight != 20 || len(pool.Spec.Limits) != 0 {
		t.Errorf("after a change the pool is %+v", pool.Spec)
	}
	blocked := functiontest.Get[legacy.Provisioner](t, server, legacy.ProvisionersPath+"/old-taken")
	active := api.GetCondition(blocked.Status.Conditions, api.ConditionTypeActive)
	if active == nil || active.Reason != api.ReasonNotConverted || !strings.Contains(active.Message, "launchTemplate") {
		t.Errorf("the condition is %+v", active)
	}
	if taken := functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/old-taken"); taken != nil {
		t.Errorf("there is a pool: %+v", taken)
	}
	for _, path := range []string{
		legacy.ProvisionersPath + "/old", legacy.ProvisionersPath + "/old-taken", legacy.AWSNodeTemplatesPath + "/old-template",
		api.NodePoolsPath + "/old", classesPath + "/old",
	} {
		server.Delete(t, path)
	}
	l.tickOnce(t)
}
