package workload

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestInstanceTypes(t *testing.T) {
	types, err := InstanceTypes()
	if err != nil {
		t.Fatal(err)
	}
	if len(types) < minimumTypes {
		t.Errorf("%d types", len(types))
	}
	for i := range types {
		if category, _ := types[i].Requirements[api.LabelInstanceCategory].Single(); types[i].Exotic ||
			!strings.Contains("cmr", category) {
			t.Errorf("%s is of category %q, exotic %t", types[i].Name, category, types[i].Exotic)
		}
	}
}

func TestSnapshots(t *testing.T) {
	types, err := InstanceTypes()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range All() {
		for _, capacityTypes := range CapacityTypes() {
			t.Run(w.Name+" "+strings.Join(capacityTypes, " "), func(t *testing.T) {
				s := w.Snapshot(103, capacityTypes, types)
				if len(s.Pods) != 103 {
					t.Errorf("%d pods", len(s.Pods))
				}
				if !reflect.DeepEqual(s, w.Snapshot(103, capacityTypes, types)) {
					t.Error("a second snapshot differs")
				}
				seen := map[string]bool{}
				for i := range s.Pods {
					for _, id := range []string{s.Pods[i].Name, string(s.Pods[i].UID)} {
						if seen[id] {
							t.Errorf("%s comes twice", id)
						}
						seen[id] = true
					}
				}
				for i := range s.NodePools {
					if len(s.InstanceTypes[s.NodePools[i].Name]) != len(types) {
						t.Errorf("nodepool %q has %d types", s.NodePools[i].Name, len(s.InstanceTypes[s.NodePools[i].Name]))
					}
				}
			})
		}
	}
}

func TestExistingNodes(t *testing.T) {
	types, err := InstanceTypes()
	if err != nil {
		t.Fatal(err)
	}
	s := existingNodes(10, CapacityTypes()[0], types)
	joined, running := 0, 0
	for _, n := range s.Nodes {
		if n.NodeClaim == nil {
			t.Fatal("a node without a claim")
		}
		if n.Node != nil {
			joined++
			running += len(n.Pods)
		} else if len(n.Pods) > 0 {
			t.Errorf("%s runs pods before it has joined", n.NodeClaim.Name)
		}
	}
	if len(s.Nodes) != 48 || joined != 40 || running < joined {
		t.Errorf("%d nodes, %d joined, with %d pods", len(s.Nodes), joined, running)
	}
}

func TestDiverseIsAFifthOfEachKind(t *testing.T) {
	kinds := map[string]int{}
	for _, pod := range diverse(500) {
		kind := "generic"
		switch {
		case len(pod.Spec.TopologySpreadConstraints) > 0:
			kind = pod.Spec.TopologySpreadConstraints[0].TopologyKey
		case pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAffinity != nil:
			kind = "affinity"
		case pod.Spec.Affinity != nil:
			kind = "anti-affinity"
		}
		kinds[kind]++
	}
	for _, kind := range []string{"generic", corev1.LabelTopologyZone, corev1.LabelHostname, "affinity", "anti-affinity"} {
		if kinds[kind] != 100 {
			t.Errorf("%d pods of kind %s", kinds[kind], kind)
		}
	}
}

func TestDeploymentsHaveTheirReplicas(t *testing.T) {
	const count = 2000
	replicas := map[string]int{}
	sizes := map[string]bool{}
	for _, pod := range deployments(count) {
		replicas[pod.Labels["app"]]++
		sizes[pod.Spec.Containers[0].Resources.Requests.Cpu().String()+pod.Spec.Containers[0].Resources.Requests.Memory().String()] = true
	}
	small := 0
	for app, n := range replicas {
		if n > 200 {
			t.Errorf("%s has %d replicas", app, n)
		}
		if n < 10 {
			small++
		}
	}
	if small > 1 || len(sizes) < len(replicas)/2 {
		t.Errorf("%d deployments of %d sizes, %d cut short", len(replicas), len(sizes), small)
	}
}

func TestBatchPodsAllDiffer(t *testing.T) {
	const count = 5000
	seen := map[[2]int64]bool{}
	var cpus []int64
	for _, pod := range batch(count) {
		list := pod.Spec.Containers[0].Resources.Requests
		seen[[2]int64{list.Cpu().MilliValue(), list.Memory().Value()}] = true
		cpus = append(cpus, list.Cpu().MilliValue())
	}
	slices.Sort(cpus)
	if len(seen) != count {
		t.Errorf("%d sizes", len(seen))
	}
	// Of a log-normal distribution with a standard deviation of 1 about one in six is above e times
	// the median.
	if median, sixth := cpus[count/2], cpus[count*5/6]; median < 470 || median > 530 || sixth < 2*median ||
		sixth > 3*median {
		t.Errorf("median %d, five sixths below %d", median, sixth)
	}
}
