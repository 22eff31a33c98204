package crash

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// provisionersKind is the resource of Provisioners.
func provisionersKind() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: api.Group, Version: "v1alpha5", Resource: legacy.ProvisionerResource}
}

// templatesKind is the resource of AWSNodeTemplates.
func templatesKind() schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group: api.AWSGroup, Version: "v1alpha1", Resource: legacy.AWSNodeTemplateResource,
	}
}

// provisionerScenarios are about Provisioners, for which lifecycle keeps a NodePool and an
// EC2NodeClass.
func provisionerScenarios() []Scenario {
	alone := []string{"lifecycle"}
	return []Scenario{
		{
			Function: "lifecycle", Name: "a Provisioner is new", Ticked: alone,
			Arrange: func(s *stage) { s.provisioner() },
			Done:    func(t *trial, s *state) string { return t.kept(s, 1) },
		},
		{
			Function: "lifecycle", Name: "a Provisioner and its template change", Ticked: alone,
			Arrange: func(s *stage) {
				s.provisioner()
				s.run("lifecycle", tickFor(s.world))
			},
			Event: func(s *stage) any {
				s.change(provisionersKind(), `{"spec":{"weight":2}}`)
				s.change(templatesKind(), `{"spec":{"tags":{"weight":"2"}}}`)
				return tickFor(s.world)
			},
			Done: func(t *trial, s *state) string { return t.kept(s, 2) },
		},
	}
}

// provisioner creates the Provisioner "old" of weight 1 and its AWSNodeTemplate.
func (s *stage) provisioner() {
	profile := s.profile("old")
	s.old(templatesKind(), legacy.AWSNodeTemplateKind, map[string]any{
		"instanceProfile": profile, "tags": map[string]any{"weight": "1"},
	})
	s.old(provisionersKind(), legacy.ProvisionerKind, map[string]any{
		"weight": int64(1), "providerRef": map[string]any{"name": "old"},
	})
}

// old creates an object "old" of a kind before v1.
func (s *stage) old(resource schema.GroupVersionResource, kind string, spec map[string]any) {
	if s.err != nil {
		return
	}
	s.world.aged = true
	stored, err := s.world.objects.Resource(resource).Create(s.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": "old"},
		"spec": spec,
	}}, metav1.CreateOptions{})
	if s.try(err) {
		s.world.gate.times.note(stored)
	}
}

// change merges a patch into the object "old".
func (s *stage) change(resource schema.GroupVersionResource, patch string) {
	if s.err != nil {
		return
	}
	_, err := s.world.objects.Resource(resource).Patch(s.ctx, "old", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	s.try(err)
}

// kept compares the pool and the class of the Provisioner with its weight, and describes a
// difference.
func (t *trial) kept(s *state, weight int32) string {
	ctx := context.Background()
	pools, err := t.world.client.NodePools(ctx)
	if err != nil {
		return err.Error()
	}
	if len(pools) != 1 || len(s.classes) != 1 {
		return fmt.Sprintf("%d pools and %d classes", len(pools), len(s.classes))
	}
	pool, class := pools[0], s.classes[0]
	owners := append(pool.OwnerReferences, class.OwnerReferences...)
	if pool.Spec.Weight == nil || *pool.Spec.Weight != weight || class.Spec.Tags["weight"] != fmt.Sprint(weight) ||
		len(owners) != 2 || !api.ConditionTrue(pool.Status.Conditions, api.ConditionReady) {
		return fmt.Sprintf("the pool is %+v, and the class %+v", pool, class)
	}
	old, err := t.world.client.Provisioners(ctx)
	if err != nil || len(old) != 1 {
		return fmt.Sprintf("%d Provisioners, %v", len(old), err)
	}
	templates, err := t.world.client.AWSNodeTemplates(ctx)
	if err != nil || len(templates) != 1 {
		return fmt.Sprintf("%d AWSNodeTemplates, %v", len(templates), err)
	}
	if !api.ConditionTrue(old[0].Status.Conditions, api.ConditionTypeActive) || len(templates[0].Status.Subnets) == 0 {
		return fmt.Sprintf("the statuses are %+v and %+v", old[0].Status, templates[0].Status)
	}
	return ""
}
