package provisioner_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestNodesExpireAfterTheTTL gives a node to what a Provisioner with a ttl of 3,600 s became. The node
// is replaced from that age on.
func TestNodesExpireAfterTheTTL(t *testing.T) {
	c := newCluster(t, inline)
	c.pass(t)
	pool := c.Pools[0]
	node := disruption.Node{
		Claim: &api.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: "a-1", CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{api.NodePoolLabelKey: pool.Name},
			},
			Spec: api.NodeClaimSpec{ExpireAfter: pool.Spec.Template.Spec.ExpireAfter},
			Status: api.NodeClaimStatus{Conditions: []metav1.Condition{{
				Type: api.ConditionTypeInitialized, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
			}}},
		},
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "a-1", Labels: map[string]string{api.NodeInitializedLabelKey: "true"}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			}}},
		},
	}
	for age, want := range map[time.Duration]int{3599 * time.Second: 0, 3600 * time.Second: 1} {
		chosen, _ := disruption.Candidates(
			&disruption.Cluster{Pools: c.Pools, Nodes: []disruption.Node{node}}, now.Add(age),
		)
		if len(chosen) != want || want == 1 && chosen[0].Reason != disruption.ReasonExpired {
			t.Errorf("at the age of %s it chose %+v, want %d expired", age, chosen, want)
		}
	}
}
