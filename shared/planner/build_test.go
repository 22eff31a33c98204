package planner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/topology"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

// newPod returns a pod that requests cpu and memory, with the changes applied.
func newPod(name, cpu, memory string, change ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default",
			Name:      name,
			UID:       types.UID("uid-" + name),
			Labels:    map[string]string{},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			}},
		}}},
	}
	for _, f := range change {
		f(&pod)
	}
	return pod
}

// newPool returns a NodePool without requirements, with the changes applied.
func newPool(name string, change ...func(*api.NodePool)) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup,
		Kind:  api.EC2NodeClassKind,
		Name:  "default",
	}
	for _, f := range change {
		f(&pool)
	}
	return pool
}

func require(key string, operator corev1.NodeSelectorOperator, values ...string) func(*api.NodePool) {
	return func(p *api.NodePool) {
		p.Spec.Template.Spec.Requirements = append(
			p.Spec.Template.Spec.Requirements,
			api.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values},
		)
	}
}

func limited(name corev1.ResourceName, most string) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Spec.Limits = api.Limits{name: resource.MustParse(most)} }
}

// realSnapshot returns a snapshot in which the pools offer all real instance types.
func realSnapshot(t testing.TB, pools ...api.NodePool) *plan.Snapshot {
	class := catalogtest.NodeClass("default")
	types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, catalogtest.Now)
	s := &plan.Snapshot{
		NodePools:     pools,
		NodeClasses:   []api.EC2NodeClass{*class},
		InstanceTypes: map[string][]catalog.InstanceType{},
	}
	for i := range pools {
		s.InstanceTypes[pools[i].Name] = types
	}
	return s
}

// manyPods returns pods of several random sizes, the same for the same seed.
func manyPods(pods, groups int, seed uint64) []corev1.Pod {
	random := rand.New(rand.NewPCG(seed, 0))
	var sizes [][2]string
	for range groups {
		cpu := 100 + 50*random.IntN(60)
		sizes = append(sizes, [2]string{fmt.Sprintf("%dm", cpu), fmt.Sprintf("%dMi", cpu*(1+random.IntN(8)))})
	}
	var result []corev1.Pod
	for i := range pods {
		size := sizes[i%groups]
		result = append(result, newPod(fmt.Sprintf("pod-%05d", i), size[0], size[1]))
	}
	return result
}

// stages holds the results of the stages before packing, for tests of the later stages.
type stages struct {
	work   *workload.Workload
	offers *offering.Index
	state  *placement.State
	domain *topology.Topology
}

func read(s *plan.Snapshot) *stages {
	work := workload.Read(s)
	offers := offering.Build(work, nil)
	state := placement.New(work, offers)
	return &stages{work: work, offers: offers, state: state, domain: topology.New(work, offers, state)}
}
