package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

// configured is a fake API server with ConfigMaps only.
type configured struct {
	kubernetes
	objects map[string]*corev1.ConfigMap
	written int
	fails   error
}

func (s *configured) ConfigMap(_ context.Context, name string) (*corev1.ConfigMap, error) {
	return s.objects[name], s.fails
}

func (s *configured) PutConfigMap(_ context.Context, object *corev1.ConfigMap) error {
	s.objects[object.Name] = object
	s.written++
	return nil
}

// expressed returns a class that reserves cpu by the expression.
func expressed(name, text string) api.EC2NodeClass {
	class := catalogtest.NodeClass(name)
	class.Spec.Kubelet = &api.KubeletConfiguration{KubeReserved: map[string]string{"cpu": text}}
	return *class
}

func TestExpressionsAreEvaluatedForEveryType(t *testing.T) {
	client := &configured{objects: map[string]*corev1.ConfigMap{}}
	good, bad, plain := expressed("good", "vcpus * 10"), expressed("bad", "cpus"), *catalogtest.NodeClass("plain")
	evaluate := func(classes ...api.EC2NodeClass) (kubelet.Evaluations, error) {
		t.Helper()
		_, failed := evaluateExpressions(t.Context(), client, classes)
		known, err := inventory.KubeletValues(t.Context(), client)
		return known, errors.Join(err, failed)
	}
	if known, err := evaluate(good); err != nil || len(known) != 0 || client.written != 0 {
		t.Errorf("without a catalogue: %v, %v", known, err)
	}
	facts := catalogtest.Catalog(t)
	if err := inventory.PutCatalog(t.Context(), client, facts); err != nil {
		t.Fatal(err)
	}
	if _, err := evaluate(plain); err != nil || client.written != 1 {
		t.Errorf("without an expression: %d writes, %v", client.written, err)
	}
	known, err := evaluate(good, bad, plain)
	if err != nil || len(known) != 2 {
		t.Fatalf("%d evaluations, %v", len(known), err)
	}
	if evaluated, found := known.Of(&good); !found || len(evaluated.Types) != len(facts.InstanceTypes) ||
		evaluated.Types["m5.4xlarge"].KubeReserved["cpu"] != "160m" {
		t.Errorf("good: %d types, %s", len(evaluated.Types), evaluated.Message)
	}
	if evaluated, found := known.Of(&bad); !found || evaluated.Reason != api.ReasonKubeletExpressionInvalid ||
		!strings.Contains(evaluated.Message, "'cpus'") {
		t.Errorf("bad: %+v", evaluated)
	}
	writes := client.written
	if _, err := evaluate(good, bad); err != nil || client.written != writes {
		t.Errorf("the same again: %d writes, %v", client.written-writes, err)
	}
	// A type that the catalogue gains has values at the next tick. A class that is gone has none.
	facts.InstanceTypes = append(facts.InstanceTypes, catalog.InstanceTypeInfo{InstanceType: "new.large", DefaultVCpus: 3})
	if err := inventory.PutCatalog(t.Context(), client, facts); err != nil {
		t.Fatal(err)
	}
	known, err = evaluate(good)
	if evaluated, _ := known.Of(&good); err != nil || len(known) != 1 ||
		evaluated.Types["new.large"].KubeReserved["cpu"] != "30m" {
		t.Errorf("with a new type: %v of %d, %v", evaluated.Types["new.large"], len(known), err)
	}
	client.fails = errors.New("throttled")
	if _, err := evaluate(good); err == nil {
		t.Error("the tick hides that it could not read")
	}
}
