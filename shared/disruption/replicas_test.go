package disruption_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/registration"
)

func TestReplicas(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	controller := true
	type change func(*disruption.Node)
	replica := func(name string, changes ...change) disruption.Node {
		n := disruption.Node{
			Claim: &api.NodeClaim{
				ObjectMeta: metav1.ObjectMeta{
					Name:              name,
					Labels:            map[string]string{api.NodePoolLabelKey: "static"},
					CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
				},
			},
			Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}},
		}
		n.Claim.Status.ProviderID = "aws:///a/i-" + name
		for _, change := range changes {
			change(&n)
		}
		return n
	}
	unlaunched := func(n *disruption.Node) { n.Claim.Status.ProviderID, n.Node = "", nil }
	unjoined := func(n *disruption.Node) { n.Node = nil }
	going := func(n *disruption.Node) { n.Claim.DeletionTimestamp = &metav1.Time{Time: now} }
	terminating := func(n *disruption.Node) {
		n.Claim.Status.Conditions = []metav1.Condition{
			{Type: api.ConditionTypeInstanceTerminating, Status: metav1.ConditionTrue},
		}
	}
	tainted := func(n *disruption.Node) { n.Node.Spec.Taints = []corev1.Taint{api.DisruptedNoScheduleTaint()} }
	kept := func(n *disruption.Node) {
		n.Node.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
	}
	other := func(n *disruption.Node) { n.Claim.Labels[api.NodePoolLabelKey] = "other" }
	runs := func(changes ...func(*corev1.Pod)) change {
		return func(n *disruption.Node) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", len(n.Pods))}}
			for _, change := range changes {
				change(p)
			}
			n.Pods = append(n.Pods, p)
		}
	}
	costs := func(deletionCost string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": deletionCost}
		}
	}
	keptPod := func(p *corev1.Pod) { p.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"} }
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &controller}}
	}
	expires := func(after time.Duration) change {
		return func(n *disruption.Node) { n.Claim.Spec.ExpireAfter = api.NillableDuration{Duration: &after} }
	}
	tests := []struct {
		name     string
		replicas int64 // negative: none
		limit    string
		nodes    []disruption.Node
		create   int
		remove   string
	}{
		{"no replicas", -1, "", nil, 0, ""},
		{"from none", 3, "", nil, 3, ""},
		{"as many as there should be", 2, "", []disruption.Node{replica("a"), replica("b")}, 0, ""},
		{"what is unlaunched counts", 2, "", []disruption.Node{replica("a", unlaunched), replica("b", unjoined)}, 0, ""},
		{"of another pool", 1, "", []disruption.Node{replica("a", other)}, 1, ""},
		{"within the limit", 5, "3", []disruption.Node{replica("a")}, 2, ""},
		{"of a limit in parts", 5, "2500m", []disruption.Node{replica("a")}, 1, ""},
		{
			"leaving ones are replaced",
			2,
			"",
			[]disruption.Node{replica("a"), replica("b", going), replica("c", terminating)},
			1,
			"",
		},
		{"leaving ones count against the limit", 2, "2", []disruption.Node{replica("a"), replica("b", going)}, 0, ""},
		{"above the limit nothing goes", 2, "1", []disruption.Node{replica("a"), replica("b")}, 0, ""},
		{"chosen ones count as there", 2, "", []disruption.Node{replica("a"), replica("b", tainted)}, 0, ""},
		{"chosen ones are not too many", 1, "", []disruption.Node{replica("a"), replica("b", tainted)}, 0, ""},
		{"down to none", 0, "", []disruption.Node{replica("a"), replica("b", going)}, 0, "a"},
		{
			"unlaunched before empty",
			2,
			"",
			[]disruption.Node{replica("a"), replica("b"), replica("c", unlaunched), replica("d")},
			0,
			"c a",
		},
		{
			"empty before busy",
			1,
			"",
			[]disruption.Node{replica("a", runs()), replica("b", runs(daemon)), replica("c", unjoined)},
			0,
			"b c",
		},
		{"fewer pods first", 1, "", []disruption.Node{replica("a", runs(), runs()), replica("b", runs())}, 0, "b"},
		{
			"cheaper pods first",
			1,
			"",
			[]disruption.Node{replica("a", runs(costs("134217728"))), replica("b", runs(costs("-67108864")), runs())},
			0,
			"b",
		},
		{
			"near its end first",
			1,
			"",
			[]disruption.Node{
				replica("a", runs()),
				replica("b", runs(), expires(65*time.Minute)),
				replica("c", runs(), expires(30*time.Hour)),
			},
			0,
			"b c",
		},
		{
			"protected ones last",
			1,
			"",
			[]disruption.Node{
				replica("a", kept),
				replica("b", runs(keptPod)),
				replica("c", runs(), runs()),
				replica("d", runs()),
			},
			0,
			"d c a",
		},
		{"a protected one not launched", 0, "", []disruption.Node{replica("a", kept), replica("b", unlaunched)}, 0, "b a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "static"}}
			if test.replicas >= 0 {
				pool.Spec.Replicas = &test.replicas
			}
			if test.limit != "" {
				pool.Spec.Limits = api.Limits{api.ResourceNodes: resource.MustParse(test.limit)}
			}
			for range 2 {
				got := disruption.Replicas(pool, test.nodes, false, now)
				var names []string
				for _, n := range got.Delete {
					names = append(names, n.Claim.Name)
				}
				if got.Create != test.create || strings.Join(names, " ") != test.remove {
					t.Errorf("create %d and delete %q, want %d and %q", got.Create, names, test.create, test.remove)
				}
				slices.Reverse(test.nodes)
			}
			pool.DeletionTimestamp = &metav1.Time{Time: now}
			if got := disruption.Replicas(pool, test.nodes, false, now); got.Create != 0 || len(got.Delete) != 0 {
				t.Errorf("a pool that is being deleted: %+v", got)
			}
		})
	}
}

// The API server refuses a claim that requires the label of Provisioners.
func TestAReplicaOfAProvisionerRequiresNoLabelOfIt(t *testing.T) {
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "static"}}
	pool.Spec.Template.Labels = map[string]string{api.ProvisionerNameLabelKey: "old", "team": "a"}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "c",
	}
	claim, _, err := disruption.Replica(pool)
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for _, term := range claim.Spec.Requirements {
		required[term.Key] = true
	}
	if required[api.ProvisionerNameLabelKey] || !required["team"] || claim.Labels[api.ProvisionerNameLabelKey] != "old" {
		t.Errorf("the claim has the labels %v and requires %v", claim.Labels, claim.Spec.Requirements)
	}
}

// TestReplicasWhoseReplacementsDoNotJoinStay has three drifted nodes of a pool with spec.replicas,
// whose last two nodes have not joined.
func TestReplicasWhoseReplacementsDoNotJoinStay(t *testing.T) {
	three := int64(3)
	fixed := pool("default", "0s", "100%")
	fixed.Spec.Replicas = &three
	seen := &disruption.Cluster{Nodes: []disruption.Node{node("a", 0), node("b", 0), node("c", 0)}}
	var candidates []disruption.Candidate
	for i := range seen.Nodes {
		seen.Nodes[i].Claim.Status.NodeName = seen.Nodes[i].Claim.Name
		candidates = append(candidates, disruption.Candidate{
			Node: &seen.Nodes[i], Pool: &fixed, Reason: api.DisruptionReasonDrifted,
		})
	}
	for minutes, want := range map[int]string{1: "0 may, 3 stay", 11: "1 may, 2 stay"} {
		at := monday.Add(-time.Duration(minutes) * time.Minute)
		launches := registration.Launches{Since: monday.Add(-time.Hour)}
		launches.Add(registration.Outcome{Claim: "x", Result: registration.Failed, At: at},
			registration.Outcome{Claim: "y", Result: registration.Failed, At: at})
		fixed.Status.Conditions = []metav1.Condition{
			{Type: api.ConditionTypeNodeRegistrationHealthy, Message: launches.String()},
		}
		may, stay := seen.Joining(candidates, monday)
		if got := fmt.Sprintf("%d may, %d stay", len(may), len(stay)); got != want {
			t.Errorf("%d minutes after the last one: %s, want %s: %+v", minutes, got, want, stay)
		}
	}
	fixed.Status.Conditions = nil
	if may, stay := seen.Joining(candidates, monday); len(may) != 3 || len(stay) != 0 {
		t.Errorf("of a pool whose nodes join, %d may and %d stay", len(may), len(stay))
	}
}
