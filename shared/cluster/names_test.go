package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNamesThatNoObjectCanHave reads what fields of other people's objects name. The API server checks none of
// these names, and a path with them would read something else.
func TestNamesThatNoObjectCanHave(t *testing.T) {
	c, yes := client(t), true
	for _, name := range []string{"..", ".", "a/b", "", "a%2fb"} {
		if volume, err := c.VolumeName(t.Context(), "default", name); volume != "" || err != nil {
			t.Errorf("the claim %q has the volume %q: %v", name, volume, err)
		}
		for _, kind := range []string{"PodTemplate", "Deployment"} {
			if template, err := c.TemplateOf(t.Context(), kind, "default", name); template != nil || err != nil {
				t.Errorf("the %s %q is %v: %v", kind, name, template, err)
			}
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace:       "default",
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: name, Controller: &yes}},
		}}
		if deployment, err := c.DeploymentOf(t.Context(), pod); deployment != nil || err != nil {
			t.Errorf("the owner %q is of %v: %v", name, deployment, err)
		}
	}
}
