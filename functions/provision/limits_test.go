package provision

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/api"
)

// Disrupt and provision plan with the same room below a limit, and both write a claim. Only one of
// the two gets an instance.
func TestClaimsOfTwoWritersKeepALimit(t *testing.T) {
	e := newEnvironment(t)
	e.apply(nodePool("limited", "default", func(spec map[string]any) {
		spec["limits"] = map[string]any{"cpu": "4"}
		of := spec["template"].(map[string]any)["spec"].(map[string]any)
		of["requirements"] = []any{
			map[string]any{"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": []any{"4"}},
			map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}},
		}
	}))
	e.pod("one", "3", selecting(api.NodePoolLabelKey, "limited"))
	e.pass()
	claims := e.standing()
	if len(claims) != 1 || claims[0].Status.ProviderID == "" {
		t.Fatalf("claims %+v, want one with an instance", claims)
	}
	second := claims[0].DeepCopy()
	second.Name, second.ResourceVersion, second.UID, second.Status = "of-disrupt", "", "", api.NodeClaimStatus{}
	second.Annotations = map[string]string{api.AttemptAnnotationKey: "1"}
	for _, key := range []string{corev1.LabelTopologyZone} {
		delete(second.Labels, key)
	}
	if _, err := e.client.CreateNodeClaim(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	e.pod("two", "3", selecting(api.NodePoolLabelKey, "limited"))
	e.pass()
	if claims, instances := e.standing(), e.instances(); len(claims) != 1 || len(instances) != 1 {
		t.Errorf("%d claims and %d instances, want one: the limit has room for one", len(claims), len(instances))
	}
	messages := strings.Join(e.events("of-disrupt", attempt.ReasonInsufficientCapacity), "\n")
	if !strings.Contains(messages, `nodepool "limited"`) || !strings.Contains(messages, "spec.limits of 4") {
		t.Errorf("the claim's events say %q, want the pool and its limit", messages)
	}
}
