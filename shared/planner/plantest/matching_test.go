package plantest

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// TestNodeFilterAgreesWithKubernetes compares nodeFilter with the scheduler's library for random
// selectors and labels.
func TestNodeFilterAgreesWithKubernetes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	keys, values := []string{"a", "b", "c"}, []string{"1", "2", "7", "x"}
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	operators := []corev1.NodeSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}
	matched := 0
	for range 20000 {
		pod := &corev1.Pod{}
		if random.IntN(3) == 0 {
			pod.Spec.NodeSelector = map[string]string{pick(keys): pick(values)}
		}
		var terms []corev1.NodeSelectorTerm
		for range random.IntN(3) {
			var term corev1.NodeSelectorTerm
			for range random.IntN(3) {
				e := corev1.NodeSelectorRequirement{Key: pick(keys), Operator: operators[random.IntN(len(operators))]}
				switch e.Operator {
				case "In", "NotIn":
					e.Values = []string{pick(values), pick(values)}
				case "Gt", "Lt":
					e.Values = []string{pick(values[:3])}
				}
				term.MatchExpressions = append(term.MatchExpressions, e)
			}
			if random.IntN(4) == 0 {
				term.MatchFields = []corev1.NodeSelectorRequirement{
					{Key: "metadata.name", Operator: operators[random.IntN(2)], Values: []string{pick([]string{"here", "there"})}},
				}
			}
			terms = append(terms, term)
		}
		if random.IntN(4) > 0 {
			pod.Spec.Affinity = &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
				},
			}
		}
		node := &corev1.Node{ObjectMeta: v1.ObjectMeta{Name: "here", Labels: map[string]string{}}}
		for _, key := range keys {
			if random.IntN(2) == 0 {
				node.Labels[key] = pick(values)
			}
		}
		filter := nodeFilterOf(&pod.Spec)
		got := filter.matches(labelSet{node.Labels}, node.Name)
		want, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
		if got != want {
			t.Fatalf("%+v on %v: %v, Kubernetes says %v (%v)", pod.Spec, node.Labels, got, want, err)
		}
		if got {
			matched++
		}
	}
	if matched < 1000 || matched > 19000 {
		t.Errorf("%d of 20000 match: the selectors tell nothing", matched)
	}
}

func TestLabelSetHoldsBounds(t *testing.T) {
	l := labelSet{{"n": "4"}}
	for _, test := range []struct {
		operator corev1.NodeSelectorOperator
		value    string
		want     bool
	}{{"Gte", "4", true}, {"Gte", "5", false}, {"Lte", "4", true}, {"Lte", "3", false}, {"Gt", "4", false},
		{"Lt", "5", true}, {"Gt", "x", false}} {
		if got := l.holds("n", test.operator, []string{test.value}); got != test.want {
			t.Errorf("4 %s %s: %v", test.operator, test.value, got)
		}
	}
	if l.holds("absent", "Lte", []string{"4"}) {
		t.Error("a label that is absent is within bounds")
	}
}

func TestHostPortsCollide(t *testing.T) {
	every := hostPort{anyAddress, corev1.ProtocolTCP, 80}
	one, other := hostPort{"10.0.0.1", corev1.ProtocolTCP, 80}, hostPort{"10.0.0.2", corev1.ProtocolTCP, 80}
	udp := hostPort{anyAddress, corev1.ProtocolUDP, 80}
	for _, test := range []struct {
		a, b hostPort
		want bool
	}{{every, one, true}, {one, every, true}, {one, one, true}, {one, other, false}, {every, udp, false}} {
		if got := test.a.collides(test.b); got != test.want {
			t.Errorf("%v and %v: %v", test.a, test.b, got)
		}
	}
}
