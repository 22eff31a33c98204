package machine

import (
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func testAuthority() string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("any")}))
}

// nodeConfigText is a complete NodeConfig with more lines at its end.
func nodeConfigText(kubelet string) string {
	return `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: prod
    apiServerEndpoint: https://127.0.0.1:6443
    certificateAuthority: ` + testAuthority() + `
    cidr: 10.100.0.0/16
` + kubelet
}

func multipartOf(parts ...string) string {
	text := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n"
	for _, part := range parts {
		text += "--//\n" + part + "\n"
	}
	return text + "--//--\n"
}

func part(media, body string) string { return "Content-Type: " + media + "\n\n" + body }

func TestParseUserDataGood(t *testing.T) {
	kubelet := `  kubelet:
    config:
      maxPods: 29
      clusterDNS: [10.100.0.10]
      kubeReserved: {memory: 500Mi}
      evictionHard: {memory.available: 5%}
      registerWithTaints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
    flags:
    - --node-labels=karpenter.sh/nodepool=default,team=blue
`
	for name, text := range map[string]string{
		"plain": nodeConfigText(kubelet),
		"quoted flag": nodeConfigText(strings.Replace(kubelet, "--node-labels=karpenter.sh/nodepool=default,team=blue",
			`--node-labels="karpenter.sh/nodepool=default,team=blue"`, 1)),
		"one part": multipartOf(part("application/node.eks.aws", nodeConfigText(kubelet))),
		"a script beside": multipartOf(part("text/x-shellscript; charset=\"us-ascii\"", "#!/bin/sh\necho"),
			part("application/node.eks.aws", nodeConfigText(kubelet))),
		"two merged": multipartOf(
			part("application/node.eks.aws",
				"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config: {maxPods: 5, "+
					"imageGCHighThresholdPercent: 90}\n"),
			part("application/node.eks.aws", nodeConfigText(kubelet))),
	} {
		t.Run(name, func(t *testing.T) {
			config, err := readNodeadm(base64.StdEncoding.EncodeToString([]byte(text)))
			if err != nil {
				t.Fatal(err)
			}
			settings, err := config.settings(largeType(t))
			if err != nil {
				t.Fatal(err)
			}
			if settings.maxPods != 29 || settings.labels["team"] != "blue" ||
				settings.labels["karpenter.sh/nodepool"] != "default" {
				t.Errorf("settings are %+v", settings)
			}
			if len(settings.taints) != 1 || settings.taints[0].Key != "karpenter.sh/unregistered" ||
				settings.taints[0].Effect != corev1.TaintEffectNoExecute {
				t.Errorf("taints are %v", settings.taints)
			}
		})
	}
}

func TestParseUserDataBroken(t *testing.T) {
	without := func(line string) string {
		var kept []string
		for l := range strings.SplitSeq(nodeConfigText(""), "\n") {
			if !strings.Contains(l, line) {
				kept = append(kept, l)
			}
		}
		return strings.Join(kept, "\n")
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "user data is empty"},
		{"a script alone", "#!/bin/bash\n/etc/eks/bootstrap.sh prod\n", "no part of type application/node.eks.aws"},
		{"prose", "hello", "neither a NodeConfig nor a MIME document"},
		{"multipart without a NodeConfig", multipartOf(part("text/x-shellscript", "#!/bin/sh")), "no part of type"},
		{
			"multipart cut off",
			strings.TrimSuffix(multipartOf(part("application/node.eks.aws", nodeConfigText(""))), "--//--\n"), "MIME part",
		},
		{"no name", without("name: prod"), "spec.cluster.name is missing"},
		{"no endpoint", without("apiServerEndpoint"), "spec.cluster.apiServerEndpoint is missing"},
		{"no authority", without("certificateAuthority"), "spec.cluster.certificateAuthority is missing"},
		{"no cidr", without("cidr"), "spec.cluster.cidr is missing"},
		{"http", strings.Replace(nodeConfigText(""), "https://", "http://", 1), "not an https URL"},
		{
			"authority of rubbish", strings.Replace(nodeConfigText(""), testAuthority(), "cnViYmlzaA==", 1),
			"not base64 of a PEM certificate",
		},
		{"wrong version", strings.Replace(nodeConfigText(""), "v1alpha1", "v1", 1), `apiVersion "node.eks.aws/v1"`},
		{"unknown field", nodeConfigText("  colour: red\n"), "unknown field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readNodeadm(base64.StdEncoding.EncodeToString([]byte(c.text)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
		})
	}
	if _, err := readNodeadm("%%%"); err == nil {
		t.Error("what is not base64 was accepted")
	}
}

func TestKubeletRefusesBadSettings(t *testing.T) {
	for _, c := range []struct{ name, kubelet, want string }{
		{"unknown field", "    config: {maxPod: 29}\n", "unknown field"},
		{"maxPods of text", "    config: {maxPods: many}\n", "KubeletConfiguration"},
		{"bad amount", "    config: {kubeReserved: {memory: lots}}\n", "kubeReserved"},
		{"reserved pods", "    config: {systemReserved: {pods: 3}}\n", "only cpu, memory"},
		{"bad threshold", "    config: {evictionHard: {memory.available: 200%}}\n", "evictionHard"},
		{"bad taint", "    config: {registerWithTaints: [{key: a, effect: Never}]}\n", "registerWithTaints"},
		{"reserved label", "    flags: [\"--node-labels=node-role.kubernetes.io/worker=\"]\n", "unknown 'kubernetes.io'"},
		{"label without value", "    flags: [\"--node-labels=alone\"]\n", "key=value"},
		{"unknown flag", "    flags: [\"--fast=true\"]\n", "unknown flag"},
		{"flag with an open quote", "    flags: ['--node-labels=\"team=blue']\n", "quotes do not match"},
		{"flag of a word", "    flags: [fast]\n", "--name=value"},
		{
			"soft eviction without grace", "    config: {evictionSoft: {memory.available: 500Mi}}\n",
			"grace period must be specified",
		},
		{"unknown signal", "    config: {evictionHard: {memory.free: 500Mi}}\n", "the kubelet knows the signals"},
		{
			"image thresholds the wrong way round",
			"    config: {imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60}\n",
			"more than imageGCLowThresholdPercent",
		},
		{"negative pods per core", "    config: {podsPerCore: -1}\n", "podsPerCore is -1"},
		{"taint without effect", "    flags: [\"--register-with-taints=a=b\"]\n", "no effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := readNodeadm(base64.StdEncoding.EncodeToString([]byte(nodeConfigText("  kubelet:\n" + c.kubelet))))
			if err == nil {
				_, err = config.settings(largeType(t))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestAllocatable(t *testing.T) {
	facts := largeType(t)
	config, err := readNodeadm(base64.StdEncoding.EncodeToString([]byte(nodeConfigText(""))))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := config.settings(facts)
	if err != nil {
		t.Fatal(err)
	}
	r := capacityOf(&ec2.Instance{
		Facts: facts, Volumes: map[string]int{"/dev/xvda": 20},
		Image: ec2.Image{Devices: []ec2.ImageDevice{{Name: "/dev/xvda", SizeGiB: 20}}},
	}, settings, 0.07, "")
	for _, c := range []struct {
		name corev1.ResourceName
		of   corev1.ResourceList
		want string
	}{
		// m5.large: 2 vCPUs, 8 GiB, 3 interfaces of 10 addresses.
		{corev1.ResourcePods, r.capacity, "29"},
		{corev1.ResourceCPU, r.capacity, "2"},
		{corev1.ResourceCPU, r.allocatable, "1930m"},
		{corev1.ResourceMemory, r.capacity, "7801404Ki"},
		{corev1.ResourceMemory, r.allocatable, "7111228Ki"}, // less 574Mi reserved and 100Mi of the eviction threshold
		{corev1.ResourceEphemeralStorage, r.allocatable, "18253611008"},
	} {
		if got := c.of[c.name]; got.Cmp(quantity(t, c.want)) != 0 {
			t.Errorf("%s is %s, want %s", c.name, got.String(), c.want)
		}
	}
}

func largeType(t *testing.T) builtin.InstanceType {
	t.Helper()
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, facts := range all {
		if facts.Name == "m5.large" {
			return facts
		}
	}
	t.Fatal("the table has no m5.large")
	return builtin.InstanceType{}
}

func quantity(t *testing.T, text string) resource.Quantity {
	t.Helper()
	q, err := resource.ParseQuantity(text)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// readNodeadm reads user data as Amazon Linux 2023 does.
func readNodeadm(encoded string) (*joining, error) {
	return readUserData(ec2.Image{Family: ec2.FamilyAL2023}, encoded, noClusters)
}

func noClusters(string) (clusterFacts, bool) { return clusterFacts{}, false }
