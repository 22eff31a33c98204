package disruption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/plan"
)

func inZone(n *disruption.Node) {
	n.Claim.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeSpot
	n.Claim.UID = types.UID(n.Claim.Name)
}

// recommended is a spot node that EC2 recommended to replace a while ago.
func recommended(name string, ago time.Duration, change ...func(*disruption.Node)) disruption.Node {
	return node(
		name,
		0,
		append(
			[]func(*disruption.Node){
				inZone,
				annotated(disruption.RebalanceRecommendedAnnotationKey, monday.Add(-ago).Format(time.RFC3339)),
			},
			change...)...)
}

// departing is a node of which AWS has announced that it goes.
func departing(name string, ahead time.Duration, change ...func(*disruption.Node)) disruption.Node {
	return node(
		name,
		0,
		append(
			[]func(*disruption.Node){
				annotated(disruption.DepartsAtAnnotationKey, monday.Add(ahead).Format(time.RFC3339)),
				annotated(disruption.DepartsBecauseAnnotationKey, "arn:a"),
			},
			change...)...)
}

func young(n *disruption.Node) {
	n.Claim.Status.Conditions[0].LastTransitionTime = metav1.NewTime(monday.Add(-time.Minute))
}

// drifted is a node whose claim was marked a while ago.
func drifted(name string, ago time.Duration, change ...func(*disruption.Node)) disruption.Node {
	return node(name, 0, append([]func(*disruption.Node){func(n *disruption.Node) {
		n.Node.CreationTimestamp = metav1.NewTime(monday.Add(-time.Hour))
		n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, metav1.Condition{
			Type: api.ConditionTypeDrifted, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(monday.Add(-ago)),
		})
	}}, change...)...)
}

func occupied(n *disruption.Node) {
	n.Pods = append(n.Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "guest"}})
}

func graceful(n *disruption.Node) {
	n.Claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
}

func onNode(key, value string) func(*disruption.Node) {
	return func(n *disruption.Node) { n.Node.Annotations = map[string]string{key: value} }
}

func readyFor(age time.Duration) func(*disruption.Node) {
	return func(n *disruption.Node) {
		n.Claim.Status.Conditions[0].LastTransitionTime = metav1.NewTime(monday.Add(-age))
	}
}

func expires(after time.Duration) func(*disruption.Node) {
	return func(n *disruption.Node) { n.Claim.Spec.ExpireAfter = api.DurationOf(after) }
}

func within(value string) func(*api.NodePool) {
	return func(p *api.NodePool) {
		p.Annotations = map[string]string{disruption.ExpireWithinBudgetsAnnotationKey: value}
	}
}

// sick is a node that has not been ready for a while.
func sick(name string, since time.Duration, change ...func(*disruption.Node)) disruption.Node {
	return node(name, 0, append([]func(*disruption.Node){func(n *disruption.Node) {
		n.Node.Status.Conditions[0].Status = corev1.ConditionFalse
		n.Node.Status.Conditions[0].LastTransitionTime = metav1.NewTime(monday.Add(-since))
	}}, change...)...)
}

// healthy adds that many healthy nodes to others.
func healthy(number int, others ...disruption.Node) []disruption.Node {
	for i := range number {
		others = append(others, node(fmt.Sprintf("healthy-%d", i), 0))
	}
	return others
}

func onDemand(n *disruption.Node) {
	n.Claim.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand
}

func TestCandidates(t *testing.T) {
	policy := func(value string) func(*api.NodePool) {
		return func(p *api.NodePool) {
			p.Annotations = map[string]string{disruption.RebalancePolicyAnnotationKey: value}
		}
	}
	protectedPod := with(
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{api.DoNotDisruptAnnotationKey: "true"}},
		},
	)
	replicas := func(p *api.NodePool) { three := int64(3); p.Spec.Replicas = &three }
	const day = 24 * time.Hour
	for _, test := range []struct {
		name    string
		budget  string
		pool    func(*api.NodePool)
		nodes   []disruption.Node
		waiting []*corev1.Pod
		want    string
		notice  string
	}{
		{
			name: "an expired node's own annotation does not keep it", pool: within("true"),
			nodes: []disruption.Node{node("a", 0, expires(time.Minute), onNode(api.DoNotDisruptAnnotationKey, "true"))}, want: "a",
		},
		{
			name: "its claim's does", pool: within("true"),
			nodes: []disruption.Node{node("a", 0, expires(time.Minute), annotated(api.DoNotDisruptAnnotationKey, "true"))},
		},
		{
			name: "not with a grace period", pool: within("true"),
			nodes: []disruption.Node{node("a", 0, expires(time.Minute), graceful, annotated(api.DoNotDisruptAnnotationKey, "true"))},
			want:  "a",
		},
		{
			name: "a drifted and expired node's own annotation does not keep it", pool: within("true"),
			nodes: []disruption.Node{drifted("a", time.Hour, expires(0), onNode(api.DoNotDisruptAnnotationKey, "true"))}, want: "a",
		},
		{
			name: "another node with its providerID keeps it", pool: within("true"),
			nodes: []disruption.Node{node("a", 0, expires(time.Minute), graceful, onNode(protection.DisputedAnnotationKey, "b"))},
		},
		{name: "a recommendation replaces the node", nodes: []disruption.Node{recommended("a", time.Minute)}, want: "a"},
		{
			name: "a policy of Replace does too", pool: policy("Replace"),
			nodes: []disruption.Node{recommended("a", time.Minute)}, want: "a",
		},
		{
			name: "a policy of Ignore does not", pool: policy("Ignore"), nodes: []disruption.Node{recommended("a", time.Minute)},
		},
		{
			name: "an unknown policy does not, and a notice says so", pool: policy("replace!"),
			nodes: []disruption.Node{recommended("a", time.Minute)}, notice: "write Replace or Ignore",
		},
		{name: "an old recommendation does not count any more", nodes: []disruption.Node{recommended("a", 2*time.Hour)}},
		{
			name:  "a recommendation that cannot be read does not count",
			nodes: []disruption.Node{node("a", 0, inZone, annotated(disruption.RebalanceRecommendedAnnotationKey, "soon"))},
		},
		{name: "a new node is left alone", nodes: []disruption.Node{recommended("a", time.Minute, young)}},
		{
			name:  "a recommendation for an on-demand node does not count",
			nodes: []disruption.Node{recommended("a", time.Minute, onDemand)},
		},
		{
			name: "budgets bound how many go at once, the first recommended first", budget: "2",
			nodes: []disruption.Node{
				recommended("a", time.Minute), recommended("b", 3*time.Minute), recommended("c", 2*time.Minute),
			},
			want: "b,c", notice: "blocking budget",
		},
		{
			name: "nodes being replaced take of the budget", budget: "2",
			nodes: []disruption.Node{
				recommended("a", time.Minute), recommended("b", 3*time.Minute),
				node("c", 0, annotated(disruption.ReplacedByAnnotationKey, "x"), begunAgo(time.Minute)),
			},
			want: "b", notice: "blocking budget",
		},
		{
			name: "a budget of none keeps all", budget: "0", nodes: []disruption.Node{recommended("a", time.Minute)},
			notice: "blocking budget",
		},
		{
			name: "a protected pod keeps its node", nodes: []disruption.Node{recommended("a", time.Minute, protectedPod)},
			notice: "do-not-disrupt",
		},
		{
			name: "a failed replacement is not tried again soon",
			nodes: []disruption.Node{
				recommended(
					"a", time.Minute, annotated(disruption.ReplaceAfterAnnotationKey, monday.Add(time.Minute).Format(time.RFC3339)),
				),
			},
		},
		{
			name: "a failed replacement is tried again later",
			nodes: []disruption.Node{
				recommended("a", time.Minute, annotated(disruption.ReplaceAfterAnnotationKey, monday.Format(time.RFC3339))),
			},
			want: "a",
		},
		{name: "a node that leaves is not replaced", nodes: []disruption.Node{recommended("a", time.Minute, claimDeleted)}},
		{
			name: "in a pool with a fixed number of nodes too", pool: replicas,
			nodes: []disruption.Node{recommended("a", time.Minute)}, want: "a",
		},
		{
			name: "a new pod that waits holds nothing up", nodes: []disruption.Node{recommended("a", time.Minute)},
			waiting: []*corev1.Pod{waitingPod(time.Second)}, want: "a",
		},
		{name: "a departure weeks ahead waits", nodes: []disruption.Node{departing("a", 14*day)}},
		{name: "a departure within a week is prepared for", nodes: []disruption.Node{departing("a", 6*day)}, want: "a"},
		{
			name: "a departure is prepared for whatever the rebalance policy", pool: policy("Ignore"),
			nodes: []disruption.Node{departing("a", 6*day)}, want: "a",
		},
		{
			name: "departures come first, the next one first", budget: "3",
			nodes: []disruption.Node{
				recommended("a", time.Hour-time.Minute), departing("b", 5*day), departing("c", 4*day),
				recommended("d", time.Minute),
			},
			want: "c,b,a", notice: "blocking budget",
		},
		{name: "a drifted node is replaced", nodes: []disruption.Node{drifted("a", time.Minute)}, want: "a"},
		{
			name:  "drift has to stand for a while",
			nodes: []disruption.Node{drifted("a", disruption.ValidateAfter-time.Second)},
		},
		{
			name: "drifted nodes go in their order, empty ones first",
			nodes: []disruption.Node{
				drifted("a", time.Hour, occupied), drifted("b", 2*time.Hour, occupied), drifted("c", time.Minute),
			},
			want: "c,b,a",
		},
		{
			name: "announced departures go before drift", budget: "1",
			nodes: []disruption.Node{drifted("a", time.Hour), departing("b", day)}, want: "b", notice: "blocking budget",
		},
		{
			name: "a pod keeps a drifted node", nodes: []disruption.Node{drifted("a", time.Hour, protectedPod)},
			notice: "do-not-disrupt",
		},
		{
			name: "with a grace period it does not", nodes: []disruption.Node{drifted("a", time.Hour, protectedPod, graceful)},
			want: "a",
		},
		{
			name: "a pod that is not safe to evict keeps its node",
			nodes: []disruption.Node{
				drifted(
					"a", time.Hour,
					with(
						&corev1.Pod{
							ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{api.SafeToEvictAnnotationKey: "false"}},
						},
					),
				),
			},
			notice: "safe-to-evict",
		},
		{
			name:  "a person keeps a node",
			nodes: []disruption.Node{drifted("a", time.Hour, onNode(api.DoNotDisruptAnnotationKey, "true"))},
		},
		{
			name:  "a person keeps a node for a while",
			nodes: []disruption.Node{drifted("a", time.Hour, onNode(api.DoNotDisruptAnnotationKey, "2h"))},
		},
		{
			name:  "a node whose protection has ended is replaced",
			nodes: []disruption.Node{drifted("a", time.Hour, onNode(api.DoNotDisruptAnnotationKey, "30m"))}, want: "a",
		},
		{
			name:  "a person keeps a node from cluster-autoscaler",
			nodes: []disruption.Node{drifted("a", time.Hour, onNode(api.ScaleDownDisabledAnnotationKey, "true"))},
		},
		{
			name:  "a node that has just become ready is left alone",
			nodes: []disruption.Node{drifted("a", time.Hour, readyFor(30*time.Second-time.Second))},
		},
		{name: "lifecycle ends expired nodes of other pools", nodes: []disruption.Node{node("a", 0, expires(time.Minute))}},
		{
			name: "within budgets it is replaced", pool: within("true"),
			nodes: []disruption.Node{node("a", 0, expires(time.Minute))}, want: "a",
		},
		{
			name: "within a budget of none it stays", budget: "0", pool: within("true"),
			nodes: []disruption.Node{node("a", 0, expires(time.Minute))}, notice: "blocking budget",
		},
		{
			name: "one that has not expired stays", pool: within("true"),
			nodes: []disruption.Node{node("a", 0, expires(2*time.Hour))},
		},
		{
			name: "an unknown annotation counts as true, and a notice says so", pool: within("yes"),
			nodes: []disruption.Node{node("a", 0, expires(time.Minute))}, want: "a", notice: "write \"true\" or \"false\"",
		},
		{
			name:  "a capacity block is used to its end",
			nodes: []disruption.Node{departing("a", 2*time.Hour, annotated(disruption.DepartsBecauseAnnotationKey, "cr-1"))},
		},
		{name: "an unhealthy node is replaced", nodes: healthy(4, sick("a", time.Hour)), want: "a"},
		{name: "an unhealthy node is tolerated", nodes: healthy(4, sick("a", 10*time.Minute))},
		{
			name:  "what protects a node and its pods does not protect an unhealthy node",
			nodes: healthy(4, sick("a", time.Hour, protectedPod, onNode(api.DoNotDisruptAnnotationKey, "true"))), want: "a",
		},
		{
			name:   "a person keeps an unhealthy node",
			nodes:  healthy(4, sick("a", time.Hour, onNode(api.DoNotRepairAnnotationKey, "true"))),
			notice: "The node is unhealthy, and has the annotation karpenter.sh/do-not-repair",
		},
		{
			name: "no budget allows a repair", budget: "0", nodes: healthy(4, sick("a", time.Hour)),
			notice: "No allowed disruptions for disruption reason Unhealthy",
		},
		{
			name: "unhealthy nodes do not count against their repair", budget: "1",
			nodes: healthy(9, sick("b", time.Hour), sick("a", 2*time.Hour)), want: "a",
			notice: "No allowed disruptions for disruption reason Unhealthy",
		},
		{
			name: "they count against every other reason", budget: "1",
			nodes:  healthy(4, sick("a", time.Minute), drifted("b", time.Minute)),
			notice: "No allowed disruptions for disruption reason Drifted",
		},
		{name: "too many nodes are unhealthy", nodes: healthy(1, sick("a", time.Hour), sick("b", time.Hour))},
		{
			name: "no replacement waits for a pod that waits", nodes: healthy(4, sick("a", time.Hour), drifted("b", time.Minute)),
			waiting: []*corev1.Pod{waitingPod(time.Second)}, want: "a,b",
		},
		{
			name: "a repair waits after it has failed",
			nodes: healthy(4, sick("a", time.Hour,
				annotated(disruption.ReplaceAfterAnnotationKey, monday.Add(time.Minute).Format(time.RFC3339)))),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			budget := test.budget
			if budget == "" {
				budget = "100%"
			}
			p := pool("default", "0s", budget)
			if test.pool != nil {
				test.pool(&p)
			}
			chosen, notices := disruption.Candidates(
				&disruption.Cluster{Pools: []api.NodePool{p}, Nodes: test.nodes, Waiting: test.waiting},
				monday,
			)
			var got []*disruption.Node
			for _, candidate := range chosen {
				got = append(got, candidate.Node)
			}
			if names(got) != test.want {
				t.Errorf("chose %q, want %q", names(got), test.want)
			}
			told := ""
			for _, notice := range notices {
				told += notice.Message
			}
			if !strings.Contains(told, test.notice) || test.notice == "" && told != "" {
				t.Errorf("told %q, want %q", told, test.notice)
			}
		})
	}
}

func TestMoves(t *testing.T) {
	podOf := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	ref := func(names ...string) (refs []plan.PodRef) {
		for _, name := range names {
			refs = append(refs, plan.PodRef{Name: name, UID: name})
		}
		return refs
	}
	planned := func(pods ...string) plan.PlannedNodeClaim {
		return plan.PlannedNodeClaim{
			NodeClaim: api.NodeClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "default-"}},
			Pods:      ref(pods...),
		}
	}
	a, b, c := recommended(
		"a",
		time.Minute,
		with(podOf("a1"), podOf("a2")),
	), recommended(
		"b",
		time.Minute,
		with(podOf("b1")),
	), recommended(
		"c",
		time.Minute,
		with(podOf("c1")),
	)
	candidates := []disruption.Candidate{
		{Node: &a, Reason: disruption.ReasonRebalance},
		{Node: &b, Reason: disruption.ReasonRebalance},
		{Node: &c, Reason: disruption.ReasonRebalance},
	}
	decided := &plan.Plan{
		NodeClaims: []plan.PlannedNodeClaim{planned("a1", "b1"), planned("other"), planned("c1")},
		Nominations: []plan.Nomination{
			{Pod: ref("a2")[0], NodeClaimName: "onitsway"},
			{Pod: ref("b1")[0], NodeName: "there", NodeClaimName: "there"},
			{Pod: ref("b1")[0], NodeName: "joined", NodeClaimName: "joined"},
			{Pod: ref("b1")[0], NodeName: "foreign"},
		},
		Unplaced: []plan.Unplaced{{Pod: ref("c1")[0], Reasons: []plan.Reason{{Message: "too large"}}}},
	}
	cluster := &disruption.Cluster{Nodes: []disruption.Node{a, b, c, node("there", 0), node("joined", 0, booting)}}
	moves := cluster.Moves(candidates, decided, monday)
	if len(moves.Begin) != 2 || len(moves.Create) != 1 || len(moves.Stay) != 1 || moves.Stay[0].Node != &c ||
		!strings.Contains(moves.Stay[0].Message, "too large") {
		t.Fatalf("moves %+v", moves)
	}
	created := moves.Create[0].Claim
	if created.GenerateName != "" || !strings.HasPrefix(created.Name, "default-") ||
		created.Annotations[disruption.ReplacesAnnotationKey] != "a,b" ||
		created.Annotations[api.AttemptAnnotationKey] != "1" {
		t.Errorf("creates %+v", created.ObjectMeta)
	}
	if got := strings.Join(moves.Begin[0].By, ","); got != created.Name+",onitsway" {
		t.Errorf("a is replaced by %q", got)
	}
	if got := strings.Join(moves.Begin[1].By, ","); got != created.Name+",joined" {
		t.Errorf("b is replaced by %q", got)
	}
	again := cluster.Moves(candidates, decided, monday.Add(time.Second))
	if again.Create[0].Claim.Name == created.Name {
		t.Error("another attempt takes the same name")
	}
}

// TestOnlyAClosedBudgetIsToldOf has the budgets that Karpenter tells of, and those that it does not.
func TestOnlyAClosedBudgetIsToldOf(t *testing.T) {
	replaced := node("r", 0, annotated(disruption.ReplacedByAnnotationKey, "x"), begunAgo(time.Minute))
	for _, test := range []struct {
		name, budget string
		nodes        []disruption.Node
		want         string // the notice of the pool
		passing      bool
	}{
		{"none is allowed", "0", []disruption.Node{drifted("a", time.Hour)}, "due to blocking budget", false},
		{"a leaving node uses it up", "1", []disruption.Node{drifted("a", time.Hour), replaced}, "leaving", true},
		{"the first one uses it up", "1",
			[]disruption.Node{drifted("a", time.Hour), drifted("b", time.Hour)}, "leaving", true},
		{"a node that is not ready uses it up", "1",
			healthy(2, sick("a", time.Minute), drifted("b", time.Hour)), ": 1 nodes that are not ready use it up", false},
		{"nothing is readable", "some", []disruption.Node{drifted("a", time.Hour)}, "nodes is", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &disruption.Cluster{Nodes: test.nodes, Pools: []api.NodePool{pool("default", "0s", test.budget)}}
			_, notices := disruption.Candidates(s, monday)
			if len(notices) != 1 || notices[0].Pool == nil {
				t.Fatalf("notices %v, want one of the pool", notices)
			}
			got := notices[0]
			toMend := test.want == "nodes is"
			if !strings.Contains(got.Message, test.want) || got.Passing != test.passing || got.Mend != toMend {
				t.Errorf("%q, passing %t, to mend %t", got.Message, got.Passing, got.Mend)
			}
		})
	}
}
