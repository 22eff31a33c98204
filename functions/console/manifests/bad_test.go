package manifests

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadInput checks that each message names file, line, field, and what would be right.
func TestBadInput(t *testing.T) {
	pod := func(spec string) string { return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n" + spec }
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{
			"not yaml", "kind: Pod\n  bad: x\n", []string{`<stdin>:2: not YAML: mapping values are not allowed in this context`},
		},
		{
			"not json", "{\"kind\": \"Pod\",\n \"metadata\" {}}",
			[]string{`<stdin>:2: not JSON: invalid character '{' after object key`},
		},
		{"no object", "just words\n", []string{`<stdin>:1: kind: is missing: each object says it, such as kind: Pod`}},
		{
			"no kind", "apiVersion: v1\nmetadata: {name: a}\n",
			[]string{`<stdin>:1: kind: is missing: each object says it, such as kind: Pod`},
		},
		{"no apiVersion", "a: 1\n---\nkind: Pod\n", []string{
			`<stdin>:1: kind: is missing: each object says it, such as kind: Pod`,
			`<stdin>:3: apiVersion: is missing: each object says it, such as apiVersion: v1`,
		}},
		{
			"no name", "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n",
			[]string{`<stdin>:3: Pod: metadata.name: is missing`},
		},
		{"items", "apiVersion: v1\nkind: List\nitems: {}\n", []string{`<stdin>:3: List: items: want a list`}},
		{
			"wrong type", pod("  hostNetwork: 'yes'\n"),
			[]string{`<stdin>:6: Pod "web": spec.hostNetwork: "yes": want true or false`},
		},
		{"quantity", pod("  containers:\n  - name: c\n    resources:\n      requests:\n        memory: 2 GB\n"), []string{
			`<stdin>:10: Pod "web": spec.containers[0].resources.requests.memory: "2 GB": want a quantity such as 2Gi`,
		}},
		{"negative", pod("  containers:\n  - name: c\n    resources: {requests: {cpu: -1}}\n"), []string{
			`<stdin>:8: Pod "web": spec.containers[0].resources.requests.cpu: -1: want zero or more`,
		}},
		{"enums", pod("  tolerations:\n  - operator: Exist\n    effect: NoScheduel\n  topologySpreadConstraints:\n" +
			"  - topologyKey: a\n    maxSkew: 1\n"), []string{
			`<stdin>:7: Pod "web": spec.tolerations[0].operator: "Exist": want one of Exists, Equal, Lt, Gt: did you mean ` +
				`"Exists"?`,
			`<stdin>:8: Pod "web": spec.tolerations[0].effect: "NoScheduel": want one of NoSchedule, PreferNoSchedule, ` +
				`NoExecute: did you mean "NoSchedule"?`,
			`<stdin>:10: Pod "web": spec.topologySpreadConstraints[0].whenUnsatisfiable: is missing: want one of ` +
				`DoNotSchedule, ScheduleAnyway`,
			`<stdin>:10: spec.topologySpreadConstraints[0].labelSelector: is missing: the constraint counts no pod, and ` +
				`spreads nothing`,
		}},
		{"operator of a pod", pod("  affinity:\n    nodeAffinity:\n      requiredDuringSchedulingIgnoredDuringExecution:\n" +
			"        nodeSelectorTerms:\n        - matchExpressions:\n          - {key: a, operator: Inn, values: [b]}\n"),
			[]string{
				`<stdin>:11: Pod "web": ` +
					`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].` +
					`matchExpressions[0].operator: "Inn": want one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte: ` +
					`did you mean "In"?`,
			}},
		{"operator of a pool", "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: near}\nspec:\n  template:\n" +
			"    spec:\n      requirements:\n      - key: a\n        operator: Near\n", []string{
			`<stdin>:9: NodePool "near": spec.template.spec.requirements[0].operator: "Near": want one of In, NotIn, Exists, ` +
				`DoesNotExist, Gt, Lt, Gte, Lte`,
			`<stdin>:6: NodePool "near": spec.template.spec.nodeClassRef: is missing: name the node class by group, kind and ` +
				`name; a cluster would refuse it`,
		}},
		{"in a list", "{\"apiVersion\": \"v1\", \"kind\": \"PodList\", \"items\": [\n{\"metadata\": {\"name\": \"a\"}},\n" +
			"{\"metadata\": {\"name\": \"b\"},\n \"spec\": {\"priority\": \"high\"}}]}", []string{
			`<stdin>:4: Pod "b": spec.priority: "high": want a whole number`,
		}},
		{"a pool that a cluster would refuse", "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec:\n" +
			"  weight: 200\n  template:\n    spec:\n      requirements: []\n" +
			"      nodeClassRef: {group: g, kind: k, name: x}\n", []string{
			`<stdin>:5: NodePool "a": spec.weight: 200 is out of range: use a number from 1 to 100, or none`,
		}},
		{"a class that a cluster would refuse", "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\n" +
			"metadata: {name: a}\nspec:\n  role: r\n  instanceStorePolicy: RAID5\n" +
			"  amiSelectorTerms: [{alias: al2023@latest}]\n  subnetSelectorTerms: [{id: subnet-1}]\n" +
			"  securityGroupSelectorTerms: [{id: sg-1}]\n", []string{
			`<stdin>:6: EC2NodeClass "a": spec.instanceStorePolicy: "RAID5" is not a policy: use RAID0, or none`,
		}},
		{"an overlay that a cluster would refuse", "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\n" +
			"metadata: {name: a}\nspec:\n  requirements: []\n  weight: -1\n  priceAdjustment: '-1%'\n", []string{
			`<stdin>:6: NodeOverlay "a": spec.weight: -1 is out of range: use a number from 1 to 10000, or none`,
		}},
		{"overlay's price", "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: o}\nspec:\n" +
			"  requirements: []\n  price: 0.5\n", []string{
			`<stdin>:6: NodeOverlay "o": spec.price: 0.5: want text: put it in quotes`,
		}},
		{"names", "apiVersion: v1\nkind: Pod\nmetadata: {name: Web}\n---\napiVersion: v1\nkind: Namespace\n" +
			"metadata: {name: a.b}\n", []string{
			`<stdin>:3: Pod "Web": metadata.name: want lower case letters, digits, "-" and ".", as in web-1`,
		}},
		{"a template", "a: {{ .Values.a }}\n", []string{
			"<stdin>:1: not YAML: invalid map key: map[interface {}]interface {}{\".Values.a\":interface {}(nil)}: " +
				"it looks like a template: render it first, as with `helm template`",
		}},
		{"replicas", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: -1\n---\n" +
			"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n  replicas: 2000000000\n" +
			"  volumeClaimTemplates: [{metadata: {}}]\n", []string{
			`<stdin>:5: Deployment "d": spec.replicas: is negative: want zero or more`,
			`<stdin>:4: Deployment "d": spec.selector: is missing: it selects the labels of spec.template`,
			`<stdin>:11: StatefulSet "s": spec.replicas: is more than the 150000 pods that a cluster can have`,
			`<stdin>:12: StatefulSet "s": spec.volumeClaimTemplates[0].metadata.name: is missing`,
			`<stdin>:10: StatefulSet "s": spec.selector: is missing: it selects the labels of spec.template`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read([]string{"-"}, strings.NewReader(test.text))
			if err == nil {
				t.Fatal("no error")
			}
			if got, want := err.Error(), strings.Join(test.want, "\n"); got != want {
				t.Errorf("error is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestFewErrorsAreTold(t *testing.T) {
	_, err := Read([]string{"-"}, strings.NewReader(strings.Repeat("apiVersion: v1\nkind: Pod\n---\n", 50)))
	if err == nil || strings.Count(err.Error(), "\n") != maximumErrors ||
		!strings.HasSuffix(err.Error(), "and 30 errors more") {
		t.Errorf("error is %v", err)
	}
}

func TestFiles(t *testing.T) {
	folder := t.TempDir()
	if _, err := Read([]string{folder}, nil); err == nil ||
		!strings.Contains(err.Error(), "has no file whose name ends in .yaml, .yml or .json") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Read([]string{filepath.Join(folder, "none.yaml")}, nil); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("no file: %v", err)
	}
	for name, text := range map[string]string{
		"b.yml":  "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n",
		"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "README.md": "# no manifest\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Read([]string{folder, "-"}, strings.NewReader("apiVersion: v1\nkind: Pod\nmetadata: {name: c}\n"))
	if err != nil || len(m.Pods) != 3 || m.Pods[0].Name != "a" || m.Pods[1].Name != "b" || m.Pods[2].Name != "c" {
		t.Errorf("pods are %v, %v", m, err)
	}
}
