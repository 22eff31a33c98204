package gang_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
)

// TestEachFieldOfAPodGroupIsKnown changes each field of the PodGroups that are read, and holds the gangs that
// they make against those before. Random gangs use each field of a gang.
func TestEachFieldOfAPodGroupIsKnown(t *testing.T) {
	made := func() *api.PodGroup {
		group := &api.PodGroup{Spec: api.PodGroupSpec{MinMember: 2}}
		group.Namespace, group.Name = "default", "a"
		return group
	}
	checkGroup := func(at func(*api.PodGroup) any, changes map[string]func(*api.PodGroup)) {
		t.Helper()
		typ := reflect.TypeOf(at(made())).Elem()
		for i := range typ.NumField() {
			name := typ.Field(i).Name
			change, known := changes[name]
			if !known {
				t.Errorf("%s.%s is not in the table: does it matter for a gang?", typ.Name(), name)
				continue
			}
			other := made()
			if change == nil {
				plantest.GiveValue(reflect.ValueOf(at(other)).Elem().Field(i), 1)
			} else {
				change(other)
			}
			before, after := plan.GangsOf([]api.PodGroup{*made()}), plan.GangsOf([]api.PodGroup{*other})
			if changed := !reflect.DeepEqual(before, after); changed != (change != nil) {
				t.Errorf("%s.%s: the gang changes with it: %v", typ.Name(), name, changed)
			}
		}
	}
	member := func(g *api.PodGroup) { g.Spec.MinMember = 3 }
	checkGroup(func(g *api.PodGroup) any { return g }, map[string]func(*api.PodGroup){
		"TypeMeta": nil, "ObjectMeta": func(g *api.PodGroup) { g.Namespace = "other" }, "Spec": member,
	})
	checkGroup(func(g *api.PodGroup) any { return &g.Spec }, map[string]func(*api.PodGroup){"MinMember": member})

	used := map[string]bool{}
	for seed := range uint64(20) {
		s, _ := oneGang(rand.New(rand.NewPCG(seed, 21)))
		plantest.CollectFields(s.Gangs, used)
	}
	for _, value := range []any{plan.Gang{}, plan.GangRef{}} {
		typ := reflect.TypeOf(value)
		for i := range typ.NumField() {
			if name := typ.Name() + "." + typ.Field(i).Name; !used[name] {
				t.Errorf("no random gang uses %s", name)
			}
		}
	}
}

// What the project has in place of a field of scheduling.k8s.io.
const (
	foreignKind = "pods of this kind are planned one by one, and a reason says so"
	asMinMember = foreignKind + ": spec.minMember of scheduler-plugins' PodGroup is its like"
	asTopology  = foreignKind + ": the annotation of a required topology is its like"
	ofPods      = "the pods have it as well"
	devices     = "devices of dynamic resource allocation are not planned"
	templated   = "a controller writes PodGroups of it"
	disrupted   = "preemption acts on it; consolidation weighs the running pods of a PodGroup of scheduler-plugins"
)

// TestEachFieldOfASchedulingGroupIsKnown lists the fields of scheduling.k8s.io with what becomes of them. A field
// of a later Kubernetes fails the test until somebody has decided what it means.
func TestEachFieldOfASchedulingGroupIsKnown(t *testing.T) {
	for _, kind := range []struct {
		of    any
		table map[string]string
	}{
		{corev1.PodSchedulingGroup{}, map[string]string{"PodGroupName": foreignKind}},
		{schedulingv1alpha2.PodGroupSpec{}, map[string]string{
			"PodGroupTemplateRef": templated, "SchedulingPolicy": foreignKind, "SchedulingConstraints": asTopology,
			"ResourceClaims": devices, "DisruptionMode": disrupted, "PriorityClassName": ofPods, "Priority": ofPods,
		}},
		{schedulingv1alpha2.PodGroupSchedulingPolicy{}, map[string]string{
			"Basic": "the pods of such a group are planned one by one, as it says", "Gang": foreignKind,
		}},
		{schedulingv1alpha2.BasicSchedulingPolicy{}, nil},
		{schedulingv1alpha2.GangSchedulingPolicy{}, map[string]string{"MinCount": asMinMember}},
		{schedulingv1alpha2.PodGroupSchedulingConstraints{}, map[string]string{"Topology": asTopology}},
		{schedulingv1alpha2.TopologyConstraint{}, map[string]string{"Key": asTopology}},
		{schedulingv1alpha2.PodGroupTemplate{}, map[string]string{
			"Name": templated, "SchedulingPolicy": templated, "SchedulingConstraints": templated, "ResourceClaims": templated,
			"DisruptionMode": templated, "PriorityClassName": templated, "Priority": templated,
		}},
		{schedulingv1alpha2.WorkloadSpec{}, map[string]string{
			"ControllerRef": templated, "PodGroupTemplates": templated,
		}},
	} {
		typ := reflect.TypeOf(kind.of)
		for i := range typ.NumField() {
			if name := typ.Field(i).Name; kind.table[name] == "" {
				t.Errorf("%s.%s is not in the table: does it matter for a plan?", typ.Name(), name)
			}
			delete(kind.table, typ.Field(i).Name)
		}
		for name := range kind.table {
			t.Errorf("%s has no field %s", typ.Name(), name)
		}
	}
}
