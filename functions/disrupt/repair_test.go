package disrupt

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
)

// sicken makes a node not ready for an hour. Its pod is protected, and so is the node itself.
func sicken(t *testing.T, name string) {
	t.Helper()
	recommend(t, name)
	server.Patch(t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{api.RebalanceRecommendedAnnotationKey: nil},
	}})
	server.Patch(t, functiontest.PodsPath+"/guest-"+name, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{api.DoNotDisruptAnnotationKey: "true"},
	}})
	server.Patch(t, functiontest.NodesPath+"/node-"+name, map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{api.DoNotDisruptAnnotationKey: "true"},
	}})
	at := metav1.NewTime(time.Now().Add(-time.Hour))
	server.Patch(t, functiontest.NodesPath+"/node-"+name+"/status", map[string]any{"status": map[string]any{
		"conditions": []map[string]any{{"type": "Ready", "status": "False", "reason": "KubeletNotReady",
			"lastHeartbeatTime": at, "lastTransitionTime": at}},
	}})
}

// TestAnUnhealthyNodeGoesOnceItsReplacementIsInitialized shows the whole repair: a protected pod
// does not prevent it, its replacement comes first, and its drain is bounded.
func TestAnUnhealthyNodeGoesOnceItsReplacementIsInitialized(t *testing.T) {
	pool(t, "100%")
	offers(t)
	sicken(t, "ill")
	t.Cleanup(func() { forget(t) })
	l := newHarness(t, nil)
	// The node counts its time from its creation, which was a moment ago.
	l.mustTick(t)
	if isBeingReplaced(t, "ill") {
		t.Fatal("a node that has just been created is replaced")
	}
	l.ahead += 31 * time.Minute
	l.mustTick(t)
	made := replacement(t, "ill")
	if made == nil || !isBeingReplaced(t, "ill") || !isTainted(t, "ill") || isEnding(t, "ill") {
		t.Fatalf("replacement %v, being replaced %t, tainted %t, ending %t", made, isBeingReplaced(t, "ill"),
			isTainted(t, "ill"), isEnding(t, "ill"))
	}
	arrive(t, made)
	l.mustTick(t)
	if !isEnding(t, "ill") {
		t.Fatal("the node stays although its replacement is there")
	}
	text := readClaim(t, "ill").Annotations[api.NodeClaimTerminationTimestampAnnotationKey]
	end, err := time.Parse(time.RFC3339, text)
	if left := end.Sub(l.now()); err != nil || left <= 9*time.Minute || left > 10*time.Minute {
		t.Errorf("the drain ends at %q, %s from now: %v", text, left, err)
	}
}
