package evaluation_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/kubelet/evaluation"
)

// class returns a class of Amazon Linux 2023 with the kubelet settings of the JSON object.
func class(t *testing.T, settings string) *api.EC2NodeClass {
	t.Helper()
	made := catalogtest.NodeClass("default")
	if err := json.Unmarshal([]byte(settings), &made.Spec.Kubelet); err != nil {
		t.Fatal(err)
	}
	return made
}

// evaluated evaluates the settings for the built-in catalogue.
func evaluated(t *testing.T, settings string, change func(*api.EC2NodeClass, *catalog.Catalog)) kubelet.Evaluation {
	t.Helper()
	made, known := class(t, settings), catalogtest.Catalog(t)
	if change != nil {
		change(made, known)
	}
	result, err := evaluation.Of(made, known)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestOf checks values worked out by hand. m5.large has 2 vCPUs, 8192 MiB, 3 interfaces with 10
// addresses and so 29 pods; m5.4xlarge has 16, 65536, 8, 30 and 234.
func TestOf(t *testing.T) {
	family := func(name string) func(*api.EC2NodeClass, *catalog.Catalog) {
		return func(c *api.EC2NodeClass, _ *catalog.Catalog) { c.Spec.AMIFamily = &name }
	}
	for _, test := range []struct {
		name, settings string
		change         func(*api.EC2NodeClass, *catalog.Catalog)
		small, large   string // of m5.large and m5.4xlarge
	}{
		{"pods", `{"maxPods": "max_pods - 2"}`, nil, `{"maxPods":27}`, `{"maxPods":232}`},
		{
			"prefixes", `{"maxPods": "min(250, ((default_enis - 1) * (ips_per_eni - 1)) * 16 + 2)"}`, nil,
			`{"maxPods":250}`, `{"maxPods":250}`,
		},
		{"a number as a text", `{"maxPods": "110"}`, nil, `{"maxPods":110}`, `{"maxPods":110}`},
		{
			"cpu is rounded up to 10m, memory to 16Mi", `{"kubeReserved": {"cpu": "70 + vcpus", "memory": "memory_mib / 100"}}`,
			nil, `{"kubeReserved":{"cpu":"80m","memory":"96Mi"}}`, `{"kubeReserved":{"cpu":"90m","memory":"656Mi"}}`,
		},
		{
			"round results stay", `{"systemReserved": {"cpu": "vcpus * 30", "memory": "memory_mib / 64"}}`, nil,
			`{"systemReserved":{"cpu":"60m","memory":"128Mi"}}`, `{"systemReserved":{"cpu":"480m","memory":"1024Mi"}}`,
		},
		{
			"disk in GiB, and processes", `{"systemReserved": {"ephemeral-storage": "vcpus", "pid": "vcpus * 100"}}`, nil,
			`{"systemReserved":{"ephemeral-storage":"2Gi","pid":"200"}}`,
			`{"systemReserved":{"ephemeral-storage":"16Gi","pid":"1600"}}`,
		},
		{
			"amounts are no expressions", `{"kubeReserved": {"cpu": "vcpus * 10", "memory": "1Gi"}}`, nil,
			`{"kubeReserved":{"cpu":"20m"}}`, `{"kubeReserved":{"cpu":"160m"}}`,
		},
		{
			"a double loses its fraction before it is rounded", `{"kubeReserved": {"cpu": "double(vcpus) * 5.05"}}`, nil,
			`{"kubeReserved":{"cpu":"10m"}}`, `{"kubeReserved":{"cpu":"80m"}}`,
		},
		{
			"reservations see the value of maxPods", `{"maxPods": "max_pods * 2", "kubeReserved": {"memory": "11 * max_pods"}}`,
			nil, `{"maxPods":58,"kubeReserved":{"memory":"640Mi"}}`, `{"maxPods":468,"kubeReserved":{"memory":"5152Mi"}}`,
		},
		{
			"and a number there", `{"maxPods": 16, "kubeReserved": {"memory": "max_pods"}}`, nil,
			`{"kubeReserved":{"memory":"16Mi"}}`, `{"kubeReserved":{"memory":"16Mi"}}`,
		},
		{
			"podsPerCore caps the variable",
			`{"maxPods": "max_pods * 10", "podsPerCore": 8, "kubeReserved": {"pid": "max_pods"}}`, nil,
			`{"maxPods":160,"kubeReserved":{"pid":"16"}}`, `{"maxPods":1280,"kubeReserved":{"pid":"128"}}`,
		},
		{
			"Windows has 110 pods", `{"maxPods": "max_pods"}`, family("Windows2022"), `{"maxPods":110}`, `{"maxPods":110}`,
		},
		{
			"a reserved interface", `{"maxPods": "max_pods"}`,
			func(_ *api.EC2NodeClass, s *catalog.Catalog) { s.Settings.ReservedENIs = 1 },
			`{"maxPods":20}`, `{"maxPods":205}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := evaluated(t, test.settings, test.change)
			for name, want := range map[string]string{"m5.large": test.small, "m5.4xlarge": test.large} {
				values, known := got.Types[name]
				if text, err := json.Marshal(values); err != nil || !known || string(text) != want {
					t.Errorf("%s: %s (%v, %s), want %s", name, text, err, got.Message, want)
				}
			}
			if types := len(catalogtest.Catalog(t).InstanceTypes); len(got.Types) != types || got.Reason != "" {
				t.Errorf("%d of %d types have values; reason %q", len(got.Types), types, got.Reason)
			}
		})
	}
}

func TestAProblemNamesExpressionAndType(t *testing.T) {
	for _, test := range []struct{ name, settings, reason, want string }{
		{"no expression", `{"maxPods": "max_pods -"}`, api.ReasonKubeletExpressionInvalid,
			`validating expression, spec.kubelet.maxPods "max_pods -": line 1, column 11: Syntax error`},
		{"an unknown variable", `{"kubeReserved": {"cpu": "cpus"}}`, api.ReasonKubeletExpressionInvalid,
			`spec.kubelet.kubeReserved[cpu] "cpus": line 1, column 1: undeclared reference to 'cpus'`},
		{"a text", `{"systemReserved": {"pid": "instance_type"}}`, api.ReasonKubeletExpressionInvalid,
			`expression must return int or double`},
		{"a division by zero", `{"maxPods": "1 / (vcpus - 2)"}`, api.ReasonKubeletExpressionEvaluationFailed,
			`evaluating maxPods expression, division by zero: spec.kubelet.maxPods "1 / (vcpus - 2)" for instance type `},
		{"negative pods", `{"maxPods": "vcpus - 3"}`, api.ReasonKubeletExpressionEvaluationFailed,
			`maxPods expression evaluated to a value outside the valid range [0, 2147483647], to -`},
		{"too many pods", `{"maxPods": "vcpus * 2147483647"}`, api.ReasonKubeletExpressionEvaluationFailed,
			`outside the valid range`},
		{"a negative reservation", `{"kubeReserved": {"memory": "8191 - memory_mib"}}`,
			api.ReasonKubeletExpressionEvaluationFailed, `kubelet resource expression evaluated to a negative value, to -`},
		{"a loop for each type", `{"systemReserved": {"pid": "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, ` +
			`[0,1,2,3,4,5,6,7,8,9].all(c, a + b + c >= 0))) ? 1 : 2"}}`,
			api.ReasonKubeletExpressionEvaluationFailed, `costs too much`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := evaluated(t, test.settings, nil)
			if got.Reason != test.reason || !strings.Contains(got.Message, test.want) || len(got.Types) > 0 ||
				!strings.HasSuffix(got.Message, ": correct the expression") {
				t.Errorf("%s: %s (%d types), want %s: %s", got.Reason, got.Message, len(got.Types), test.reason, test.want)
			}
		})
	}
}

func TestALongExpressionIsCutInItsMessage(t *testing.T) {
	text := "vcpus" + strings.Repeat(" + vcpus", 500) + " + é +"
	if got := evaluated(t, `{"maxPods": "`+text+`"}`, nil); len(got.Message) > 1000 {
		t.Errorf("the message has %d bytes", len(got.Message))
	}
}

func TestTheCataloguesOrderDoesNotMatter(t *testing.T) {
	const settings = `{"maxPods": "max_pods - 2", "kubeReserved": {"cpu": "vcpus * 10"}}`
	turned := func(_ *api.EC2NodeClass, s *catalog.Catalog) { slices.Reverse(s.InstanceTypes) }
	if !reflect.DeepEqual(evaluated(t, settings, nil), evaluated(t, settings, turned)) {
		t.Error("the values depend on the order of the types")
	}
}

func BenchmarkOf(b *testing.B) {
	made, known := catalogtest.NodeClass("default"), catalogtest.Catalog(b)
	const settings = `{"maxPods": "max_pods - 2", "kubeReserved": {"cpu": "max(60, vcpus * 30)",
		"memory": "11 * max_pods + 255"}, "systemReserved": {"cpu": "max(20, vcpus * 10)", "memory": "memory_mib / 64"}}`
	if err := json.Unmarshal([]byte(settings), &made.Spec.Kubelet); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := evaluation.Of(made, known); err != nil {
			b.Fatal(err)
		}
	}
}
