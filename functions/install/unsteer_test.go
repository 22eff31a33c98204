package install

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestDeletingTakesTheSoftTaintsFromNodes holds that other taints stay.
func TestDeletingTakesTheSoftTaintsFromNodes(t *testing.T) {
	wipe(t)
	i := newInstallation(t)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatal(err)
	}
	own := corev1.Taint{Key: "own", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	made := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "steered"},
	}
	made.Spec.Taints = []corev1.Taint{own, api.CandidateTaint()}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(made)
	if err != nil {
		t.Fatal(err)
	}
	resource := objects(t).Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
	_, err = resource.Create(t.Context(), &unstructured.Unstructured{Object: fields}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resource.Delete(context.Background(), "steered", metav1.DeleteOptions{}) })
	if _, _, err := i.handle(t.Context(), deletion); err != nil {
		t.Fatal(err)
	}
	stored, err := resource.Get(t.Context(), "steered", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var left corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &left); err != nil {
		t.Fatal(err)
	}
	keys := func(taints []corev1.Taint) (keys []string) {
		for _, taint := range taints {
			keys = append(keys, taint.Key)
		}
		return keys
	}
	if got := keys(left.Spec.Taints); !slices.Contains(got, "own") || slices.Contains(got, api.CandidateTaintKey) {
		t.Errorf("the node has the taints %q", got)
	}
}

// changing are nodes, of which one changes a number of times before it is written.
type changing struct {
	stored  map[string]*corev1.Node
	changes int
	failure error
}

func (c *changing) Nodes(context.Context) ([]corev1.Node, error) {
	var all []corev1.Node
	for _, node := range c.stored {
		all = append(all, *node)
	}
	return all, c.failure
}

func (c *changing) PatchNode(_ context.Context, name string, patch map[string]any) error {
	if c.changes > 0 {
		c.changes--
		return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, name, errors.New("changed"))
	}
	spec, _ := patch["spec"].(map[string]any)
	c.stored[name].Spec.Taints, _ = spec["taints"].([]corev1.Taint)
	return nil
}

// TestANodeThatChangesLosesItsSoftTaint holds that a conflict is tried again, and that what stays is named with a
// remedy.
func TestANodeThatChangesLosesItsSoftTaint(t *testing.T) {
	for _, test := range []struct {
		name    string
		changes int
		failure error
		stays   bool
	}{
		{name: "a node that changes once", changes: 1},
		{name: "a node that changes all the time", changes: 100, stays: true},
		{name: "nodes that cannot be read", failure: errors.New("no answer"), stays: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := logged(t)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "steered"}}
			node.Spec.Taints = []corev1.Taint{api.CandidateTaint()}
			c := &changing{stored: map[string]*corev1.Node{"steered": node}, changes: test.changes, failure: test.failure}
			unsteer(t.Context(), c)
			if stays := len(node.Spec.Taints) > 0; stays != test.stays || strings.Contains(log.String(), unsteering) != stays {
				t.Errorf("it stays: %t, and the log says %s", stays, log)
			}
		})
	}
}
