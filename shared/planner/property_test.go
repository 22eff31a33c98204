package planner_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"

	appsv1 "k8s.io/api/apps/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// randomSnapshot returns a snapshot of pools with taints, weights, labels and limits, of daemon
// sets, and of pods with many kinds of selectors.
func randomSnapshot(t *testing.T, random *rand.Rand) *plan.Snapshot {
	oneOf := func(values ...string) string { return values[random.IntN(len(values))] }
	chance := func(percent int) bool { return random.IntN(100) < percent }
	var pools []api.NodePool
	for i := range 1 + random.IntN(4) {
		pool := newPool(fmt.Sprintf("pool-%d", i))
		if chance(50) {
			require(corev1.LabelArchStable, corev1.NodeSelectorOpIn, oneOf(api.ArchitectureAmd64, api.ArchitectureArm64))(&pool)
		}
		if chance(50) {
			require(api.LabelInstanceCategory, corev1.NodeSelectorOpIn, "c", "m", "r")(&pool)
		}
		if chance(50) {
			require(
				api.CapacityTypeLabelKey,
				corev1.NodeSelectorOpIn,
				oneOf(api.CapacityTypeSpot, api.CapacityTypeOnDemand),
			)(
				&pool,
			)
		}
		if chance(40) {
			require("team", corev1.NodeSelectorOpIn, "red", "blue")(&pool)
		}
		if chance(30) {
			pool.Spec.Template.Spec.Taints = []corev1.Taint{
				{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule},
			}
		}
		if chance(30) {
			weight := int32(1 + random.IntN(3))
			pool.Spec.Weight = &weight
		}
		if chance(30) {
			pool.Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(oneOf("8", "40", "200"))}
		}
		if chance(20) {
			pool.Spec.Limits = api.Limits{api.ResourceNodes: resource.MustParse(oneOf("0", "2", "5"))}
		}
		pools = append(pools, pool)
	}
	s := realSnapshot(t, pools...)
	// Each snapshot offers about a quarter of the types.
	var types []catalog.InstanceType
	for _, typ := range s.InstanceTypes[s.NodePools[0].Name] {
		if chance(25) {
			types = append(types, typ)
		}
	}
	for name := range s.InstanceTypes {
		s.InstanceTypes[name] = types
	}
	if chance(70) {
		daemon := appsv1.DaemonSet{}
		daemon.Namespace, daemon.Name, daemon.UID = "kube-system", "agent", "uid-agent"
		daemon.Spec.Template.Spec = newPod("agent", oneOf("50m", "150m"), oneOf("64Mi", "256Mi")).Spec
		if chance(50) {
			daemon.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		if chance(30) {
			daemon.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: api.ArchitectureAmd64}
		}
		s.DaemonSets = []appsv1.DaemonSet{daemon}
	}
	for i := range random.IntN(20) {
		s.Nodes = append(s.Nodes, randomNode(random, i, types))
	}
	for group := range 1 + random.IntN(15) {
		var changes []func(*corev1.Pod)
		if chance(40) {
			key := oneOf(
				corev1.LabelTopologyZone,
				corev1.LabelArchStable,
				api.CapacityTypeLabelKey,
				"team",
				api.NodePoolLabelKey,
			)
			value := map[string]string{
				corev1.LabelTopologyZone: oneOf("us-east-1a", "us-east-1b"),
				corev1.LabelArchStable:   oneOf(api.ArchitectureAmd64, api.ArchitectureArm64),
				api.CapacityTypeLabelKey: oneOf(api.CapacityTypeSpot, api.CapacityTypeOnDemand),
				"team":                   oneOf("red", "blue", "green"), api.NodePoolLabelKey: "pool-0",
			}[key]
			changes = append(changes, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} })
		}
		if chance(30) {
			changes = append(changes, func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			})
		}
		if chance(30) {
			terms := []corev1.NodeSelectorTerm{
				{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: api.LabelInstanceCPU, Operator: corev1.NodeSelectorOpGt, Values: []string{oneOf("3", "7", "400")}},
					},
				},
				{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: api.LabelInstanceCategory, Operator: corev1.NodeSelectorOpNotIn, Values: []string{oneOf("c", "m")}},
					{Key: "team", Operator: corev1.NodeSelectorOperator(oneOf("DoesNotExist", "Exists"))},
				}},
			}
			terms = terms[:1+random.IntN(2)]
			changes = append(changes, func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{
					NodeAffinity: &corev1.NodeAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
					},
				}
			})
		}
		cpu, memory := oneOf("100m", "250m", "1", "3", "7", "30", "500"), oneOf("64Mi", "512Mi", "2Gi", "10Gi", "50Gi")
		for i := range 1 + random.IntN(30) {
			s.Pods = append(s.Pods, newPod(fmt.Sprintf("pod-%d-%d", group, i), cpu, memory, changes...))
		}
	}
	return s
}

func randomNode(random *rand.Rand, i int, types []catalog.InstanceType) plan.Node {
	typ := &types[random.IntN(len(types))]
	node := &corev1.Node{}
	node.Name = fmt.Sprintf("node-%02d", i)
	node.Labels = typ.Requirements.Labels()
	node.Labels[corev1.LabelTopologyZone] = typ.Offerings[0].Zone
	node.Labels[api.CapacityTypeLabelKey] = typ.Offerings[0].CapacityType
	node.Labels[corev1.LabelHostname] = node.Name
	node.Status.Allocatable, node.Status.Capacity = typ.Allocatable, typ.Capacity
	if random.IntN(4) == 0 {
		node.Spec.Taints = []corev1.Taint{{Key: api.DisruptedTaintKey, Effect: corev1.TaintEffectNoSchedule}}
	}
	running := newPod(fmt.Sprintf("running-%d", i), "500m", "500Mi")
	running.Spec.NodeName = node.Name
	return plan.Node{Node: node, Pods: []corev1.Pod{running}}
}

// TestRandomSnapshots checks the plans for random snapshots with real instance types.
func TestRandomSnapshots(t *testing.T) {
	for seed := range plantest.Seeds(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			s := randomSnapshot(t, random)
			solved := planner.Solve(s)
			verify(t, s, solved)
			verifyNothingLeftOut(t, s, solved)
			verifyOrderIndependent(t, random, s, solved)
			verifyRoundTrip(t, s, solved)
		})
	}
}

// verifyNothingLeftOut checks that an unplaced pod would get no new node if it were alone either.
// It skips snapshots with limits, because other pods may use them up.
func verifyNothingLeftOut(t *testing.T, s *plan.Snapshot, solved *plan.Plan) {
	t.Helper()
	limited := false
	for i := range s.NodePools {
		limited = limited || len(s.NodePools[i].Spec.Limits) > 0
	}
	if limited {
		return
	}
	for _, u := range solved.Unplaced {
		alone := *s
		alone.Pods = nil
		for i := range s.Pods {
			if plan.RefOf(&s.Pods[i]) == u.Pod {
				alone.Pods = s.Pods[i : i+1]
			}
		}
		alone.Nodes = nil
		if again := planner.Solve(&alone); len(again.NodeClaims) > 0 {
			t.Errorf(
				"%s has a place on a new %s when it is alone, and none in the plan: %v",
				u.Pod,
				again.NodeClaims[0].InstanceTypes[0],
				u.Reasons,
			)
		}
	}
}

func verifyOrderIndependent(t *testing.T, random *rand.Rand, s *plan.Snapshot, solved *plan.Plan) {
	t.Helper()
	shuffled := *s
	shuffled.Pods = append([]corev1.Pod(nil), s.Pods...)
	shuffled.Nodes = append([]plan.Node(nil), s.Nodes...)
	shuffled.NodePools = append([]api.NodePool(nil), s.NodePools...)
	random.Shuffle(
		len(shuffled.Pods),
		func(i, j int) { shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i] },
	)
	random.Shuffle(
		len(shuffled.Nodes),
		func(i, j int) { shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i] },
	)
	random.Shuffle(len(shuffled.NodePools), func(i, j int) {
		shuffled.NodePools[i], shuffled.NodePools[j] = shuffled.NodePools[j], shuffled.NodePools[i]
	})
	types := append([]catalog.InstanceType(nil), s.InstanceTypes[s.NodePools[0].Name]...)
	random.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
	shuffled.InstanceTypes = map[string][]catalog.InstanceType{}
	for name := range s.InstanceTypes {
		shuffled.InstanceTypes[name] = types
	}
	if again := planner.Solve(&shuffled); asJSON(t, again) != asJSON(t, solved) {
		t.Errorf("another order of the input gives another plan:\n%s\n%s", asJSON(t, solved), asJSON(t, again))
	}
}

func verifyRoundTrip(t *testing.T, s *plan.Snapshot, solved *plan.Plan) {
	t.Helper()
	var read plan.Snapshot
	if err := json.Unmarshal([]byte(asJSON(t, s)), &read); err != nil {
		t.Fatal(err)
	}
	if again := planner.Solve(&read); asJSON(t, again) != asJSON(t, solved) {
		t.Errorf("the snapshot read back from JSON gives another plan")
	}
	var readPlan plan.Plan
	if err := json.Unmarshal([]byte(asJSON(t, solved)), &readPlan); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(asJSON(t, &readPlan), asJSON(t, solved)) {
		t.Errorf("the plan read back from JSON is another")
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
