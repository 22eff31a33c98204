package nodeclass

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestSettingsOfUserDataCount reads the settings that a plan counts from the user data of each family.
func TestSettingsOfUserDataCount(t *testing.T) {
	const config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n"
	maxPods := func(n int32) func(*api.EC2NodeClass) {
		return func(c *api.EC2NodeClass) { c.Spec.Kubelet = &api.KubeletConfiguration{MaxPods: &n} }
	}
	bottlerocket := func(c *api.EC2NodeClass) {
		c.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "bottlerocket@latest"}}
	}
	for _, test := range []struct {
		name, data string
		change     []func(*api.EC2NodeClass)
		// want is the kubelet of the planned class.
		want string
	}{
		{name: "none", want: "null"},
		{name: "a script", data: "#!/bin/bash\necho maxPods: 3\n", want: "null"},
		{name: "a NodeConfig", data: config + "    config: {maxPods: 10, kubeReserved: {memory: 2Gi}, clusterDNS: [10.0.0.1]}\n",
			want: `{"maxPods":10,"kubeReserved":{"memory":"2Gi"}}`},
		{name: "the class wins", data: config + "    config: {maxPods: 10, podsPerCore: 4}\n",
			change: []func(*api.EC2NodeClass){maxPods(20)}, want: `{"maxPods":20,"podsPerCore":4}`},
		{name: "flags win", data: config + "    config: {maxPods: 10}\n    flags: [--max-pods=5, --eviction-hard=memory.available<1Gi]\n",
			change: []func(*api.EC2NodeClass){maxPods(20)},
			want:   `{"maxPods":5,"evictionHard":{"memory.available":"1Gi"}}`},
		{name: "MIME", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"X\"\n\n" +
			"--X\nContent-Type: application/node.eks.aws\n\n" + config + "    config: {maxPods: 10, systemReserved: {cpu: 1}}\n" +
			"\n--X\nContent-Type: application/node.eks.aws\n\n" + config + "    config: {maxPods: 11}\n\n--X--\n",
			want: `{"maxPods":11}`},
		{name: "a later part adds", data: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"X\"\n\n" +
			"--X\nContent-Type: application/node.eks.aws\n\n" + config + "    config: {systemReserved: {cpu: 100m}}\n" +
			"\n--X\nContent-Type: application/node.eks.aws\n\n" + config + "    config: {maxPods: 11}\n\n--X--\n",
			want: `{"maxPods":11,"systemReserved":{"cpu":"100m"}}`},
		{name: "not to be read", data: config + "    config: 3\n", want: "null"},
		{name: "Bottlerocket", data: "[settings.kubernetes]\nmax-pods = 10\n[settings.kubernetes.kube-reserved]\ncpu = \"1\"\n",
			change: []func(*api.EC2NodeClass){bottlerocket}, want: `{"maxPods":10,"kubeReserved":{"cpu":"1"}}`},
		{name: "Bottlerocket without", data: "[settings.host-containers.admin]\nenabled = true\n",
			change: []func(*api.EC2NodeClass){bottlerocket}, want: "null"},
	} {
		t.Run(test.name, func(t *testing.T) {
			given := class(test.data, test.change...)
			before, err := json.Marshal(given)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(Planned(given).Spec.Kubelet)
			if err != nil || string(got) != test.want {
				t.Errorf("%s %v, want %s", got, err, test.want)
			}
			if after, _ := json.Marshal(given); string(after) != string(before) {
				t.Errorf("the class became %s", after)
			}
		})
	}
}

// TestNodeConfigsThatNodeadmCannotRead gives fields other types than nodeadm has.
func TestNodeConfigsThatNodeadmCannotRead(t *testing.T) {
	for spec, want := range map[string]string{
		`kubelet: {flags: "--a"}`:             "spec.kubelet.flags must be a list",
		`kubelet: {config: [maxPods]}`:        "spec.kubelet.config must be a mapping",
		`containerd: {config: {version: 2}}`:  "spec.containerd.config must be a text",
		`instance: {localStorage: RAID0}`:     "spec.instance.localStorage must be a mapping",
		`featureGates: {FastImagePull: "on"}`: "must be true or false",
	} {
		data := "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {" + spec + "}\n"
		if _, err := UserData(class(data), join()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// TestMaxPodsExpressionsAreTakenOut keeps everything else of the NodeConfig.
func TestMaxPodsExpressionsAreTakenOut(t *testing.T) {
	data := "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n" +
		"  kubelet: {maxPodsExpression: max_pods * 2, config: {registryPullQPS: 3}}\n"
	for _, given := range []string{data, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=X\n\n" +
		"--X\nContent-Type: application/node.eks.aws\n\n" + data + "\n--X--\n"} {
		written, err := UserData(class(given), join())
		if err != nil || strings.Contains(written, "maxPodsExpression") || !strings.Contains(written, "registryPullQPS: 3") {
			t.Errorf("%v\n%s", err, written)
		}
	}
}
