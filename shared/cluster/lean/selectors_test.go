package lean

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/spread"
)

// TestSelectorsAreThoseOfTheObjects decodes lists of all four kinds, whose templates are dropped.
func TestSelectorsAreThoseOfTheObjects(t *testing.T) {
	meta := metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "uid", Labels: map[string]string{"x": "y"}, GenerateName: "no-",
	}
	next := metav1.ListMeta{Continue: "more"}
	selects := map[string]string{"app": "web", "tier": ""}
	selector := &metav1.LabelSelector{MatchLabels: selects, MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"front", "back"}},
	}}
	template := corev1.PodTemplateSpec{ObjectMeta: meta, Spec: corev1.PodSpec{NodeSelector: selects}}
	replicas := int32(3)
	for kind, test := range map[spread.Kind]struct {
		list marshaler
		want *metav1.LabelSelector
	}{
		spread.Service: {&corev1.ServiceList{ListMeta: next, Items: []corev1.Service{
			{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: selects, Ports: []corev1.ServicePort{{Port: 80}}}},
			{ObjectMeta: meta, Spec: corev1.ServiceSpec{ExternalName: "example.com"}},
		}}, &metav1.LabelSelector{MatchLabels: selects}},
		spread.ReplicationController: {
			&corev1.ReplicationControllerList{ListMeta: next, Items: []corev1.ReplicationController{{
				ObjectMeta: meta,
				Spec:       corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: selects, Template: &template},
			}}}, &metav1.LabelSelector{MatchLabels: selects}},
		spread.ReplicaSet: {&appsv1.ReplicaSetList{ListMeta: next, Items: []appsv1.ReplicaSet{
			{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: template}},
		}}, selector},
		spread.StatefulSet: {&appsv1.StatefulSetList{ListMeta: next, Items: []appsv1.StatefulSet{
			{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{ServiceName: "web", Selector: selector, Template: template}},
		}}, selector},
	} {
		t.Run(string(kind), func(t *testing.T) {
			found, meta, err := Selectors(kind, encoded(t, string(kind)+"List", test.list))
			if err != nil {
				t.Fatal(err)
			}
			want := []spread.Selector{{Kind: kind, Namespace: "shop", Name: "web", Selector: test.want}}
			if !reflect.DeepEqual(found, want) || meta.Continue != "more" {
				t.Errorf("found %+v with the token %q, want %+v", found, meta.Continue, want)
			}
		})
	}
}

func TestSelectorsOfABrokenAnswerAreAnError(t *testing.T) {
	whole := encoded(t, "ServiceList", &corev1.ServiceList{Items: []corev1.Service{
		{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}},
	}})
	for name, body := range map[string][]byte{"JSON": []byte(`{"items":[]}`), "a half": whole[:len(whole)/2]} {
		if found, _, err := Selectors(spread.Service, body); err == nil {
			t.Errorf("%s: %v", name, found)
		}
	}
}
