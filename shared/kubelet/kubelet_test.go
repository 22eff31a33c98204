package kubelet_test

import (
	"encoding/json"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

// class returns a class whose spec has the fields of the JSON object.
func class(t *testing.T, spec string) *api.EC2NodeClass {
	t.Helper()
	made := &api.EC2NodeClass{}
	if err := json.Unmarshal([]byte(spec), &made.Spec); err != nil {
		t.Fatal(err)
	}
	return made
}

const mixed = `{"kubelet":{"maxPods":"max_pods - 2","podsPerCore":10,"cpuManagerPolicy":"static",
	"kubeReserved":{"cpu":"vcpus * 10","memory":"1Gi"},"systemReserved":{"memory":"memory_mib / 100","pid":"100"}}}`

func TestResolved(t *testing.T) {
	pods := int32(27)
	given := class(t, mixed)
	before, err := given.Spec.Kubelet.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		values kubelet.Values
		want   string
	}{
		{
			"with all values",
			kubelet.Values{
				MaxPods: &pods, KubeReserved: map[string]string{"cpu": "40m"},
				SystemReserved: map[string]string{"memory": "96Mi"},
			},
			`{"cpuManagerPolicy":"static","kubeReserved":{"cpu":"40m","memory":"1Gi"},"maxPods":27,"podsPerCore":10,` +
				`"systemReserved":{"memory":"96Mi","pid":"100"}}`,
		},
		{
			"without", kubelet.Values{},
			`{"cpuManagerPolicy":"static","kubeReserved":{"memory":"1Gi"},"podsPerCore":10,"systemReserved":{"pid":"100"}}`,
		},
	} {
		resolved := kubelet.Resolved(given.Spec.Kubelet, test.values)
		if got, err := resolved.Text(); err != nil || got != test.want {
			t.Errorf("%s: %s (%v), want %s", test.name, got, err, test.want)
		}
	}
	after, err := given.Spec.Kubelet.Text()
	if err != nil || after != before || len(given.Spec.Kubelet.KubeReserved) != 2 {
		t.Errorf("the class has changed to %s (%v)", after, err)
	}
	if kubelet.Resolved(nil, kubelet.Values{}) != nil {
		t.Error("no settings became some")
	}
}

func TestHasExpressions(t *testing.T) {
	for spec, want := range map[string]bool{
		mixed: true, `{}`: false, `{"kubelet":{"maxPods":110,"kubeReserved":{"cpu":"100m"}}}`: false,
		`{"kubelet":{"maxPods":"110"}}`: true, `{"kubelet":{"systemReserved":{"pid":"vcpus"}}}`: true,
		`{"kubelet":{"maxPods":true}}`: false, `{"kubelet":{"kubeReserved":{"cpu":""}}}`: true,
	} {
		if got := kubelet.HasExpressions(class(t, spec)); got != want {
			t.Errorf("%s: %t", spec, got)
		}
	}
}

func TestAnEvaluationHoldsForItsInputs(t *testing.T) {
	inputs, err := kubelet.Inputs(class(t, mixed))
	if err != nil {
		t.Fatal(err)
	}
	known := kubelet.Evaluations{inputs: {Message: "known"}}
	same := class(t, mixed)
	same.Name, same.Spec.Tags = "other", map[string]string{"team": "a"}
	if got, found := known.Of(same); !found || got.Message != "known" {
		t.Error("a class with the same inputs has no values")
	}
	for name, change := range map[string]func(*api.EC2NodeClass){
		"another expression": func(c *api.EC2NodeClass) {
			*c = *class(t, `{"kubelet":{"maxPods":"max_pods - 3"}}`)
		},
		"another family": func(c *api.EC2NodeClass) { family := "Windows2022"; c.Spec.AMIFamily = &family },
		"an interface for EFA": func(c *api.EC2NodeClass) {
			c.Spec.NetworkInterfaces = []api.NetworkInterface{{InterfaceType: api.InterfaceTypeEFAOnly}}
		},
	} {
		changed := class(t, mixed)
		if change(changed); changed != nil {
			if _, found := known.Of(changed); found {
				t.Errorf("%s: the old values still hold", name)
			}
		}
	}
}
