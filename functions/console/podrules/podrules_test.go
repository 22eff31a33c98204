package podrules_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/functions/console/podrules"
)

// TestRules gives specs of pods, and wants what is found, as "FIELD: TEXT" in order.
func TestRules(t *testing.T) {
	const gpu = "containers: [{name: a, resources: {%s}}]"
	const spread = "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, " +
		"labelSelector: {matchLabels: {app: web}}%s}]"
	const anti = "affinity: {podAntiAffinity: {%s}}"
	required := func(term string) string {
		return fmt.Sprintf(anti, "requiredDuringSchedulingIgnoredDuringExecution: [{"+term+"}]")
	}
	for _, test := range []struct {
		name, spec string
		// refused and unmeant are parts of what is found; empty for nothing.
		refused, unmeant string
	}{
		{name: "nothing", spec: "containers: [{name: a}]"},
		{"request above limit", fmt.Sprintf(gpu, "requests: {cpu: 2}, limits: {cpu: 1}"),
			"spec.containers[0].resources.requests.cpu: 2: is more than the limit of 1", ""},
		{"equal", fmt.Sprintf(gpu, "requests: {cpu: 1}, limits: {cpu: 1000m}"), "", ""},
		{"negative", "overhead: {cpu: -1}", "spec.overhead.cpu: -1: want zero or more", ""},
		{"half a device", fmt.Sprintf(gpu, "limits: {nvidia.com/gpu: 500m}"),
			"spec.containers[0].resources.limits[nvidia.com/gpu]: 500m: want a whole number", ""},
		{"device without limit", fmt.Sprintf(gpu, "requests: {nvidia.com/gpu: 1}"), "has no limit", ""},
		{"device below its limit", fmt.Sprintf(gpu, "requests: {a.com/b: 1}, limits: {a.com/b: 2}"),
			"is not the limit of 2", ""},
		{"a device", fmt.Sprintf(gpu, "requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}"), "", ""},
		{"storage is shared", fmt.Sprintf(gpu, "requests: {ephemeral-storage: 1Gi}"), "", ""},
		{"init container", "initContainers: [{name: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]",
			"spec.initContainers[0].resources.requests.cpu", ""},
		{"whole pod too small", "resources: {requests: {cpu: 1}}\ncontainers: [{name: a, resources: {requests: {cpu: 600m}}}, " +
			"{name: b, resources: {requests: {cpu: 600m}}}]",
			"spec.resources.requests.cpu: 1: is less than the 1200m that its containers request together", ""},
		{"whole pod large enough", "resources: {requests: {cpu: 2}}\ncontainers: [{name: a, resources: {requests: {cpu: 2}}}]",
			"", ""},
		{"part of a byte", fmt.Sprintf(gpu, "requests: {memory: 512m}"), "",
			"spec.containers[0].resources.requests.memory: 512m: is a part of a byte"},
		{"port twice", "containers: [{name: a, ports: [{hostPort: 80, containerPort: 1}, {hostPort: 80, containerPort: 2}]}]",
			"spec.containers[0].ports[1].hostPort: 80: another port of the pod has it", ""},
		{"port of two addresses", "containers: [{name: a, ports: [{hostPort: 80, hostIP: 10.0.0.1}, " +
			"{hostPort: 80, hostIP: 10.0.0.2}]}]", "", ""},
		{"ports of containers that end", "initContainers: [{name: a, ports: [{hostPort: 80}]}]\n" +
			"containers: [{name: b, ports: [{hostPort: 80}]}]", "", ""},
		{"host network", "hostNetwork: true\ncontainers: [{name: a, ports: [{hostPort: 80, containerPort: 81}]}]",
			"with hostNetwork it is the containerPort, 81", ""},
		{"toleration without key", "tolerations: [{value: a}]", "spec.tolerations[0].key: is missing", ""},
		{"toleration of all", "tolerations: [{operator: Exists}]", "", ""},
		{"toleration with both", "tolerations: [{key: a, operator: Exists, value: b}]",
			"spec.tolerations[0].value: \"b\": the operator Exists has no value", ""},
		{"seconds", "tolerations: [{key: a, value: b, effect: NoSchedule, tolerationSeconds: 1}]",
			"spec.tolerations[0].tolerationSeconds: is for the effect NoExecute only", ""},
		{name: "spread", spec: fmt.Sprintf(spread, "")},
		{"no skew", strings.Replace(fmt.Sprintf(spread, ""), "maxSkew: 1", "maxSkew: 0", 1),
			"spec.topologySpreadConstraints[0].maxSkew: 0: want one or more", ""},
		{"no key", strings.Replace(fmt.Sprintf(spread, ""), "zone", `""`, 1),
			"spec.topologySpreadConstraints[0].topologyKey: is missing", ""},
		{"minDomains by preference", strings.Replace(fmt.Sprintf(spread, ", minDomains: 2"), "DoNotSchedule", "ScheduleAnyway", 1),
			"minDomains: 2: goes with whenUnsatisfiable: DoNotSchedule only", ""},
		{"no domains", fmt.Sprintf(spread, ", minDomains: 0"), "minDomains: 0: want one or more", ""},
		{"key in both", fmt.Sprintf(spread, ", matchLabelKeys: [app]"),
			"spec.topologySpreadConstraints[0].matchLabelKeys[0]: app: the labelSelector has it, too", ""},
		{"two of a key", fmt.Sprintf(spread, "}, {topologyKey: zone, maxSkew: 2, whenUnsatisfiable: DoNotSchedule, "+
			"labelSelector: {matchLabels: {app: web}}"),
			"spec.topologySpreadConstraints[1].topologyKey: zone: another constraint with DoNotSchedule has it", ""},
		{"selects nothing", "topologySpreadConstraints: [{topologyKey: zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]", "",
			"labelSelector: is missing"},
		{"selects others", strings.Replace(fmt.Sprintf(spread, ""), "app: web", "app: db", 1), "",
			"does not select the pod itself"},
		{"bad operator", strings.Replace(fmt.Sprintf(spread, ""), "matchLabels: {app: web}",
			"matchExpressions: [{key: app, operator: In}]", 1),
			"spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].values: Required value", ""},
		{"no topologyKey", required("labelSelector: {}"),
			"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: is missing", ""},
		{name: "term", spec: required("labelSelector: {}, topologyKey: zone")},
		{"weight", fmt.Sprintf(anti, "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, podAffinityTerm: "+
			"{topologyKey: zone, labelSelector: {}}}]"), "[0].weight: 0: want a number from 1 to 100", ""},
		{"weight of nodes", "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 101, " +
			"preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}", "[0].weight: 101", ""},
		{"no terms", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}",
			"nodeSelectorTerms: is empty", ""},
		{"In without values", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: " +
			"[{matchExpressions: [{key: a, operator: In}]}]}}}", "nodeSelectorTerms:", ""},
		{"label key", "nodeSelector: {\"a b\": c}", "spec.nodeSelector", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var spec corev1.PodSpec
			if err := yaml.UnmarshalStrict([]byte(test.spec), &spec); err != nil {
				t.Fatal(err)
			}
			pod := podrules.Pod{Spec: &spec, Labels: map[string]string{"app": "web"}, Path: document.Path{"spec"}}
			for _, found := range []struct {
				what, want string
				problems   []document.Problem
			}{
				{"refused", test.refused, podrules.Refused(pod)},
				{"unmeant", test.unmeant, podrules.Unmeant(pod)},
			} {
				var text string
				for _, problem := range found.problems {
					text += fmt.Sprintf("%s: %s\n", problem.Path, problem.Text)
				}
				if (text == "") != (found.want == "") || !strings.Contains(text, found.want) || strings.Count(text, "\n") > 1 {
					t.Errorf("%s: %q, want %q", found.what, text, found.want)
				}
			}
		})
	}
}
