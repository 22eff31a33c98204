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

const lowestCost = "-2147483648"

// hasCost gives a pod a deletion cost, which Whittle wrote if the mark has the same value.
func hasCost(cost, mark string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{api.PodDeletionCostAnnotationKey: cost}
		if mark != "" {
			p.Annotations[api.ManagedDeletionCostAnnotationKey] = mark
		}
	}
}

// priced runs one pod of a ReplicaSet, and costs so many dollars an hour.
func priced(name, price string, change ...func(*disruption.Node)) disruption.Node {
	made := node(name, 0, append([]func(*disruption.Node){
		readyFor(time.Hour), with(pod("p-"+name, ownedBy("ReplicaSet"))),
	}, change...)...)
	made.Claim.Labels["price"] = price
	return made
}

func priceOf(claim *api.NodeClaim) (price float64, isKnown bool) {
	found, _ := fmt.Sscan(claim.Labels["price"], &price)
	return price, found == 1
}

func isDrifted(n *disruption.Node) {
	n.Claim.Status.Conditions = append(n.Claim.Status.Conditions,
		metav1.Condition{Type: api.ConditionTypeDrifted, Status: metav1.ConditionTrue})
}

// costsOf lists the pods whose cost changes, with their new cost.
func costsOf(changes []disruption.PodCost) string {
	var lines []string
	for _, change := range changes {
		lines = append(lines, strings.TrimSpace(change.Pod.Name+" "+change.Cost))
	}
	return strings.Join(lines, ", ")
}

func TestPodCosts(t *testing.T) {
	replicas := int64(1)
	static := pool("default", "0s", "100%")
	static.Spec.Replicas = &replicas
	open, two, never := pool("default", "0s", "100%"), pool("default", "0s", "2"), pool("default", api.Never, "100%")
	pods := func(made ...*corev1.Pod) func(*disruption.Node) { return with(made...) }
	ofSet := ownedBy("ReplicaSet")
	for _, test := range []struct {
		name  string
		pool  api.NodePool
		nodes []disruption.Node
		want  string
	}{
		{"the dearest node goes first", open,
			[]disruption.Node{priced("a", "1"), priced("b", "3"), priced("c", "2")}, "p-b -3, p-c -2, p-a -1"},
		{"of two at a price, the one with less to evict", open,
			[]disruption.Node{priced("a", "1", pods(pod("p", ofSet), pod("q", ofSet))), priced("b", "1")},
			"p-b -2, p -1, q -1"},
		{"drifted nodes before dear ones", open,
			[]disruption.Node{priced("a", "1", isDrifted), priced("b", "3")}, "p-a -2, p-b -1"},
		{"what leaves goes before all, and unpriced", open, []disruption.Node{
			priced("a", "1"), priced("b", "", claimDeleted), priced("c", "2", tainted),
			priced("d", "2", annotated(disruption.ReplacedByAnnotationKey, "")),
		}, "p-b " + lowestCost + ", p-c " + lowestCost + ", p-d " + lowestCost + ", p-a -1"},
		{"no more than budgets allow", two,
			[]disruption.Node{priced("a", "1"), priced("b", "3"), priced("c", "2")}, "p-b -2, p-c -1"},
		{"without a price", open, []disruption.Node{priced("a", "")}, ""},
		{"of a pool that never consolidates", never, []disruption.Node{priced("a", "1"), priced("b", "1", isDrifted)},
			"p-b -1"},
		{"of a pool with replicas", static, []disruption.Node{priced("a", "1"), priced("b", "1", isDrifted)}, ""},
		{"a node that a person keeps", open,
			[]disruption.Node{priced("a", "1", onNode(api.DoNotDisruptAnnotationKey, "true"))}, ""},
		{"a node that a pod keeps", open,
			[]disruption.Node{priced("a", "1", pods(pod("p", ofSet), pod("q", ofSet, doNotDisrupt("true"))))}, ""},
		{"a pod that nothing replaces keeps its node", open,
			[]disruption.Node{priced("a", "1", pods(pod("p", ofSet), pod("q"))),
				priced("b", "1", pods(pod("r", ofSet), pod("s", ownedBy("StatefulSet"))))}, ""},
		{"daemons, jobs and what runs in kube-system do not", open, []disruption.Node{priced("a", "1", pods(
			pod("p", ofSet), pod("q", ownedBy("DaemonSet")), pod("r", ownedBy("Job")),
			pod("s", func(p *corev1.Pod) { p.Namespace = "kube-system" }),
		))}, "p -1"},
		{"only pods that run", open,
			[]disruption.Node{priced("a", "1", pods(pod("p", ofSet, ending), pod("q", ofSet, phase(corev1.PodSucceeded))))}, ""},
		{"a cost that is right", open, []disruption.Node{priced("a", "1", pods(pod("p", ofSet, hasCost("-1", "-1"))))}, ""},
		{"a cost of Whittle that is wrong", open,
			[]disruption.Node{priced("a", "1", pods(pod("p", ofSet, hasCost("-7", "-7"))))}, "p -1"},
		{"a cost of Whittle that nothing needs", never,
			[]disruption.Node{priced("a", "1", pods(pod("p", ofSet, hasCost("-7", "-7"))))}, "p"},
		{"a person's cost", open, []disruption.Node{
			priced("a", "1", pods(pod("p", ofSet, hasCost("5", "")))),
			priced("b", "1", claimDeleted, pods(pod("q", ofSet, hasCost("5", "-7")))),
			priced("c", "1", pods(pod("r", ofSet, hasCost("", "")))),
		}, ""},
		{"a person's cost that nothing needs", never, []disruption.Node{
			priced("a", "1", pods(pod("p", ofSet, hasCost("5", "")), pod("q", ofSet, hasCost("5", "-7")))),
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 2 {
				s := &disruption.Cluster{Pools: []api.NodePool{test.pool}, Nodes: test.nodes}
				changes, more := disruption.PodCosts(s, priceOf, monday)
				got := strings.Split(costsOf(changes), ", ")
				want := strings.Split(test.want, ", ")
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) || more {
					t.Errorf("costs %q, want %q, more %t", got, want, more)
				}
				slices.Reverse(test.nodes)
			}
		})
	}
}

// TestPodCostsOfFiftyNodesChangeAtOnce: nodes that leave come first, then those that go next.
func TestPodCostsOfFiftyNodesChangeAtOnce(t *testing.T) {
	s := &disruption.Cluster{Pools: []api.NodePool{pool("default", "0s", "100%")}}
	for i := range 60 {
		s.Nodes = append(s.Nodes, priced(fmt.Sprintf("n%02d", i), "1"))
	}
	s.Nodes = append(s.Nodes, priced("z", "1", claimDeleted))
	changes, more := disruption.PodCosts(s, priceOf, monday)
	if len(changes) != 50 || !more || changes[0].Pod.Name != "p-z" || changes[49].Cost != "-12" {
		t.Fatalf("%d changes, more %t: %s", len(changes), more, costsOf(changes))
	}
	for _, change := range changes {
		hasCost(change.Cost, change.Cost)(change.Pod)
	}
	changes, more = disruption.PodCosts(s, priceOf, monday)
	if len(changes) != 11 || more || changes[10].Cost != "-1" {
		t.Errorf("then %d changes, more %t: %s", len(changes), more, costsOf(changes))
	}
}
