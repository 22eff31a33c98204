package conversion

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api/legacy"
)

var update = flag.Bool("update", false, "write the golden files anew")

func convertText(t *testing.T, text string) *Result {
	t.Helper()
	result, err := Convert([]string{"-"}, strings.NewReader(text), legacy.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestConvert compares with a golden file. Converting that again changes nothing.
func TestConvert(t *testing.T) {
	old, err := os.ReadFile("testdata/old.yaml")
	if err != nil {
		t.Fatal(err)
	}
	result := convertText(t, string(old))
	if *update {
		if err := os.WriteFile("testdata/new.yaml", result.Text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/new.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if string(result.Text) != string(want) {
		t.Errorf("got\n%s\nwant testdata/new.yaml (-update writes it)", result.Text)
	}
	if len(result.Blocking) > 0 {
		t.Errorf("left to people: %v", result.Blocking)
	}
	if again := convertText(t, string(want)); string(again.Text) != string(want) {
		t.Errorf("a second conversion gives\n%s", again.Text)
	}
}

// TestConvertBeta converts a list as kubectl prints it.
func TestConvertBeta(t *testing.T) {
	result := convertText(t, `
apiVersion: v1
kind: List
items:
- apiVersion: karpenter.sh/v1beta1
  kind: NodePool
  metadata: {name: a, uid: x, resourceVersion: "7"}
  spec:
    template: {spec: {requirements: [], nodeClassRef: {name: c}, kubelet: {maxPods: 20}}}
    disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s, expireAfter: Never}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: kept}
- apiVersion: karpenter.k8s.aws/v1beta1
  kind: EC2NodeClass
  metadata: {name: c}
  spec:
    amiFamily: Ubuntu
    role: nodes
    subnetSelectorTerms: [{id: subnet-1}]
    securityGroupSelectorTerms: [{id: sg-1}]
`)
	for _, want := range []string{
		"# From NodePool \"a\".\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: a\n",
		"---\napiVersion: v1\nkind: ConfigMap\n", "maxPods: 20\n", "# CHANGE THIS: spec.amiFamily: no Ubuntu images",
	} {
		if !strings.Contains(string(result.Text), want) {
			t.Errorf("got\n%s\nwithout\n%s", result.Text, want)
		}
	}
	if len(result.Blocking) != 1 {
		t.Errorf("left to people: %v, want the family", result.Blocking)
	}
}

// TestBadInput checks that a fault names file, line, object and field.
func TestBadInput(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec:\n  weight: heavy\n": `<stdin>:5: ` +
			`Provisioner "a": spec.weight: "heavy": want a whole number`,
		"a: [": `<stdin>:1: not YAML`,
	} {
		_, err := Convert([]string{"-"}, strings.NewReader(text), legacy.Settings{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", text, err, want)
		}
	}
}

// TestUnreadableProvider keeps what cannot be converted as a comment beside the pool.
func TestUnreadableProvider(t *testing.T) {
	result := convertText(t, "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\n"+
		"spec: {provider: {tags: 7}}\n")
	if text := string(result.Text); !strings.Contains(text, "# CHANGE THIS: spec.provider: cannot be read") ||
		len(result.Blocking) == 0 {
		t.Errorf("got\n%s\nand %v", text, result.Blocking)
	}
}
