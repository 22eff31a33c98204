package consolidation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

var now = consolidationtest.Now

// someTypes are real instance types of the families c, m and r: one of so many, and those that
// fleets name.
func someTypes(t testing.TB, every int) []catalog.InstanceType {
	types := catalog.Resolve(
		catalogtest.Catalog(t),
		catalogtest.NodeClass("default"),
		catalog.Observed{},
		catalogtest.Now,
	)
	i := 0
	return slices.DeleteFunc(types, func(t catalog.InstanceType) bool {
		category := t.Requirements[api.LabelInstanceCategory]
		usual := !t.Exotic && (category.Has("c") || category.Has("m") || category.Has("r"))
		if !usual || !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.Available }) {
			return true
		}
		i++
		return i%every != 0 &&
			!slices.Contains(
				[]string{"m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge", "c5.2xlarge", "r5.xlarge", "m6i.2xlarge"},
				t.Name,
			)
	})
}

// cluster has a pool of the capacity types and no nodes.
func cluster(types []catalog.InstanceType, capacityTypes ...string) *plan.Snapshot {
	pool := consolidationtest.Pool("default", capacityTypes...)
	return &plan.Snapshot{
		NodePools: []api.NodePool{pool}, NodeClasses: []api.EC2NodeClass{*catalogtest.NodeClass("default")},
		InstanceTypes: map[string][]catalog.InstanceType{pool.Name: types},
	}
}

// addNode adds a node of the type in the first zone that has the capacity type. Its pods request so
// many thousandths of a core and as many MiB, and have run for a day.
func addNode(t testing.TB, s *plan.Snapshot, name, typeName, capacityType string, pods ...int64) *plan.Node {
	t.Helper()
	types := s.InstanceTypes["default"]
	i := slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == typeName })
	if i < 0 {
		t.Fatalf("no instance type %s", typeName)
	}
	j := slices.IndexFunc(types[i].Offerings, func(o catalog.Offering) bool { return o.CapacityType == capacityType })
	node := consolidationtest.Node(name, "default", &types[i], &types[i].Offerings[j], now.Add(-24*time.Hour))
	for n, cpu := range pods {
		pod := consolidationtest.Pod(fmt.Sprintf("%s-pod-%d", name, n), cpu, cpu<<20, "web")
		pod.Spec.NodeName = name
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: now.Add(-23 * time.Hour)}}
		node.Pods = append(node.Pods, pod)
	}
	s.Nodes = append(s.Nodes, node)
	return &s.Nodes[len(s.Nodes)-1]
}

func solve(s *plan.Snapshot) *consolidation.Plan {
	return consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
}

// stayOf is the plan's reason why the node stays.
func stayOf(t testing.TB, p *consolidation.Plan, name string) consolidation.Stay {
	t.Helper()
	for _, stay := range p.Stays {
		if stay.Node == name || stay.NodeClaim == name {
			return stay
		}
	}
	t.Fatalf("%s does not stay: %+v", name, p)
	return consolidation.Stay{}
}

// solveAt is solve at another time.
func solveAt(s *plan.Snapshot, at time.Time) *consolidation.Plan {
	return consolidation.Solve(&consolidation.Input{Cluster: s, Now: at})
}
