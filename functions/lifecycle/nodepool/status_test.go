package nodepool_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodepool"
	"github.com/whittle-dev/whittle/shared/api"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func pool() *api.NodePool {
	made := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", ResourceVersion: "5", Generation: 2}}
	made.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind,
		Name: "default"}
	made.Default()
	return made
}

func class(ready metav1.ConditionStatus) api.EC2NodeClass {
	made := api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if ready != "" {
		made.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: ready, Message: "why"}}
	}
	return made
}

func TestConditions(t *testing.T) {
	deleted := class(metav1.ConditionTrue)
	at := metav1.NewTime(now)
	deleted.DeletionTimestamp = &at
	for _, test := range []struct {
		name    string
		change  func(*api.NodePool)
		classes []api.EC2NodeClass
		kind    string
		want    string
	}{
		{name: "a pool with a class that is ready may launch", classes: []api.EC2NodeClass{class(metav1.ConditionTrue)},
			kind: api.ConditionReady, want: "True Ready"},
		{name: "a pool without its class may not", kind: api.ConditionTypeNodeClassReady, want: "False NodeClassNotFound"},
		{name: "a class that is not ready keeps its pools back", classes: []api.EC2NodeClass{class(metav1.ConditionFalse)},
			kind: api.ConditionTypeNodeClassReady, want: "False NodeClassNotReady"},
		{name: "a class without a status is not known to be ready", classes: []api.EC2NodeClass{class("")},
			kind: api.ConditionTypeNodeClassReady, want: "Unknown NodeClassNotReady"},
		{name: "a class that is being deleted keeps its pools back", classes: []api.EC2NodeClass{deleted},
			kind: api.ConditionTypeNodeClassReady, want: "False NodeClassTerminating"},
		{name: "a class of another kind is not the one",
			change:  func(p *api.NodePool) { p.Spec.Template.Spec.NodeClassRef.Kind = "KWOKNodeClass" },
			classes: []api.EC2NodeClass{class(metav1.ConditionTrue)}, kind: api.ConditionTypeNodeClassReady,
			want: "False NodeClassNotFound"},
		{name: "a pool that names no class may not launch",
			change: func(p *api.NodePool) { p.Spec.Template.Spec.NodeClassRef = nil }, kind: api.ConditionTypeNodeClassReady,
			want: "False NodeClassNotFound"},
		{name: "a pool with a mistake may not launch",
			change:  func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.Budget{{Nodes: "some"}} },
			classes: []api.EC2NodeClass{class(metav1.ConditionTrue)}, kind: api.ConditionTypeValidationSucceeded,
			want: "False NodePoolValidationFailed"},
		{name: "a pool with broken hours may launch",
			change:  func(p *api.NodePool) { p.Annotations = map[string]string{api.SleepAnnotationKey: "at night"} },
			classes: []api.EC2NodeClass{class(metav1.ConditionTrue)}, kind: api.ConditionTypeValidationSucceeded,
			want: "True ValidationSucceeded"},
		{name: "a pool with a field that cannot be read may not launch",
			change:  func(p *api.NodePool) { p.Unreadable = map[string]string{"spec.limits.cpu": "odd"} },
			classes: []api.EC2NodeClass{class(metav1.ConditionTrue)}, kind: api.ConditionTypeValidationSucceeded,
			want: "False NodePoolValidationFailed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pool()
			if test.change != nil {
				test.change(p)
			}
			patch := nodepool.StatusPatch(p, nodepool.Seen{Classes: test.classes}, now)
			conditions := patch["status"].(map[string]any)["conditions"].([]metav1.Condition)
			got := api.GetCondition(conditions, test.kind)
			if got == nil || string(got.Status)+" "+got.Reason != test.want || got.ObservedGeneration != 2 {
				t.Errorf("got %+v, want %s", got, test.want)
			}
			if strings.Contains(test.name, "hours") && !strings.Contains(got.Message, "whittle.dev/sleep") {
				t.Errorf("the message is %q", got.Message)
			}
		})
	}
}

func TestAPoolGivesTheMessagesOfItsClass(t *testing.T) {
	notReady := class(metav1.ConditionFalse)
	notReady.Status.Conditions = append(notReady.Status.Conditions, metav1.Condition{
		Type: api.ConditionTypeSubnetsReady, Status: metav1.ConditionFalse, Message: "no subnet: check the tags",
	})
	patch := nodepool.StatusPatch(pool(), nodepool.Seen{Classes: []api.EC2NodeClass{notReady}}, now)
	conditions := patch["status"].(map[string]any)["conditions"].([]metav1.Condition)
	got := api.GetCondition(conditions, api.ConditionTypeNodeClassReady).Message
	want := fmt.Sprintf("EC2NodeClass %q is not ready: SubnetsReady: no subnet: check the tags", notReady.Name)
	if got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestTheSumOfThePoolsNodes(t *testing.T) {
	claim := func(pool, id, cpu string, deleted bool) api.NodeClaim {
		made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.NodePoolLabelKey: pool}}}
		made.Status.ProviderID = id
		if cpu != "" {
			made.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		}
		if deleted {
			at := metav1.NewTime(now)
			made.DeletionTimestamp = &at
		}
		return made
	}
	initialized := claim("default", "d", "8", false)
	initialized.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	claims := []api.NodeClaim{
		claim("default", "a", "2", false), claim("default", "e", "500m", false), claim("default", "b", "500m", true),
		claim("default", "", "", false),
		initialized, claim("default", "", "", true), claim("other", "c", "64", false),
	}
	node := corev1.Node{}
	node.Spec.ProviderID, node.Status.Capacity = "d", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7")}
	joining := corev1.Node{}
	joining.Spec.ProviderID = "a"
	p := pool()
	p.Status.Resources = corev1.ResourceList{"gone": resource.MustParse("1")}
	status := nodepool.StatusPatch(p, nodepool.Seen{Claims: claims, Nodes: []corev1.Node{node, joining}},
		now)["status"].(map[string]any)
	if status["nodes"] != int64(3) {
		t.Errorf("nodes %v", status["nodes"])
	}
	resources := status["resources"].(map[string]any)
	cpu, nodes := resources["cpu"].(resource.Quantity), resources["nodes"].(resource.Quantity)
	if cpu.String() != "10500m" || nodes.String() != "3" {
		t.Errorf("cpu %s, nodes %s", cpu.String(), nodes.String())
	}
	if memory, present := resources["memory"].(resource.Quantity); !present || !memory.IsZero() {
		t.Errorf("memory is %v", resources["memory"])
	}
	if gone, present := resources["gone"]; !present || gone != nil {
		t.Errorf("a resource that no node has stays: %v", resources)
	}
}

func TestAStatusThatIsUpToDateIsNotWritten(t *testing.T) {
	p := pool()
	ready := class(metav1.ConditionTrue)
	ready.Generation = 3
	patch := nodepool.StatusPatch(p, nodepool.Seen{Classes: []api.EC2NodeClass{ready}}, now)
	if patch["metadata"].(map[string]any)["resourceVersion"] != "5" {
		t.Errorf("patch %v", patch)
	}
	status := patch["status"].(map[string]any)
	nodes := status["nodes"].(int64)
	p.Status.Nodes, p.Status.Conditions = &nodes, status["conditions"].([]metav1.Condition)
	p.Status.NodeClassObservedGeneration = status["nodeClassObservedGeneration"].(int64)
	p.Status.Resources = corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{"nodes", "cpu", "memory", "pods", "ephemeral-storage"} {
		p.Status.Resources[name] = resource.MustParse("0")
	}
	if again := nodepool.StatusPatch(p, nodepool.Seen{Classes: []api.EC2NodeClass{ready}},
		now.Add(time.Hour)); again != nil {
		t.Errorf("patch %v", again)
	}
	if reflect.DeepEqual(p.Status, api.NodePoolStatus{}) {
		t.Error("the status is empty")
	}
}
