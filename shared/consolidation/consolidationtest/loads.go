package consolidationtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Load is an on-demand node of the instance type, with one pod of 1 GiB for each entry of CPU, in
// thousandths of a core.
type Load struct {
	Name, InstanceType string
	CPU                []int64
}

// Cluster is a snapshot of the loads, which run for a day. Its only NodePool is named default and
// may launch on-demand nodes of m5.large, m5.xlarge and m5.4xlarge.
func Cluster(t testing.TB, loads ...Load) *plan.Snapshot {
	t.Helper()
	types := catalog.Resolve(
		catalogtest.Catalog(t), catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now,
	)
	wanted := []string{"m5.large", "m5.xlarge", "m5.4xlarge"}
	types = slices.DeleteFunc(types, func(t catalog.InstanceType) bool { return !slices.Contains(wanted, t.Name) })
	s := &plan.Snapshot{
		NodePools:     []api.NodePool{Pool("default", api.CapacityTypeOnDemand)},
		NodeClasses:   []api.EC2NodeClass{*catalogtest.NodeClass("default")},
		InstanceTypes: map[string][]catalog.InstanceType{"default": types},
	}
	onDemand := func(o catalog.Offering) bool { return o.CapacityType == api.CapacityTypeOnDemand }
	for _, l := range loads {
		typ := &types[slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == l.InstanceType })]
		offering := &typ.Offerings[slices.IndexFunc(typ.Offerings, onDemand)]
		node := Node(l.Name, "default", typ, offering, Now.Add(-24*time.Hour))
		for i, cpu := range l.CPU {
			pod := Pod(fmt.Sprintf("%s-%d", l.Name, i), cpu, 1<<30, "web")
			pod.Spec.NodeName = l.Name
			node.Pods = append(node.Pods, pod)
		}
		s.Nodes = append(s.Nodes, node)
	}
	return s
}
