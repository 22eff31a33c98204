package disruption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// steering makes a pool that asks for the taint.
func steering(change ...func(*api.NodePool)) api.NodePool {
	made := pool("default", "0s", "100%")
	made.Annotations = map[string]string{api.SteerPodsAnnotationKey: "true"}
	for _, f := range change {
		f(&made)
	}
	return made
}

func endsBySelf(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }

func cordoned(n *disruption.Node) { n.Node.Spec.Unschedulable = true }

// candidate gives a node the taint.
func candidate(n *disruption.Node) {
	n.Node.Spec.Taints = append(n.Node.Spec.Taints, api.CandidateTaint())
}

func zone(name string) func(*disruption.Node) {
	return func(n *disruption.Node) { n.Claim.Labels[corev1.LabelTopologyZone] = name }
}

// steer lists the nodes that get the taint with a plus, and those that lose it with a minus.
func steer(t *testing.T, s *disruption.Cluster) string {
	t.Helper()
	changes, more := disruption.Steer(s, priceOf, monday)
	if more {
		t.Error("want no other changes")
	}
	var lines []string
	for _, change := range changes {
		sign := map[bool]string{true: "+", false: "-"}[change.Candidate]
		lines = append(lines, sign+change.Node.Claim.Name)
	}
	return strings.Join(lines, " ")
}

func TestSteer(t *testing.T) {
	replicas := int64(1)
	open := steering()
	value := func(text string) api.NodePool {
		return steering(func(p *api.NodePool) { p.Annotations[api.SteerPodsAnnotationKey] = text })
	}
	rs := ownedBy("ReplicaSet")
	four := func(change ...func(*disruption.Node)) []disruption.Node {
		return []disruption.Node{priced("a", "4", change...), priced("b", "3"), priced("c", "2"), priced("d", "1")}
	}
	for _, test := range []struct {
		name    string
		pool    api.NodePool
		nodes   []disruption.Node
		waiting []*corev1.Pod
		want    string
	}{
		{"half of the nodes: those that cost most", open, four(), nil, "+a +b"},
		{"of two at a price, the one with fewer pods", open, []disruption.Node{
			priced("a", "1", with(pod("p", rs), pod("q", rs))), priced("b", "1"),
		}, nil, "+b"},
		{"never the only node", open, []disruption.Node{priced("a", "1")}, nil, ""},
		{"one of three", open, four()[:3], nil, "+a"},
		{"a pool that does not ask", pool("default", "0s", "100%"), four(), nil, ""},
		{"a pool that says no", value("false"), four(candidate), nil, "-a"},
		{"a pool whose wish cannot be read", value("yes"), four(candidate), nil, "-a"},
		{"a pool that never consolidates", steering(func(p *api.NodePool) {
			p.Spec.Disruption.ConsolidateAfter = api.NeverDuration()
		}), four(candidate), nil, "-a"},
		{"a pool that removes empty nodes alone", steering(func(p *api.NodePool) {
			p.Spec.Disruption.ConsolidationPolicy = api.ConsolidationPolicyWhenEmpty
		}), four(), nil, "+a +b"},
		{"a pool with replicas", steering(func(p *api.NodePool) { p.Spec.Replicas = &replicas }), four(candidate), nil, "-a"},
		{"another pool's nodes", steering(func(p *api.NodePool) { p.Name = "other" }), four(candidate), nil, "-a"},
		{"without a price", open, []disruption.Node{priced("a", "", candidate), priced("b", "3")}, nil, "-a"},
		{"a node that a person keeps", open, four(onNode(api.DoNotDisruptAnnotationKey, "true"), candidate), nil, "-a +b"},
		{"a node that is not ready", open, four(candidate, func(n *disruption.Node) {
			n.Node.Status.Conditions[0].Status = corev1.ConditionUnknown
		}), nil, "-a +b"},
		{"a cordoned node", open, four(candidate, cordoned), nil, "-a +b"},
		{"a node that has just become ready", open, four(readyFor(20 * time.Second)), nil, "+b"},
		{"what leaves keeps its taints", open, four(candidate, tainted), nil, "+b"},
		{"a node with a pod that is kept for ever", open,
			four(candidate, with(pod("p", rs, doNotDisrupt("true")))), nil, "-a +b"},
		{"a node with a pod that is kept until it ends", open,
			four(with(pod("p", ownedBy("Job"), endsBySelf, doNotDisrupt("true")))), nil, "+a +b"},
		{"a node whose pods are on their way", open, []disruption.Node{
			priced("a", "4", annotated(api.NominatedPodsAnnotationKey, "w")), priced("b", "3"), priced("c", "2"),
		}, []*corev1.Pod{withUID(waitingPod(time.Minute), "w")}, "+b"},
		{"a node keeps its taint while it ranks well enough", open, []disruption.Node{
			priced("a", "5"), priced("b", "4", candidate), priced("c", "3", candidate), priced("d", "2"),
			priced("e", "1"),
		}, nil, ""},
		{"a node that has become cheap loses it", open, []disruption.Node{
			priced("a", "5"), priced("b", "4", candidate), priced("c", "3"), priced("d", "2", candidate),
			priced("e", "1"),
		}, nil, "-d +a"},
		{"half of the nodes in each zone", open, []disruption.Node{
			priced("a", "4", zone("a")), priced("b", "3", zone("a")), priced("c", "2", zone("b")), priced("d", "1", zone("b")),
			priced("e", "9", zone("c")),
		}, nil, "+a +c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 2 {
				got := steer(t, &disruption.Cluster{Pools: []api.NodePool{test.pool}, Nodes: test.nodes, Waiting: test.waiting})
				if got != test.want {
					t.Errorf("%q, want %q", got, test.want)
				}
				slices.Reverse(test.nodes)
			}
		})
	}
}

// TestSteeringIsAtRest holds that a second look finds nothing to do.
func TestSteeringIsAtRest(t *testing.T) {
	s := &disruption.Cluster{Pools: []api.NodePool{steering()}}
	for i := range 20 {
		s.Nodes = append(s.Nodes, priced(fmt.Sprintf("n%02d", i), fmt.Sprint(i%7)))
	}
	changes, _ := disruption.Steer(s, priceOf, monday)
	if len(changes) != 10 {
		t.Errorf("%d changes, want 10", len(changes))
	}
	for _, change := range changes {
		change.Node.Node.Spec.Taints = disruption.SteeredTaints(change.Node.Node, change.Candidate)
	}
	if again := steer(t, s); again != "" {
		t.Errorf("at the second look: %s", again)
	}
}

// TestSteeringChangesFiftyNodesAtOnce holds that nodes lose the taint before others get it.
func TestSteeringChangesFiftyNodesAtOnce(t *testing.T) {
	s := &disruption.Cluster{Pools: []api.NodePool{steering()}}
	for i := range 130 {
		made := priced(fmt.Sprintf("n%03d", i), fmt.Sprint(i))
		if i == 0 {
			candidate(&made)
		}
		s.Nodes = append(s.Nodes, made)
	}
	changes, more := disruption.Steer(s, priceOf, monday)
	if len(changes) != 50 || !more || changes[0].Candidate || changes[0].Node.Claim.Name != "n000" {
		t.Errorf("%d changes, more %t, first %+v", len(changes), more, changes[0])
	}
}

// TestSteeredTaints holds that taints of others stay, and what the patch is guarded by.
func TestSteeredTaints(t *testing.T) {
	own := corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
	node.Spec.Taints = []corev1.Taint{own}
	with := disruption.SteeredTaints(node, true)
	if !slices.Equal(with, []corev1.Taint{own, api.CandidateTaint()}) {
		t.Errorf("with it: %v", with)
	}
	node.Spec.Taints = with
	if again := disruption.SteeredTaints(node, true); !slices.Equal(again, with) {
		t.Errorf("twice: %v", again)
	}
	if without := disruption.SteeredTaints(node, false); !slices.Equal(without, []corev1.Taint{own}) {
		t.Errorf("without it: %v", without)
	}
	if patch := disruption.SteerPatch(node, false); fmt.Sprint(patch["metadata"]) != "map[resourceVersion:7]" {
		t.Errorf("the patch is not guarded: %v", patch)
	}
}

// TestAWishThatCannotBeReadIsToldOf holds that its pool has a notice.
func TestAWishThatCannotBeReadIsToldOf(t *testing.T) {
	bad := steering(func(p *api.NodePool) { p.Annotations[api.SteerPodsAnnotationKey] = "yes" })
	s := &disruption.Cluster{Pools: []api.NodePool{steering(), bad}}
	if !(&disruption.Cluster{Pools: []api.NodePool{bad}}).Steers() {
		t.Error("nobody looks at the pool")
	}
	notices := disruption.Unsteered(s)
	const mend = `is "yes": write "true" or "false"`
	if len(notices) != 1 || !notices[0].Mend || !strings.Contains(notices[0].Message, mend) {
		t.Errorf("%+v", notices)
	}
}
