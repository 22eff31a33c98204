package lifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
)

// TestAClassWhoseInstancesEndIsRefused is about a volume's KMS key that the launch may not use: EC2
// launches each instance, and ends it before it joins.
func TestAClassWhoseInstancesEndIsRefused(t *testing.T) {
	l := newLife(t)
	l.betweenSweeps()
	makeClass(t, "sealed")
	var conditions []metav1.Condition
	for _, kind := range append(api.EC2NodeClassReadyDependents(), api.ConditionReady) {
		api.SetCondition(&conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue}, l.now())
	}
	server.Patch(t, classesPath+"/sealed/status", map[string]any{"status": map[string]any{"conditions": conditions}})
	of := func(c *api.NodeClaim) { c.Spec.NodeClassRef.Name = "sealed" }
	for _, name := range []string{"ends-1", "ends-2"} {
		server.Claim(t, name, "i-"+name, of)
		l.ec2.launch("i-"+name, map[string]string{api.NodeClaimTagKey: name})
	}
	for i := range l.ec2.instances {
		l.ec2.instances[i].State = "terminated"
		l.ec2.instances[i].StateReason = "Client.InvalidKMSKey.InvalidState: the key is disabled"
	}
	l.clock.ahead += time.Minute
	l.tickOnce(t)
	class := readClass(t, "sealed")
	got := api.GetCondition(class.Status.Conditions, api.ConditionTypeValidationSucceeded)
	if got.Status != metav1.ConditionFalse || got.Reason != api.ReasonInstanceEnded ||
		api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
		t.Errorf("the class's conditions are %+v", class.Status.Conditions)
	}
	for _, name := range []string{"ends-1", "sealed"} {
		if !server.Reasons(t, name)[api.ReasonInstanceEnded] {
			t.Errorf("%s has no event", name)
		}
	}
	for _, name := range []string{"ends-1", "ends-2"} {
		l.until(t, "", func() bool { return readClaim(t, name) == nil })
	}
	if again := readClass(t, "sealed"); again.ResourceVersion != class.ResourceVersion &&
		api.GetCondition(again.Status.Conditions, got.Type).LastTransitionTime != got.LastTransitionTime {
		t.Errorf("the refusal begins again: %+v", again.Status.Conditions)
	}
	server.Delete(t, classesPath+"/sealed")
	l.until(t, "", func() bool { return functiontest.Get[api.EC2NodeClass](t, server, classesPath+"/sealed") == nil })
}
