package disruption_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestPodEvents checks which claims get a new status.lastPodEventTime.
func TestPodEvents(t *testing.T) {
	ago := func(before time.Duration) metav1.Time { return metav1.NewTime(monday.Add(-before)) }
	came := func(before time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: ago(before),
			})
		}
	}
	ended := func(before time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: ago(before),
			})
		}
	}
	ending := func(before time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			at, grace := metav1.NewTime(monday.Add(30*time.Second-before)), int64(30)
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
		}
	}
	shown := func(before time.Duration) func(*disruption.Node) {
		return func(n *disruption.Node) { n.Claim.Status.LastPodEventTime = ago(before) }
	}
	ofDaemonSet := func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Controller: &yes}}
	}
	for _, test := range []struct {
		name, after string
		node        disruption.Node
		want        time.Duration // before now; zero for no event
	}{
		{"a pod that came", "1m", node("a", 0, with(pod("p", came(time.Minute)))), time.Minute},
		{"the last of two", "1m", node("a", 0, with(pod("p", came(time.Hour)), pod("q", came(time.Minute)))), time.Minute},
		{"a pod that ended", "1m", node("a", 0, with(pod("p", came(time.Hour), ended(time.Minute)))), time.Minute},
		{"a pod that is ending", "1m", node("a", 0, with(pod("p", came(time.Hour), ending(time.Minute)))), time.Minute},
		{"a later event than the claim shows", "1m",
			node("a", 0, with(pod("p", came(time.Minute))), shown(70*time.Second)), time.Minute},
		{"an event soon after the one that the claim shows", "1m",
			node("a", 0, with(pod("p", came(time.Minute))), shown(69*time.Second)), 0},
		{"no pod", "1m", node("a", 0), 0},
		{"a DaemonSet's pod", "1m", node("a", 0, with(pod("p", came(time.Minute), ofDaemonSet))), 0},
		{"a pod of the future", "1m", node("a", 0, with(pod("p", came(-time.Minute)))), 0},
		{"a pod from before the initialization", "1m", node("a", 0, with(pod("p", came(time.Minute))),
			func(n *disruption.Node) { n.Claim.Status.Conditions[0].LastTransitionTime = ago(time.Minute) }), 0},
		{"a pool that does not wait", "0s", node("a", 0, with(pod("p", came(time.Minute)))), 0},
		{"a pool that never consolidates", api.Never, node("a", 0, with(pod("p", came(time.Minute)))), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			events := disruption.PodEvents(&disruption.Cluster{
				Pools: []api.NodePool{pool("default", test.after)}, Nodes: []disruption.Node{test.node},
			}, monday)
			switch {
			case test.want == 0 && len(events) > 0:
				t.Errorf("an event %s ago", monday.Sub(events[0].At))
			case test.want > 0 && (len(events) != 1 || monday.Sub(events[0].At) != test.want):
				t.Errorf("events %v, want one of %s ago", events, test.want)
			}
		})
	}
}

// TestPodEventsAreBounded: the nodes that have been quiet for longest come first.
func TestPodEventsAreBounded(t *testing.T) {
	s := &disruption.Cluster{Pools: []api.NodePool{pool("default", "1m")}}
	for i := range 200 {
		s.Nodes = append(s.Nodes, node(fmt.Sprint("n", i), 0, with(pod("p", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(monday),
			}}
		})), func(n *disruption.Node) {
			n.Claim.Status.LastPodEventTime = metav1.NewTime(monday.Add(-time.Minute - time.Duration(i)*time.Second))
		}))
	}
	events := disruption.PodEvents(s, monday)
	if len(events) != 100 || events[0].Node.Claim.Name != "n199" {
		t.Errorf("%d events, the first of %s", len(events), events[0].Node.Claim.Name)
	}
}
