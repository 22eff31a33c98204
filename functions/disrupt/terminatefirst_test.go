package disrupt

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// TestANodeOfAFullReservationEndsFirst has a drifted node that holds the only slot of the only
// reservation that its pool may use. Nothing can replace it. It stays, unless the setting lets it
// end first.
func TestANodeOfAFullReservationEndsFirst(t *testing.T) {
	offers(t)
	server.Patch(t, classesPath+"/default/status", map[string]any{"status": map[string]any{
		"capacityReservations": []api.CapacityReservation{{
			ID: "cr-0123456789abcdef0", AvailabilityZone: "us-east-1a", InstanceType: "m5.large", OwnerID: "123456789012",
			InstanceMatchCriteria: "targeted", ReservationType: "default", State: "active",
		}},
	}})
	full := map[string]int{"cr-0123456789abcdef0": 0}
	if err := inventory.PutReservations(t.Context(), server.Everything(t), full, time.Now()); err != nil {
		t.Fatal(err)
	}
	pool(t, "100%")
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"spec": map[string]any{"template": map[string]any{
		"spec": map[string]any{"requirements": []api.NodeSelectorRequirementWithMinValues{{
			Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{api.CapacityTypeReserved},
		}}},
	}}})
	initialized(t, "reserved")
	labels := map[string]string{
		api.CapacityTypeLabelKey: api.CapacityTypeReserved, api.LabelCapacityReservationID: "cr-0123456789abcdef0",
		corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
	}
	for _, path := range []string{api.NodeClaimsPath + "/reserved", functiontest.NodesPath + "/node-reserved"} {
		server.Patch(t, path, map[string]any{"metadata": map[string]any{"labels": labels}})
	}
	settle(t, "reserved")
	drift(t, "reserved")
	server.Pod(t, "guest-reserved", "node-reserved")
	t.Cleanup(func() {
		server.Delete(t, functiontest.PodsPath+"/guest-reserved")
		server.EndPods(t, "node-reserved")
	})

	l := newHarness(t, nil)
	l.mustTick(t)
	if isEnding(t, "reserved") || isBeingReplaced(t, "reserved") {
		t.Fatal("without the setting the node does not stay")
	}
	l.ahead += disruption.ReplaceAgainAfter + time.Minute
	l.terminateFirst = disruption.TerminateFirst{api.DisruptionReasonUnhealthy}
	l.mustTick(t)
	if isEnding(t, "reserved") {
		t.Fatal("the node ends first for another reason than the setting names")
	}
	l.ahead += disruption.ReplaceAgainAfter + time.Minute
	l.terminateFirst = disruption.TerminateFirst{api.DisruptionReasonDrifted}
	l.mustTick(t)
	if !isEnding(t, "reserved") {
		t.Errorf("the node stays: %v", server.Reasons(t, "reserved"))
	}
}

// settle lets a claim's conditions be an hour old.
func settle(t *testing.T, name string) {
	t.Helper()
	conditions := readClaim(t, name).Status.Conditions
	for i := range conditions {
		conditions[i].LastTransitionTime.Time = time.Now().Add(-time.Hour)
	}
	server.Patch(t, api.NodeClaimsPath+"/"+name+"/status",
		map[string]any{"status": map[string]any{"conditions": conditions}})
}

func TestParseTerminateFirst(t *testing.T) {
	if got, err := parseTerminateFirst("Drifted, Unhealthy"); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseTerminateFirst("Empty"); err == nil {
		t.Error("an empty node may end first")
	}
}
