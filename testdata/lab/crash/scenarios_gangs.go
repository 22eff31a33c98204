package crash

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// gangScenarios have pods that are of use only together, for which one fleet is not enough.
func gangScenarios() []Scenario {
	launching := []string{"provision", "lifecycle"}
	group := func(s *stage) {
		s.readyClass()
		s.pool(nil)
		s.podGroup("gang", 2)
		for _, zone := range []string{"a", "b"} {
			s.pods("member-"+zone, 1, "3").shape = memberIn(region + zone)
		}
	}
	request := func(s *stage) {
		s.readyClass()
		s.pool(nil)
		s.request("gang", "a", "b")
	}
	// The gang is completed, or what was launched goes back, never both.
	short := func(s *stage) { s.world.account.ec2.Starve(ec2.Starvation{Zone: region + "b"}) }
	return []Scenario{
		{
			Function: "provision", Ticked: launching, Name: "a gang over two fleets", Launches: 2,
			Done: running(2), Arrange: group,
		},
		{
			Function: "provision", Ticked: launching, Name: "a gang over two fleets, and EC2 is short when it is gone on with",
			Launches: anyNumber, Done: either(claims(0), running(2)), Arrange: group, OnFirstKill: short,
		},
		{
			Function: "provision", Requests: true, Name: "a ProvisioningRequest over two fleets", Launches: 2,
			Done: provisioned(2), Arrange: request,
		},
		{
			Function: "provision", Requests: true,
			Name:     "a ProvisioningRequest over two fleets, and EC2 is short when it is gone on with",
			Launches: anyNumber, Done: either(claims(0), provisioned(2)), Arrange: request, OnFirstKill: short,
		},
	}
}

// provisioned is the end at which a number of nodes are ready, and the request says that it has
// them.
func provisioned(nodes int) func(*trial, *state) string {
	return func(t *trial, s *state) string {
		if lacks := claims(nodes)(t, s); lacks != "" {
			return lacks
		}
		requests, err := t.world.client.ProvisioningRequests(t.stage.ctx)
		if err != nil {
			return err.Error()
		}
		for i := range requests {
			if !api.ConditionTrue(requests[i].Status.Conditions, api.ConditionProvisioned) {
				return fmt.Sprintf("the request %s is not provisioned: %+v", requests[i].Name, requests[i].Status.Conditions)
			}
		}
		return ""
	}
}

// either accepts two ends.
func either(one, other func(*trial, *state) string) func(*trial, *state) string {
	return func(t *trial, s *state) string {
		lacks, rest := one(t, s), other(t, s)
		if lacks == "" || rest == "" {
			return ""
		}
		return lacks + ", or " + rest
	}
}

// memberIn makes a pod a member of the gang, in a zone.
func memberIn(zone string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels[api.PodGroupLabelKey] = "gang"
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone}
	}
}

func requests() schema.GroupVersionResource {
	return schema.GroupVersionResource{
		Group: api.AutoscalingGroup, Version: "v1", Resource: api.ProvisioningRequestResource,
	}
}

func podTemplates() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}
}

// podGroup creates a PodGroup.
func (s *stage) podGroup(name string, least int) {
	s.define(api.PodGroupGVR(), api.PodGroupKind)
	s.made(api.PodGroupGVR(), map[string]any{
		"apiVersion": api.PodGroupAPIVersion, "kind": api.PodGroupKind,
		"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": name},
		"spec":     map[string]any{"minMember": int64(least)},
	})
}

// request creates a ProvisioningRequest for a pod in each of the zones, and their PodTemplates.
func (s *stage) request(name string, zones ...string) {
	s.define(requests(), api.ProvisioningRequestKind)
	var sets []any
	for _, zone := range zones {
		s.made(podTemplates(), map[string]any{
			"apiVersion": "v1", "kind": "PodTemplate",
			"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": zone},
			"template": map[string]any{"spec": map[string]any{
				"nodeSelector": map[string]any{corev1.LabelTopologyZone: region + zone},
				"containers": []any{map[string]any{
					"name": "main", "image": "example.com/app", "resources": map[string]any{"requests": map[string]any{"cpu": "3"}},
				}},
			}},
		})
		sets = append(sets, map[string]any{"podTemplateRef": map[string]any{"name": zone}, "count": int64(1)})
	}
	s.made(requests(), map[string]any{
		"apiVersion": api.ProvisioningRequestAPIVersion, "kind": api.ProvisioningRequestKind,
		"metadata": map[string]any{"namespace": metav1.NamespaceDefault, "name": name},
		"spec": map[string]any{
			"provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io", "podSets": sets,
		},
	})
}

// define defines a kind of others with the fields that Whittle reads. It stands for the definition
// that Kueue, Cluster Autoscaler or scheduler-plugins installs.
func (s *stage) define(resource schema.GroupVersionResource, kind string) {
	if s.world.grouped = true; s.world.plane == nil || s.err != nil {
		return // the model of the API server has the kinds
	}
	s.try(s.world.client.Apply(s.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name":        resource.Resource + "." + resource.Group,
			"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, of a scenario"},
		},
		"spec": map[string]any{
			"group": resource.Group, "scope": "Namespaced",
			"names": map[string]any{
				"kind": kind, "listKind": kind + "List", "plural": resource.Resource, "singular": strings.ToLower(kind),
			},
			"versions": []any{map[string]any{
				"name": resource.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}))
}

// made creates an object in the namespace default, as soon as its kind is served.
func (s *stage) made(resource schema.GroupVersionResource, object map[string]any) {
	if s.err != nil {
		return
	}
	made := &unstructured.Unstructured{Object: object}
	objects := s.world.objects.Resource(resource).Namespace(metav1.NamespaceDefault)
	var err error
	for end := time.Now().Add(settleWithin); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err = objects.Create(s.ctx, made, metav1.CreateOptions{}); err == nil {
			return
		}
	}
	s.try(fmt.Errorf("%s %s is not created after %s: %w", made.GetKind(), made.GetName(), settleWithin, err))
}
