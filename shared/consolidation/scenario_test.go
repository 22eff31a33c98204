package consolidation_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
)

// scenario is a file of testdata: a fleet, and the moves and stays that are wanted for it.
type scenario struct {
	Description string `json:"description"`
	// InstanceTypes are those on offer, at their real sizes and prices. None means all.
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// Unavailable are offerings that EC2 has no capacity for: capacityType:instanceType:zone.
	Unavailable []string       `json:"unavailable,omitempty"`
	NodePools   []api.NodePool `json:"nodePools"`
	Nodes       []scenarioNode `json:"nodes"`
	// Pending are pods without a node.
	Pending []scenarioPods                 `json:"pending,omitempty"`
	PDBs    []policyv1.PodDisruptionBudget `json:"pdbs,omitempty"`
	// Budgets says that the NodePools' disruption budgets count. Without it nothing limits the
	// moves.
	Budgets bool `json:"budgets,omitempty"`
	// Want is the plan in words: a line for each move, stay and problem.
	Want []string `json:"want"`
}

// scenarioNode is a node with its claim. Ages are relative to the time of the scenario.
type scenarioNode struct {
	Name         string `json:"name"`
	Pool         string `json:"pool,omitempty"` // the first NodePool if empty
	InstanceType string `json:"instanceType"`
	CapacityType string `json:"capacityType,omitempty"` // on-demand if empty
	Zone         string `json:"zone,omitempty"`         // the first zone that has the type if empty
	// InitializedAgo is when the node became ready for pods. A day if empty.
	InitializedAgo metav1.Duration `json:"initializedAgo,omitempty"`
	// Annotations are the Node's, ClaimAnnotations the NodeClaim's.
	Annotations      map[string]string `json:"annotations,omitempty"`
	ClaimAnnotations map[string]string `json:"claimAnnotations,omitempty"`
	// Deleted says that somebody deleted the claim.
	Deleted bool           `json:"deleted,omitempty"`
	Pods    []scenarioPods `json:"pods,omitempty"`
}

// scenarioPods are a number of equal pods of a ReplicaSet.
type scenarioPods struct {
	Name   string            `json:"name"`
	Count  int               `json:"count,omitempty"`
	CPU    resource.Quantity `json:"cpu"`
	Memory resource.Quantity `json:"memory"`
	// StartedAgo is when the pods came to their node. Half a day if empty.
	StartedAgo metav1.Duration `json:"startedAgo,omitempty"`
	// Pod has further metadata and spec.
	Pod corev1.Pod `json:"pod,omitempty"`
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var scenario scenario
			if err := yaml.UnmarshalStrict(text, &scenario); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			s := scenario.snapshot(t)
			p := consolidation.Solve(s)
			carryOut(t, s.Cluster, p.Moves, "scenario", now)
			checkMovesAgain(t, s, p)
			got := describe(p)
			if *update {
				before, _, _ := strings.Cut(string(text), "\nwant:")
				lines := "- " + strings.Join(quoted(got), "\n- ")
				if err := os.WriteFile(file, []byte(before+"\nwant:\n"+lines+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !slices.Equal(got, scenario.Want) {
				t.Errorf("%s\ngot:\n- %s\nwant:\n- %s", scenario.Description,
					strings.Join(got, "\n- "), strings.Join(scenario.Want, "\n- "))
			}
		})
	}
}

// checkMovesAgain checks that Check accepts the first move on the same snapshot.
func checkMovesAgain(t *testing.T, s *consolidation.Input, p *consolidation.Plan) {
	t.Helper()
	if len(p.Moves) == 0 {
		return
	}
	var claims []string
	for _, leaving := range p.Moves[0].Delete {
		claims = append(claims, leaving.NodeClaim)
	}
	if _, err := consolidation.Check(s, claims); err != nil {
		t.Errorf("Check refuses the first move: %v", err)
	}
}

func (c *scenario) snapshot(t *testing.T) *consolidation.Input {
	t.Helper()
	facts := catalogtest.Catalog(t)
	if len(c.InstanceTypes) > 0 {
		facts.InstanceTypes = slices.DeleteFunc(facts.InstanceTypes, func(i catalog.InstanceTypeInfo) bool {
			return !slices.Contains(c.InstanceTypes, i.InstanceType)
		})
	}
	unavailable := &catalog.Unavailable{}
	for _, key := range c.Unavailable {
		capacityType, instanceType, zone, err := catalog.ParseOfferingKey(key)
		if err != nil {
			t.Fatal(err)
		}
		unavailable.Mark(capacityType, instanceType, zone, catalogtest.Now)
	}
	class := catalogtest.NodeClass("default")
	resolved := catalog.Resolve(facts, class, catalog.Observed{Unavailable: unavailable}, catalogtest.Now)
	cluster := &plan.Snapshot{
		NodePools: c.NodePools, NodeClasses: []api.EC2NodeClass{*class}, InstanceTypes: map[string][]catalog.InstanceType{},
	}
	for i := range cluster.NodePools {
		pool := &cluster.NodePools[i]
		pool.UID = types.UID("uid-" + pool.Name)
		pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
			Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: class.Name,
		}
		pool.Default()
		cluster.InstanceTypes[pool.Name] = resolved
	}
	for i := range c.Nodes {
		cluster.Nodes = append(cluster.Nodes, c.Nodes[i].node(t, cluster))
	}
	for i := range c.Pending {
		for _, pod := range c.Pending[i].pods("pending") {
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
			cluster.Pods = append(cluster.Pods, pod)
		}
	}
	if !c.Budgets {
		return &consolidation.Input{Cluster: cluster, Budgets: c.PDBs, Now: now}
	}
	seen := &disruption.Cluster{Pools: cluster.NodePools, Budgets: c.PDBs}
	for i := range cluster.Nodes {
		seen.Nodes = append(seen.Nodes, disruption.Node{Claim: cluster.Nodes[i].NodeClaim, Node: cluster.Nodes[i].Node})
	}
	return consolidation.Of(cluster, seen, now)
}

func (n *scenarioNode) node(t *testing.T, cluster *plan.Snapshot) plan.Node {
	t.Helper()
	pool := cmp.Or(n.Pool, cluster.NodePools[0].Name)
	typ, offering := n.offering(t, cluster.InstanceTypes[pool])
	ago := cmp.Or(n.InitializedAgo.Duration, 24*time.Hour)
	node := consolidationtest.Node(n.Name, pool, typ, offering, now.Add(-ago))
	node.Node.Annotations, node.NodeClaim.Annotations = n.Annotations, n.ClaimAnnotations
	if n.Deleted {
		node.NodeClaim.DeletionTimestamp = &metav1.Time{Time: now}
	}
	for i := range n.Pods {
		node.Pods = append(node.Pods, n.Pods[i].pods(n.Name)...)
	}
	for i := range node.Pods {
		node.Pods[i].Spec.NodeName = n.Name
	}
	return node
}

func (n *scenarioNode) offering(t *testing.T, list []catalog.InstanceType) (*catalog.InstanceType, *catalog.Offering) {
	t.Helper()
	for i := range list {
		for j := range list[i].Offerings {
			o := &list[i].Offerings[j]
			if list[i].Name == n.InstanceType && o.CapacityType == cmp.Or(n.CapacityType, api.CapacityTypeOnDemand) &&
				(n.Zone == "" || o.Zone == n.Zone) {
				return &list[i], o
			}
		}
	}
	t.Fatalf("node %s: no such offering", n.Name)
	return nil, nil
}

// pods are the pods, named after the place that they are in.
func (p *scenarioPods) pods(place string) []corev1.Pod {
	var pods []corev1.Pod
	for i := range max(p.Count, 1) {
		name := fmt.Sprintf("%s-%s-%d", p.Name, place, i)
		pod := consolidationtest.Pod(name, p.CPU.MilliValue(), p.Memory.Value(), p.Name)
		containers := pod.Spec.Containers
		maps.Copy(pod.Labels, p.Pod.Labels)
		pod.Annotations = p.Pod.Annotations
		if p.Pod.OwnerReferences != nil { // an empty list is no controller
			pod.OwnerReferences = p.Pod.OwnerReferences
		}
		pod.Spec = *p.Pod.Spec.DeepCopy()
		pod.Spec.Containers = containers
		started := metav1.NewTime(now.Add(-cmp.Or(p.StartedAgo.Duration, 12*time.Hour)))
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started}
		pods = append(pods, pod)
	}
	return pods
}

// describe puts the plan into words.
func describe(p *consolidation.Plan) []string {
	var lines []string
	for i := range p.Moves {
		lines = append(lines, describeMove(&p.Moves[i]))
	}
	for i := range p.Waiting {
		lines = append(lines, "waiting: "+describeMove(&p.Waiting[i]))
	}
	for _, stay := range p.Stays {
		lines = append(lines, fmt.Sprintf("%s stays, %s: %s", cmp.Or(stay.Node, stay.NodeClaim), stay.Because, stay.Message))
	}
	for _, problem := range p.Problems {
		lines = append(lines, fmt.Sprintf("problem of %s: %s", problem.NodePool, problem.Message))
	}
	return lines
}

func describeMove(m *consolidation.Move) string {
	var deleted []string
	for _, leaving := range m.Delete {
		deleted = append(deleted, fmt.Sprintf("%s (%s %s $%.4f/h)",
			leaving.Node, leaving.CapacityType, leaving.InstanceType, leaving.PricePerHour))
	}
	line := fmt.Sprintf("%s: delete %s", m.Reason, strings.Join(deleted, ", "))
	for i := range m.Launch {
		launch, first := &m.Launch[i], m.Launch[i].Offerings[0]
		line += fmt.Sprintf("; launch a node for %s, cheapest %s %s in %s $%.4f/h of %d types",
			podNames(launch.Pods), first.CapacityType, first.InstanceType, first.Zone, first.Price, len(launch.InstanceTypes))
	}
	places := map[string][]plan.PodRef{}
	for _, place := range m.Places {
		places[place.NodeName] = append(places[place.NodeName], place.Pod)
	}
	for _, node := range slices.Sorted(maps.Keys(places)) {
		line += fmt.Sprintf("; %s to %s", podNames(places[node]), node)
	}
	if ends := m.EndsPods(); ends != "" {
		line += "; " + ends
	}
	return line + fmt.Sprintf("; saves $%.4f/h, at least $%.4f/h", m.SavedPerHour, m.SavedAtLeast)
}

// podNames counts pods by the name that they have in the scenario.
func podNames(pods []plan.PodRef) string {
	count := map[string]int{}
	for _, pod := range pods {
		name, _, _ := strings.Cut(pod.Name, "-")
		count[name]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[name], name))
	}
	return strings.Join(parts, ", ")
}

// quoted are the lines as YAML strings.
func quoted(lines []string) []string {
	var quoted []string
	for _, line := range lines {
		quoted = append(quoted, "'"+strings.ReplaceAll(line, "'", "''")+"'")
	}
	return quoted
}
