package lifecycle

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/binding"
)

// selecting answers for pods that a selector matches.
type selecting struct {
	kubernetes
	pods  []corev1.Pod
	lists atomic.Int32
}

func (*selecting) DaemonSets(context.Context) ([]appsv1.DaemonSet, error) { return nil, nil }

func (*selecting) PodsOnNode(context.Context, string, string) ([]corev1.Pod, error) { return nil, nil }

func (s *selecting) PodsSelected(_ context.Context, namespace, selector string) ([]corev1.Pod, error) {
	s.lists.Add(1)
	if namespace != "shop" || selector != "app=web" {
		return nil, nil
	}
	return s.pods, nil
}

// TestThePodsThatAConstraintCountsAreReadOnce has two nodes that joined and a claim whose node comes. A pod of
// each is spread over zones.
func TestThePodsThatAConstraintCountsAreReadOnce(t *testing.T) {
	spread := func(name string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web"}}}
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		}}
		return pod
	}
	s := &seen{expected: map[string][]*corev1.Pod{}}
	client := &selecting{}
	for name, zone := range map[string]string{"one": "a", "two": "b", "three": "c"} {
		claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "three" {
			claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
			}}
		} else {
			claim.Status.ProviderID = "aws:///" + name
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: "node-" + name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
			node.Spec.ProviderID = claim.Status.ProviderID
			s.nodes = append(s.nodes, node)
		}
		pod := spread(name)
		client.pods = append(client.pods, *pod)
		s.claims, s.expected[name] = append(s.claims, claim), []*corev1.Pod{pod}
	}
	from := &places{client: client, seen: s, pods: newNodePods(client, time.Now, 1, len(s.nodes))}
	for i := range s.nodes {
		claim := s.nodes[i].Name[len("node-"):]
		view := &nodeclaim.View{Nodes: []*corev1.Node{&s.nodes[i]}, Expected: s.expected[claim]}
		place, err := from.place(t.Context(), view)
		if err != nil {
			t.Fatal(err)
		}
		n := place.Neighbours
		if len(n.Nodes) != 3 || len(n.Pods[binding.Selection{Namespace: "shop", Selector: "app=web"}]) != 3 ||
			n.Planned["three"].Labels[corev1.LabelTopologyZone] != "c" || n.Planned[claim] != &s.nodes[i] {
			t.Errorf("the neighbours of %s are %+v", claim, n)
		}
	}
	if lists := client.lists.Load(); lists != 1 {
		t.Errorf("%d lists were read for one constraint", lists)
	}
}
