package scheduling_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func TestWhetherANodeIsLeaving(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	claim := func(change ...func(*api.NodeClaim)) *api.NodeClaim {
		c := &api.NodeClaim{}
		for _, f := range change {
			f(c)
		}
		return c
	}
	deletedClaim := func(c *api.NodeClaim) { c.DeletionTimestamp = &deleted }
	terminating := func(c *api.NodeClaim) {
		c.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeInstanceTerminating, Status: metav1.ConditionTrue}}
	}
	deletedNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}}
	tainted := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{api.DisruptedNoScheduleTaint()}}}
	for _, test := range []struct {
		name                       string
		claim                      *api.NodeClaim
		node                       *corev1.Node
		requested, leaving, closed bool
	}{
		{"a node that stays", claim(), &corev1.Node{}, false, false, false},
		{"a claim without a node", claim(), nil, false, false, false},
		{"a node without a claim", nil, &corev1.Node{}, false, false, false},
		{"neither", nil, nil, false, false, true},
		{"a deleted claim", claim(deletedClaim), &corev1.Node{}, true, true, true},
		{"a deleted claim without a node", claim(deletedClaim), nil, true, true, true},
		{"a deleted node whose claim stays", claim(), deletedNode, true, false, true},
		{"a deleted node without a claim", nil, deletedNode, true, true, true},
		{"an instance that is terminating", claim(terminating), &corev1.Node{}, false, true, true},
		{"a tainted node", claim(), tainted, false, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := scheduling.IsDeletionRequested(test.claim, test.node); got != test.requested {
				t.Errorf("IsDeletionRequested %t", got)
			}
			if got := scheduling.IsLeaving(test.claim, test.node); got != test.leaving {
				t.Errorf("IsLeaving %t", got)
			}
			if got := scheduling.IsClosedToPods(test.claim, test.node); got != test.closed {
				t.Errorf("IsClosedToPods %t", got)
			}
		})
	}
}
