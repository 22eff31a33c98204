package consolidationtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Fleet is a kind of cluster in which some nodes are not worth their price.
type Fleet struct {
	Name string
	// Description describes the nodes and pods in one line.
	Description string
	// Make makes it with so many nodes of the instance types, and without pending pods. The same
	// number gives the same fleet.
	Make func(nodes int, types []catalog.InstanceType) *plan.Snapshot
}

// Now is a time at which all nodes and pods of the fleets have settled.
var Now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// Fleets are the kinds in the order of tables.
func Fleets() []Fleet {
	return []Fleet{
		{
			"fragmented",
			"nodes of five common types that were full and lost half of their pods at random; " +
				"a fifth of the Deployments is spread over zones",
			func(nodes int, types []catalog.InstanceType) *plan.Snapshot {
				return build(nodes, types, usual, []string{api.CapacityTypeOnDemand}, func(r *rand.Rand) float64 { return 0.5 }, 5)
			},
		},
		{
			"random", "nodes of any type up to 16 cores, filled to between a tenth and nine tenths",
			func(nodes int, types []catalog.InstanceType) *plan.Snapshot {
				return build(
					nodes,
					types,
					any16,
					[]string{api.CapacityTypeOnDemand},
					func(r *rand.Rand) float64 { return 0.1 + 0.8*r.Float64() },
					0,
				)
			},
		},
		{
			"over-provisioned", "nodes of m5.4xlarge, filled to a quarter",
			func(nodes int, types []catalog.InstanceType) *plan.Snapshot {
				return build(
					nodes,
					types,
					func(t *catalog.InstanceType) bool { return t.Name == "m5.4xlarge" },
					[]string{api.CapacityTypeOnDemand},
					func(*rand.Rand) float64 { return 0.25 },
					0,
				)
			},
		},
		{
			"mixed",
			"half of the nodes spot, half on-demand since a shortage of spot, of any type up to 16 cores, " +
				"filled to between a third and all",
			func(nodes int, types []catalog.InstanceType) *plan.Snapshot {
				return build(
					nodes,
					types,
					any16,
					[]string{api.CapacityTypeSpot, api.CapacityTypeOnDemand},
					func(r *rand.Rand) float64 { return 0.35 + 0.65*r.Float64() },
					0,
				)
			},
		},
	}
}

func usual(t *catalog.InstanceType) bool {
	return slices.Contains([]string{"m5.xlarge", "m5.2xlarge", "c5.2xlarge", "r5.xlarge", "m6i.2xlarge"}, t.Name)
}

func any16(t *catalog.InstanceType) bool {
	cores := t.Capacity.Cpu().Value()
	return !t.Exotic && cores >= 2 && cores <= 16
}

// builder fills nodes with the replicas of Deployments.
type builder struct {
	*rand.Rand
	s    *plan.Snapshot
	apps []app
	// spread says that one of so many Deployments is spread over zones. Zero spreads none.
	spread int
}

type app struct {
	name        string
	cpu, memory int64
	spread      bool
	replicas    int
}

func build(
	nodes int,
	types []catalog.InstanceType,
	usable func(*catalog.InstanceType) bool,
	capacityTypes []string,
	filled func(*rand.Rand) float64,
	spread int,
) *plan.Snapshot {
	b := &builder{Rand: rand.New(rand.NewPCG(uint64(nodes), 0x666c656574)), spread: spread}
	pool := Pool("default", capacityTypes...)
	b.s = &plan.Snapshot{
		NodePools: []api.NodePool{pool}, NodeClasses: []api.EC2NodeClass{*catalogtest.NodeClass("default")},
		InstanceTypes: map[string][]catalog.InstanceType{pool.Name: types},
		Namespaces: []corev1.Namespace{
			{
				ObjectMeta: metav1.ObjectMeta{
					Name:   metav1.NamespaceDefault,
					Labels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceDefault},
				},
			},
		},
	}
	for i := range max(5, nodes/5) {
		cpu := int64(50 * (1 + b.IntN(24)))
		b.apps = append(
			b.apps,
			app{
				name:   fmt.Sprintf("app-%03d", i),
				cpu:    cpu,
				memory: cpu * int64(1+b.IntN(6)) << 20,
				spread: spread > 0 && i%spread == 0,
			},
		)
	}
	var chosen []*catalog.InstanceType
	for i := range types {
		if usable(&types[i]) {
			chosen = append(chosen, &types[i])
		}
	}
	for i := range nodes {
		t := chosen[b.IntN(len(chosen))]
		capacityType := capacityTypes[i%len(capacityTypes)]
		var offerings []*catalog.Offering
		for j := range t.Offerings {
			if o := &t.Offerings[j]; o.CapacityType == capacityType && o.Available {
				offerings = append(offerings, o)
			}
		}
		if len(offerings) == 0 {
			t = chosen[0]
			offerings = []*catalog.Offering{&t.Offerings[0]}
		}
		node := Node(fmt.Sprintf("node-%04d", i), pool.Name, t, offerings[b.IntN(len(offerings))], Now.Add(-24*time.Hour))
		b.fill(&node, filled(b.Rand))
		b.s.Nodes = append(b.s.Nodes, node)
	}
	return b.s
}

// fill puts pods on the node up to a part of its cpu or memory.
func (b *builder) fill(node *plan.Node, part float64) {
	allocatable := node.Node.Status.Allocatable
	cpu, memory, pods := int64(
		part*float64(allocatable.Cpu().MilliValue()),
	), int64(
		part*float64(allocatable.Memory().Value()),
	), int64(
		part*float64(allocatable.Pods().Value()),
	)
	for misses := 0; misses < 4 && pods > 0; {
		a := &b.apps[b.IntN(len(b.apps))]
		if a.cpu > cpu || a.memory > memory {
			misses++
			continue
		}
		cpu, memory, pods = cpu-a.cpu, memory-a.memory, pods-1
		pod := Pod(fmt.Sprintf("%s-%04d", a.name, a.replicas), a.cpu, a.memory, a.name)
		a.replicas++
		if a.spread {
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				TopologyKey: corev1.LabelTopologyZone, MaxSkew: 5, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}}
		}
		Bind(&pod, node.Node.Name, Now.Add(-12*time.Hour))
		node.Pods = append(node.Pods, pod)
	}
}
