package provision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
)

// A node comes up with less room than planned. Its pod gets the next node only after a while, even
// when the first node has gone.
func TestAPodThatDoesNotFitItsNodeWaits(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	e.pass()
	claims := e.standing()
	if len(claims) != 1 {
		t.Fatalf("%d claims, want one", len(claims))
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "small", Labels: map[string]string{
		api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
	}}}
	node.Spec.ProviderID = claims[0].Status.ProviderID
	_, err := e.core.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	e.try(err)
	t.Cleanup(func() { _ = e.core.CoreV1().Nodes().Delete(t.Context(), "small", metav1.DeleteOptions{}) })
	// No controller lifts the taint of a new node here.
	_, err = e.core.CoreV1().Nodes().Patch(
		t.Context(), "small", types.MergePatchType, []byte(`{"spec":{"taints":null}}`), metav1.PatchOptions{})
	e.try(err)
	room := `{"metadata":{"labels":{"karpenter.sh/registered":"true","karpenter.sh/initialized":"true"}},` +
		`"status":{"allocatable":{"cpu":"500m","memory":"1Gi","pods":"10"},"capacity":{"cpu":"500m","memory":"1Gi","pods":"10"}}}`
	_, err = e.core.CoreV1().Nodes().Patch(
		t.Context(), "small", types.MergePatchType, []byte(room), metav1.PatchOptions{}, "status")
	e.try(err)
	e.until("the node to be seen", func() bool {
		nodes, err := e.client.Nodes(t.Context())
		return err == nil && len(nodes) == 1 && nodes[0].Status.Allocatable.Cpu().Cmp(resource.MustParse("500m")) == 0
	})
	e.pass()
	e.pass()
	if claims := e.standing(); len(claims) != 1 {
		t.Errorf("%d claims, want no further one yet", len(claims))
	}
	messages := strings.Join(e.events("one", "FailedScheduling"), "\n")
	if !strings.Contains(messages, claims[0].Name) || !strings.Contains(messages, "requests 1 of cpu") {
		t.Errorf("the pod's events say %q, want the claim and the reason", messages)
	}
	e.try(e.core.CoreV1().Nodes().Delete(t.Context(), "small", metav1.DeleteOptions{}))
	_, err = e.client.PatchNodeClaim(t.Context(), claims[0].Name, map[string]any{
		"metadata": map[string]any{"finalizers": []string{}},
	})
	e.try(err)
	e.try(e.client.DeleteNodeClaim(t.Context(), claims[0].Name, claims[0].UID))
	e.pass()
	if claims := e.standing(); len(claims) != 0 {
		t.Errorf("%d claims at once, want none before the time has come", len(claims))
	}
	e.untilCached()
	handler := e.handler(alive())
	handler.now = func() time.Time { return time.Now().Add(61 * time.Second) }
	later := tick("1")
	later.Records[0].Body = fmt.Sprintf(`{"cluster":%q,"at":%q,"reason":"tick","hop":0}`,
		clusterName, handler.now().Format(time.RFC3339Nano))
	if _, err := handler.handle(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if claims := e.standing(); len(claims) != 1 {
		t.Errorf("%d claims after a minute, want another one", len(claims))
	}
}
