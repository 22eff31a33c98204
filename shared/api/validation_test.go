package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type object interface {
	Default()
	Validate() error
}

// fault is a manifest's part and what Validate says about it.
type fault struct {
	name string
	yaml string
	path string // of the one FieldError; empty where there is none
	want string // part of its problem
}

// checkFaults puts each part into a manifest in the place of PART, and looks for
// exactly the fault that is wanted.
func checkFaults(t *testing.T, manifest string, faults []fault, decode func([]byte) (object, error)) {
	t.Helper()
	for _, test := range faults {
		t.Run(test.name, func(t *testing.T) {
			o, err := decode([]byte(strings.Replace(manifest, "PART", test.yaml, 1)))
			if err != nil {
				t.Fatal(err)
			}
			o.Default()
			checkFault(t, o.Validate(), test.path, test.want)
		})
	}
}

func checkFault(t *testing.T, err error, path, want string) {
	t.Helper()
	found := fieldErrors(err)
	if path == "" {
		if err != nil {
			t.Errorf("got %v, want nothing", err)
		}
		return
	}
	if len(found) != 1 {
		t.Fatalf("got %d faults, want one at %s: %v", len(found), path, err)
	}
	f := found[0]
	if f.Path != path || !strings.Contains(f.Error(), want) {
		t.Errorf("got  %v\nwant %s with %q", f, path, want)
	}
	if !strings.HasPrefix(f.Error(), fmt.Sprintf("%s %q: %s", f.Kind, "a", path)) {
		t.Errorf("%v does not name its object", f)
	}
}

// fieldErrors takes a joined error apart.
func fieldErrors(err error) []*FieldError {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var found []*FieldError
	for _, e := range joined.Unwrap() {
		var f *FieldError
		if errors.As(e, &f) {
			found = append(found, f)
		}
	}
	return found
}

func decodeInto[T any, P interface {
	*T
	object
}](text []byte) (object, error) {
	o := P(new(T))
	err := yaml.UnmarshalStrict(text, o)
	return o, err
}

func TestRequirements(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [PART]
`
	const at = "spec.requirements[0]"
	checkFaults(t, manifest, []fault{
		{"In", `{key: a, operator: In, values: [b]}`, "", ""},
		{"In without values", `{key: a, operator: In}`, at + ".values", "needs at least one value"},
		{"NotIn without values", `{key: a, operator: NotIn}`, "", ""},
		{"Exists", `{key: a, operator: Exists}`, "", ""},
		{"DoesNotExist", `{key: a, operator: DoesNotExist}`, "", ""},
		{"Gt", `{key: a, operator: Gt, values: ["0"]}`, "", ""},
		{"Lte", `{key: a, operator: Lte, values: ["8"]}`, "", ""},
		{"Gt without values", `{key: a, operator: Gt}`, at + ".values", "needs exactly one"},
		{"Lt with two values", `{key: a, operator: Lt, values: ["1", "2"]}`, at + ".values", "has 2 values"},
		{"Gte with a fraction", `{key: a, operator: Gte, values: ["1.5"]}`, at + ".values[0]", `"1.5" is no integer`},
		{"Lt with a negative number", `{key: a, operator: Lt, values: ["-1"]}`, at + ".values[0]", `"-1" is no integer`},
		{"Gt with a sign", `{key: a, operator: Gt, values: ["+1"]}`, at + ".values[0]", `"+1" is no integer`},
		{
			"an unknown operator", `{key: a, operator: Near, values: [b]}`, at + ".operator",
			`"Near" is not an operator: use one of In, NotIn`,
		},
		{"no operator", `{key: a, values: [b]}`, at + ".operator", `"" is not an operator`},
		{"a key that is none", `{key: "a b", operator: Exists}`, at + ".key", "is not a label key"},
		{"a value that is none", `{key: a, operator: In, values: ["b c"]}`, at + ".values[0]", "is not a label value"},
		{
			"a value of 64 characters", `{key: a, operator: In, values: [` + strings.Repeat("b", 64) + `]}`,
			at + ".values[0]", "63",
		},

		{"minValues of 1", `{key: a, operator: In, values: [b], minValues: 1}`, "", ""},
		{"minValues of 50", `{key: a, operator: Exists, minValues: 50}`, "", ""},
		{"minValues of 0", `{key: a, operator: Exists, minValues: 0}`, at + ".minValues", "from 1 to 50"},
		{"minValues of 51", `{key: a, operator: Exists, minValues: 51}`, at + ".minValues", "from 1 to 50"},
		{
			"more minValues than values", `{key: a, operator: In, values: [b], minValues: 2}`, at + ".minValues",
			"more than the 1 values",
		},
		{"minValues without values where there is no list", `{key: a, operator: NotIn, values: [b], minValues: 2}`, "", ""},

		{"capacity types", `{key: karpenter.sh/capacity-type, operator: In, values: [on-demand, spot, reserved]}`, "", ""},
		{
			"no capacity type that there is", `{key: karpenter.sh/capacity-type, operator: In, values: [cheap, free]}`,
			at + ".values", "on-demand, reserved, spot",
		},
		{
			"one capacity type that there is not",
			`{key: karpenter.sh/capacity-type, operator: In, values: [spot, free]}`, "", "",
		},
		{
			"NotIn a capacity type that there is not",
			`{key: karpenter.sh/capacity-type, operator: NotIn, values: [free]}`, "", "",
		},
		{
			"minValues above the capacity types that there are",
			`{key: karpenter.sh/capacity-type, operator: In, values: [spot, free], minValues: 2}`, at + ".minValues",
			"more than the 1 values",
		},
		{
			"no tenancy that there is", `{key: karpenter.k8s.aws/instance-tenancy, operator: In, values: [host]}`,
			at + ".values", "dedicated, default",
		},

		{"the zone", `{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}`, "", ""},
		{
			"the zone by its old name",
			`{key: failure-domain.beta.kubernetes.io/zone, operator: In, values: [us-east-1a]}`, "", "",
		},
		{"a label of node.kubernetes.io", `{key: node.kubernetes.io/custom, operator: Exists}`, "", ""},
		{"a label of kubernetes.io", `{key: kubernetes.io/custom, operator: Exists}`, "", ""},
		{"a label of one's own", `{key: example.com/team, operator: Exists}`, "", ""},
		{"a label of a domain that only ends alike", `{key: mykarpenter.sh/team, operator: Exists}`, "", ""},
		{"the pool, of a claim", `{key: karpenter.sh/nodepool, operator: In, values: [b]}`, "", ""},
		{"the class, of a claim", `{key: karpenter.k8s.aws/ec2nodeclass, operator: In, values: [b]}`, "", ""},
		{"the host name", `{key: kubernetes.io/hostname, operator: In, values: [b]}`, at + ".key", "cannot be chosen"},
		{"a reserved label", `{key: karpenter.sh/initialized, operator: Exists}`, at + ".key", "cannot be chosen"},
		{"a reserved label of a lower domain", `{key: x.karpenter.sh/a, operator: Exists}`, at + ".key", "cannot be chosen"},
		{
			"a reserved label of AWS", `{key: karpenter.k8s.aws/instance-pods, operator: Exists}`, at + ".key",
			"cannot be chosen",
		},
	}, decodeInto[NodeClaim])
}

func TestInstanceTypeLabelsMayBeRequired(t *testing.T) {
	for _, key := range WellKnownLabels() {
		f := &findings{kind: NodeClaimKind, name: "a"}
		f.validateRequirements(
			"spec.requirements", []NodeSelectorRequirementWithMinValues{{Key: key, Operator: "Exists"}}, false,
		)
		if err := f.err(); err != nil {
			t.Error(err)
		}
	}
}

func TestNodeClaims(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  requirements: []
  PART
`
	const class = `nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}`
	checkFaults(t, manifest, []fault{
		{"a class", class, "", ""},
		{"no class", `taints: []`, "spec.nodeClassRef", "is missing"},
		{
			"no class name", `nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass}`, "spec.nodeClassRef.name",
			"is empty",
		},
		{"no class kind", `nodeClassRef: {group: karpenter.k8s.aws, name: default}`, "spec.nodeClassRef.kind", "is empty"},
		{
			"no class group", `nodeClassRef: {kind: EC2NodeClass, name: default}`, "spec.nodeClassRef.group",
			"such as karpenter.k8s.aws",
		},
		{
			"a class group with its version",
			`nodeClassRef: {group: karpenter.k8s.aws/v1, kind: EC2NodeClass, name: default}`,
			"spec.nodeClassRef.group", "without its version",
		},
		{"resources", class + "\n  resources: {requests: {cpu: 100m}}", "", ""},
		{
			"negative resources", class + "\n  resources: {requests: {cpu: -100m}}", "spec.resources.requests[cpu]",
			"is negative",
		},
		{"a negative expiry", class + "\n  expireAfter: -1h", "spec.expireAfter", "is negative"},
		{"no expiry", class + "\n  expireAfter: Never", "", ""},
		{"a negative grace period", class + "\n  terminationGracePeriod: -1h", "spec.terminationGracePeriod", "is negative"},
	}, decodeInto[NodeClaim])
}

func TestTaints(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  requirements: []
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  PART
`
	checkFaults(t, manifest, []fault{
		{
			"taints and startup taints",
			"taints: [{key: a, effect: NoSchedule}]\n  startupTaints: [{key: b, value: c, effect: PreferNoSchedule}]",
			"", "",
		},
		{"the same key with another effect", "taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]", "", ""},
		{
			"the same key and effect",
			"taints: [{key: a, value: b, effect: NoSchedule}, {key: a, value: c, effect: NoSchedule}]",
			"spec.taints[1]", "has the key and effect of spec.taints[0]",
		},
		{
			"the same in both lists",
			"taints: [{key: a, effect: NoSchedule}]\n  startupTaints: [{key: a, effect: NoSchedule}]",
			"spec.startupTaints[0]", "has the key and effect of spec.taints[0]",
		},
		{"no key", "taints: [{key: '', effect: NoSchedule}]", "spec.taints[0].key", "is empty"},
		{"a key that is none", "taints: [{key: a b, effect: NoSchedule}]", "spec.taints[0].key", "is not a taint's key"},
		{
			"a value that is none", "startupTaints: [{key: a, value: b c, effect: NoSchedule}]",
			"spec.startupTaints[0].value", "is not a taint's value",
		},
		{"no effect", "taints: [{key: a, effect: ''}]", "spec.taints[0].effect", "use NoSchedule"},
		{"an unknown effect", "taints: [{key: a, effect: Never}]", "spec.taints[0].effect", `"Never" is not an effect`},
	}, decodeInto[NodeClaim])
}

func TestNodePools(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  PART
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`
	checkFaults(t, manifest, []fault{
		{"nothing more", `limits: {}`, "", ""},
		{"limits", `limits: {cpu: 100, memory: 1Ti, nodes: 10, nvidia.com/gpu: 4}`, "", ""},
		{"a negative limit", `limits: {cpu: -1}`, "spec.limits[cpu]", "is negative"},
		{"weight of 1", `weight: 1`, "", ""},
		{"weight of 100", `weight: 100`, "", ""},
		{"weight of 0", `weight: 0`, "spec.weight", "from 1 to 100"},
		{"weight of 101", `weight: 101`, "spec.weight", "from 1 to 100"},
		{"replicas", "replicas: 0\n  limits: {nodes: 5}", "", ""},
		{"negative replicas", `replicas: -1`, "spec.replicas", "is negative"},
		{"replicas and weight", "replicas: 1\n  weight: 1", "spec.weight", "remove weight"},
		{"replicas and a limit of CPU", "replicas: 1\n  limits: {nodes: 5, cpu: 5}", "spec.limits[cpu]", "limit nodes only"},

		{"consolidation never", `disruption: {consolidateAfter: Never}`, "", ""},
		{
			"consolidation in the past", `disruption: {consolidateAfter: -1s}`, "spec.disruption.consolidateAfter",
			"is negative",
		},
		{"the policy Balanced", `disruption: {consolidationPolicy: Balanced}`, "", ""},
		{
			"an unknown policy", `disruption: {consolidationPolicy: WhenUnderutilized}`,
			"spec.disruption.consolidationPolicy", "use WhenEmpty, WhenEmptyOrUnderutilized or Balanced",
		},
		{"no budget at all", `disruption: {budgets: []}`, "", ""},
	}, decodeInto[NodePool])
}

func TestBudgets(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  disruption:
    budgets: [PART]
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`
	const at = "spec.disruption.budgets[0]"
	checkFaults(t, manifest, []fault{
		{"the default", `{}`, "", ""},
		{"a number", `{nodes: "5"}`, "", ""},
		{"none", `{nodes: "0"}`, "", ""},
		{"all", `{nodes: 100%}`, "", ""},
		{"more than all", `{nodes: 101%}`, at + ".nodes", "neither a number nor a percentage"},
		{"less than none", `{nodes: "-1"}`, at + ".nodes", "neither a number nor a percentage"},
		{"a fraction", `{nodes: "1.5"}`, at + ".nodes", "neither a number nor a percentage"},
		{"too many", `{nodes: "99999999999"}`, at + ".nodes", "more nodes than can be counted"},
		{"reasons", `{nodes: "1", reasons: [Empty, Drifted, Underutilized]}`, "", ""},
		{"an unknown reason", `{nodes: "1", reasons: [Expired]}`, at + ".reasons[0]", "use Underutilized, Empty, Drifted or Unhealthy"},
		{"a reason twice", `{nodes: "1", reasons: [Empty, Empty]}`, at + ".reasons[1]", "is there twice"},
		{"a schedule", `{nodes: "1", schedule: "0 9 * * mon-fri", duration: 8h}`, "", ""},
		{"a schedule by name", `{nodes: "1", schedule: "@midnight", duration: 1h30m}`, "", ""},
		{
			"a schedule of four fields", `{nodes: "1", schedule: "0 9 * *", duration: 8h}`, at + ".schedule",
			"use five cron fields",
		},
		{
			"a schedule with an hour that there is not", `{nodes: "1", schedule: "0 25 * * *", duration: 8h}`,
			at + ".schedule", "use five cron fields",
		},
		{
			"a schedule by an unknown name", `{nodes: "1", schedule: "@noon", duration: 8h}`, at + ".schedule",
			"use five cron fields",
		},
		{
			"a schedule by interval", `{nodes: "1", schedule: "@every 2h", duration: 1h}`, at + ".schedule",
			"instead of @every",
		},
		{
			"a schedule with a time zone", `{nodes: "1", schedule: "TZ=Europe/Berlin 0 9 * * *", duration: 1h}`,
			at + ".schedule", "its time zone stands beside it",
		},
		{"an empty schedule", `{nodes: "1", schedule: "", duration: 1h}`, at + ".schedule", "use five cron fields"},
		{"a schedule without duration", `{nodes: "1", schedule: "@daily"}`, at + ".duration", "is missing"},
		{"a duration without schedule", `{nodes: "1", duration: 1h}`, at + ".schedule", "is missing"},
		{"a duration with seconds", `{nodes: "1", schedule: "@daily", duration: 90s}`, at + ".duration", "whole minutes"},
		{"a negative duration", `{nodes: "1", schedule: "@daily", duration: -1h}`, at + ".duration", "whole minutes"},
	}, decodeInto[NodePool])
}

func TestTemplates(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  template:
    metadata:
      labels: {PART}
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`
	checkFaults(t, manifest, []fault{
		{"a label of one's own", `example.com/team: a`, "", ""},
		{"a label of an instance type", `karpenter.k8s.aws/instance-family: m7g`, "", ""},
		{"the capacity type", `karpenter.sh/capacity-type: spot`, "", ""},
		{
			"the pool", `karpenter.sh/nodepool: b`, "spec.template.metadata.labels[karpenter.sh/nodepool]",
			"set by the pool itself",
		},
		{
			"the host name", `kubernetes.io/hostname: b`, "spec.template.metadata.labels[kubernetes.io/hostname]",
			"cannot be chosen",
		},
		{
			"a reserved label", `karpenter.sh/registered: "true"`,
			"spec.template.metadata.labels[karpenter.sh/registered]", "cannot be chosen",
		},
		{"a key that is none", `"a b": c`, "spec.template.metadata.labels[a b]", "is not a label key"},
		{"a value that is none", `a: b c`, "spec.template.metadata.labels[a]", "is not a label value"},
	}, decodeInto[NodePool])
}

func TestEveryFaultOfAPoolIsReported(t *testing.T) {
	o, err := decodeInto[NodePool]([]byte(`
metadata: {name: a}
spec:
  weight: 1000
  template:
    spec:
      requirements: [{key: karpenter.sh/nodepool, operator: In, values: [b]}, {key: a, operator: Near}]
`))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range fieldErrors(o.Validate()) {
		paths = append(paths, f.Path)
	}
	for _, want := range []string{
		"spec.template.spec.requirements[0].key", "spec.template.spec.requirements[1].operator",
		"spec.template.spec.nodeClassRef", "spec.weight",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not reported, only %q", want, paths)
		}
	}
}

func TestWarnings(t *testing.T) {
	o, err := decodeInto[NodePool]([]byte(`
metadata: {name: a}
spec:
  template:
    spec:
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, free]}
      - {key: example.com/a, operator: In, values: [free]}
      - {key: karpenter.sh/capacity-type, operator: NotIn, values: [free]}
`))
	if err != nil {
		t.Fatal(err)
	}
	warnings := o.(*NodePool).Warnings()
	if len(warnings) != 1 ||
		!strings.Contains(warnings[0], `NodePool "a": spec.template.spec.requirements[0].values[1]: "free" is ignored`) {
		t.Errorf("got %q", warnings)
	}
}
