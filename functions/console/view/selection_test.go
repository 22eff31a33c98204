package view

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestSelection(t *testing.T) {
	node := func(name, provider, team string) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}},
			Spec:       corev1.NodeSpec{ProviderID: provider},
		}
	}
	claim := func(name, provider, team string) api.NodeClaim {
		made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
		made.Status.ProviderID = provider
		return made
	}
	pod := func(namespace, node string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}, Spec: corev1.PodSpec{NodeName: node}}
	}
	all := &Cluster{
		Nodes:      []corev1.Node{node("n1", "i-1", "a"), node("n2", "i-2", "b")},
		NodeClaims: []api.NodeClaim{claim("c1", "i-1", ""), claim("c2", "i-2", ""), claim("c3", "", "a"), claim("c4", "", "b")},
		Pods:       []corev1.Pod{pod("shop", ""), pod("other", ""), pod("other", "n1")},
	}
	selector, err := labels.Parse("team=a")
	if err != nil {
		t.Fatal(err)
	}
	shown := Of(Selection{Namespace: "shop", Nodes: selector}.Of(all), now)
	var names strings.Builder
	if err := shown.WriteNames(&names); err != nil || names.String() != "node/n1\nnodeclaim/c3\n" {
		t.Errorf("%v, nodes are\n%s", err, names.String())
	}
	if len(shown.Waiting) != 1 || shown.Waiting[0].Namespace != "shop" || shown.Nodes[0].Pods+shown.Nodes[1].Pods != 1 {
		t.Errorf("waiting are %+v, nodes %+v", shown.Waiting, shown.Nodes)
	}
	if same := Of(Selection{}.Of(all), now); len(same.Nodes) != 4 || len(same.Waiting) != 2 {
		t.Errorf("all are %+v", same)
	}
}
