package lifecycle

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
)

// The kubelet of another machine brings the providerID of an instance that has not joined yet. It must not
// get what the claim holds for its node, such as a tenant's label. The real node must.
func TestAThiefGetsNothingOfAnothersClaim(t *testing.T) {
	const tenant = "node-restriction.kubernetes.io/tenant"
	l := newLife(t)
	l.ec2.launch("i-payments", map[string]string{api.NodeClaimTagKey: "payments"})
	server.Claim(t, "payments", "i-payments", func(c *api.NodeClaim) { c.Labels[tenant] = "payments" })
	server.Node(t, "node-thief", "i-payments")
	server.Settle(t, "node-thief")
	for range 3 {
		if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
			t.Fatal(err)
		}
	}
	claim, thief := readClaim(t, "payments"), readNode(t, "node-thief")
	if claim.Status.NodeName != "" || thief.Labels[tenant] != "" || thief.Labels[api.NodeRegisteredLabelKey] != "" {
		t.Errorf("the claim's node is %q, and the thief's labels are %v", claim.Status.NodeName, thief.Labels)
	}
	found := api.GetCondition(claim.Status.Conditions, api.ConditionTypeConsistentStateFound)
	if found == nil || found.Status != "False" {
		t.Errorf("the thief is not reported: %+v", found)
	}
	server.Node(t, "node-payments", "i-payments")
	l.until(t, "node-payments", func() bool { return readClaim(t, "payments").Status.NodeName == "node-payments" })
	if label := readNode(t, "node-payments").Labels[tenant]; label != "payments" {
		t.Errorf("the real node has the label %q", label)
	}
	server.Delete(t, api.NodeClaimsPath+"/payments")
	l.leave(t, "payments")
}
