package offering_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// TestVariants divides a NodePool by the values of the label team that DaemonSets tell apart.
func TestVariants(t *testing.T) {
	const in, notIn, exists, absent, gt = corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
		corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt
	is := func(operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: "team", Operator: operator, Values: values}
	}
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("t%02d", i)
	}
	for _, test := range []struct {
		name string
		pool corev1.NodeSelectorRequirement
		// daemonSets and pods each require one of these.
		daemonSets, pods []corev1.NodeSelectorRequirement
		// want has each variant's requirement, with how many DaemonSets run on its nodes.
		want []string
	}{
		{name: "no daemon set asks", pool: is(exists), pods: []corev1.NodeSelectorRequirement{is(in, "red")},
			want: []string{"team Exists: 0"}},
		{name: "a pod chooses the value", pool: is(exists),
			daemonSets: []corev1.NodeSelectorRequirement{is(in, "red")},
			pods:       []corev1.NodeSelectorRequirement{is(in, "red"), is(in, "blue")},
			want:       []string{"team Exists and NotIn [red]: 0", "team In [red]: 1"}},
		{name: "no pod asks for the value", pool: is(exists),
			daemonSets: []corev1.NodeSelectorRequirement{is(in, "red")},
			pods:       []corev1.NodeSelectorRequirement{is(in, "blue"), is(notIn, "green"), is(exists)},
			want:       []string{"team Exists and NotIn [red]: 0"}},
		{name: "the pool lists the values", pool: is(in, "red", "blue", "green"),
			daemonSets: []corev1.NodeSelectorRequirement{is(in, "red"), is(notIn, "blue")},
			want:       []string{"team In [blue]: 0", "team In [green]: 1", "team In [red]: 2"}},
		{name: "nodes may lack the label", pool: is(notIn, "old"),
			daemonSets: []corev1.NodeSelectorRequirement{is(exists)},
			want:       []string{"team DoesNotExist: 0", "team Exists and NotIn [old]: 1"}},
		{name: "it lacks the label", pool: is(absent), daemonSets: []corev1.NodeSelectorRequirement{is(notIn, "red")},
			want: []string{"team DoesNotExist: 1"}},
		{name: "one value", pool: is(in, "red"), daemonSets: []corev1.NodeSelectorRequirement{is(in, "red")},
			want: []string{"team In [red]: 1"}},
		{name: "numbers", pool: is(exists), daemonSets: []corev1.NodeSelectorRequirement{is(gt, "4")},
			pods: []corev1.NodeSelectorRequirement{is(in, "5"), is(gt, "2")},
			want: []string{"team In [3 true]: 0", "team In [5]: 1"}},
		{name: "more values than variants", pool: is(in, many...),
			daemonSets: func() (sets []corev1.NodeSelectorRequirement) {
				for _, value := range many[1:] {
					sets = append(sets, is(in, value))
				}
				return sets
			}(),
			want: []string{"16 variants, the last one for 25 values: 25"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			typ := stagetest.Type("large", 64, 16, 1, "us-east-1a")
			typ.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
			s := stagetest.Snapshot([]catalog.InstanceType{typ})
			s.NodePools[0].Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
				{Key: test.pool.Key, Operator: test.pool.Operator, Values: test.pool.Values}}
			requiring := func(r corev1.NodeSelectorRequirement) *corev1.Affinity {
				return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
						{MatchExpressions: []corev1.NodeSelectorRequirement{r}}}}}}
			}
			for i, r := range test.daemonSets {
				set := appsv1.DaemonSet{}
				set.Name = fmt.Sprint("agent-", i)
				set.Spec.Template.Spec = stagetest.Pod("agent", "1m", "1Mi").Spec
				set.Spec.Template.Spec.Affinity = requiring(r)
				s.DaemonSets = append(s.DaemonSets, set)
			}
			for i, r := range test.pods {
				s.Pods = append(s.Pods, stagetest.Pod(fmt.Sprint("web-", i), "1", "1Gi",
					func(p *corev1.Pod) { p.Spec.Affinity = requiring(r) }))
			}
			ix := build(s)
			if got := variantsText(ix); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// variantsText describes the variants of the one NodePool.
func variantsText(ix *offering.Index) []string {
	var texts []string
	variants := ix.ByNodePool()[0]
	running := func(pool *offering.Pool) (count int) {
		for i := range ix.Work.Snapshot.DaemonSets {
			if ix.RunsDaemonSet(pool, i) {
				count++
			}
		}
		return count
	}
	if last := variants[len(variants)-1]; len(variants) > 5 {
		values, _ := last.Requirements["team"].Values()
		return []string{fmt.Sprintf("%d variants, the last one for %d values: %d", len(variants), len(values), running(last))}
	}
	for _, pool := range variants {
		texts = append(texts, fmt.Sprintf("%s: %d", pool.Requirements["team"], running(pool)))
	}
	return texts
}
