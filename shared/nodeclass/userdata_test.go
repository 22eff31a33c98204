package nodeclass

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
)

func class(userData string, change ...func(*api.EC2NodeClass)) *api.EC2NodeClass {
	made := &api.EC2NodeClass{}
	made.Name = "default"
	made.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latest"}}
	if userData != "" {
		made.Spec.UserData = &userData
	}
	for _, change := range change {
		change(made)
	}
	return made
}

func join() Join {
	return Join{
		Cluster: Cluster{
			Name: "prod", Endpoint: "https://api.example", CertificateAuthority: []byte("PEM"),
			ServiceCIDR: "10.100.0.0/16", DNS: "10.100.0.10",
		},
		Labels: map[string]string{
			"karpenter.sh/nodepool": "default", "team": "a", "node.kubernetes.io/instance-type": "m5.large",
			"example.k8s.io/own": "x",
		},
		Taints: []corev1.Taint{api.UnregisteredNoExecuteTaint()},
	}
}

type part struct{ contentType, body string }

// parse reads user data as cloud-init does: a mail message with a multipart body.
func parse(t *testing.T, data string) []part {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatalf("not a MIME document: %v", err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		t.Fatalf("content type %q: %v", kind, err)
	}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	var parts []part
	for {
		next, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(next)
		if err != nil {
			t.Fatal(err)
		}
		contentType, _, _ := mime.ParseMediaType(next.Header.Get("Content-Type"))
		parts = append(parts, part{contentType, string(body)})
	}
}

type config struct {
	Kind string
	Spec struct {
		Cluster struct{ Name, APIServerEndpoint, CertificateAuthority, CIDR string }
		Kubelet struct {
			Config map[string]any
			Flags  []string
		}
		Instance map[string]any
	}
}

func lastConfig(t *testing.T, parts []part) config {
	t.Helper()
	last := parts[len(parts)-1]
	if last.contentType != nodeConfigType {
		t.Fatalf("the last part is %q, want the cluster's NodeConfig, which must win", last.contentType)
	}
	var read config
	if err := yaml.Unmarshal([]byte(last.body), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestAL2023TellsTheNodeItsCluster(t *testing.T) {
	data, err := UserData(class(""), join())
	if err != nil {
		t.Fatal(err)
	}
	parts := parse(t, data)
	if len(parts) != 1 {
		t.Fatalf("%d parts, want the NodeConfig alone", len(parts))
	}
	got := lastConfig(t, parts)
	if c := got.Spec.Cluster; c.Name != "prod" || c.APIServerEndpoint != "https://api.example" ||
		c.CertificateAuthority != "UEVN" || c.CIDR != "10.100.0.0/16" {
		t.Errorf("cluster is %+v", c)
	}
	if flags := got.Spec.Kubelet.Flags; len(flags) != 1 ||
		flags[0] != "--node-labels=karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default,team=a" {
		t.Errorf("flags are %q: labels of Kubernetes' own domains must be left out", flags)
	}
	taints, _ := got.Spec.Kubelet.Config["registerWithTaints"].([]any)
	if len(taints) != 1 || taints[0].(map[string]any)["key"] != api.UnregisteredTaintKey {
		t.Errorf("taints are %v", taints)
	}
	if dns, _ := got.Spec.Kubelet.Config["clusterDNS"].([]any); len(dns) != 1 || dns[0] != "10.100.0.10" {
		t.Errorf("clusterDNS is %v", dns)
	}
}

func TestAL2023KeepsTheUsersParts(t *testing.T) {
	for _, test := range []struct {
		name, userData string
		types          []string
	}{
		{"a script", "#!/bin/bash\necho hello", []string{scriptType, nodeConfigType}},
		{
			"a NodeConfig",
			"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 20}}}",
			[]string{nodeConfigType, nodeConfigType},
		},
		{
			"a MIME document",
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"X\"\n\n--X\nContent-Type: " +
				"text/x-shellscript\n\necho one\n--X\nContent-Type: text/cloud-config\n\nruncmd: []\n--X--\n",
			[]string{scriptType, "text/cloud-config", nodeConfigType},
		},
		{"nothing but space", " \n", []string{nodeConfigType}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data, err := UserData(class(test.userData), join())
			if err != nil {
				t.Fatal(err)
			}
			parts := parse(t, data)
			var types []string
			for _, part := range parts {
				types = append(types, part.contentType)
			}
			if strings.Join(types, " ") != strings.Join(test.types, " ") {
				t.Errorf("parts are %q, want %q", types, test.types)
			}
			if len(parts) == 2 && strings.TrimSpace(parts[0].body) != strings.TrimSpace(test.userData) {
				t.Errorf("the user's part became %q", parts[0].body)
			}
		})
	}
}

func TestKubeletSettingsReachTheNode(t *testing.T) {
	maximum := int32(42)
	policy := api.InstanceStorePolicyRAID0
	data, err := UserData(class("", func(c *api.EC2NodeClass) {
		c.Spec.Kubelet = &api.KubeletConfiguration{
			MaxPods: &maximum, ClusterDNS: []string{"10.0.0.2"}, SystemReserved: map[string]string{"cpu": "100m"},
		}
		c.Spec.InstanceStorePolicy = &policy
	}), join())
	if err != nil {
		t.Fatal(err)
	}
	got := lastConfig(t, parse(t, data))
	if settings := got.Spec.Kubelet.Config; settings["maxPods"] != 42.0 ||
		settings["clusterDNS"].([]any)[0] != "10.0.0.2" {
		t.Errorf("kubelet settings are %v", settings)
	}
	if storage, _ := got.Spec.Instance["localStorage"].(map[string]any); storage["strategy"] != "RAID0" {
		t.Errorf("instance is %v", got.Spec.Instance)
	}
}

func TestNoNodeReadsAnExpression(t *testing.T) {
	pods := int32(27)
	for _, family := range []string{"AL2", "AL2023", "Bottlerocket", "Windows2022"} {
		made := class("", func(c *api.EC2NodeClass) {
			c.Spec.AMIFamily = &family
			c.Spec.Kubelet = kubeletOf(t, `{"maxPods": "max_pods - 2", "kubeReserved": {"cpu": "vcpus * 10", "memory": "1Gi"},
				"systemReserved": {"memory": "memory_mib / 64"}}`)
		})
		for _, test := range []struct {
			ofType *api.KubeletConfiguration
			want   []string
		}{
			{nil, []string{"1Gi"}},
			{&api.KubeletConfiguration{
				MaxPods: &pods, KubeReserved: map[string]string{"cpu": "40m", "memory": "1Gi"},
				SystemReserved: map[string]string{"memory": "128Mi"},
			}, []string{"27", "40m", "1Gi", "128Mi"}},
		} {
			data, err := userData(made, api.AMI{}, join(), test.ofType)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range test.want {
				if !strings.Contains(data, text) {
					t.Errorf("%s: no %s in %s", family, text, data)
				}
			}
			for _, text := range []string{"max_pods", "vcpus", "memory_mib"} {
				if strings.Contains(data, text) {
					t.Errorf("%s: the node would read %s: %s", family, text, data)
				}
			}
		}
	}
}

func TestCustomUserDataIsUntouched(t *testing.T) {
	custom := api.AMIFamilyCustom
	data, err := UserData(class("anything: {at all", func(c *api.EC2NodeClass) { c.Spec.AMIFamily = &custom }), join())
	if err != nil || data != "anything: {at all" {
		t.Errorf("%q, %v", data, err)
	}
}

const otherConfig = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: {name: staging}}"

func TestUserDataForAnotherClusterIsRefused(t *testing.T) {
	inMIME := func(header, body string) string {
		return "MIME-Version: 1.0\nContent-Type: multipart/mixed; " +
			"boundary=\"X\"\n\n--X\n" + header + "\n\n" + body + "\n--X--\n"
	}
	for _, test := range []struct {
		name, family, userData string
		want                   []string // of the error; none: it is taken
	}{
		{
			"a NodeConfig", api.AMIFamilyAL2023, otherConfig,
			[]string{"spec.userData", "spec.cluster.name", `"staging"`, `"prod"`, "remove"},
		},
		{"one of this cluster", api.AMIFamilyAL2023, strings.ReplaceAll(otherConfig, "staging", "prod"), nil},
		{"one that does not say", api.AMIFamilyAL2023, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}", nil},
		{
			"a part", api.AMIFamilyAL2023, inMIME("Content-Type: application/node.eks.aws", otherConfig),
			[]string{"spec.cluster.name", `"staging"`},
		},
		{"a part in base64", api.AMIFamilyAL2023,
			inMIME("Content-Type: application/node.eks.aws\nContent-Transfer-Encoding: base64",
				base64.StdEncoding.EncodeToString([]byte(otherConfig))), []string{"spec.cluster.name", `"staging"`}},
		{
			"a part that is not base64", api.AMIFamilyAL2023,
			inMIME("Content-Type: application/node.eks.aws\nContent-Transfer-Encoding: base64", "%"),
			[]string{"base64"},
		},
		{
			"a part of another kind", api.AMIFamilyAL2023,
			inMIME("Content-Type: application/node.eks.aws", "apiVersion: v1\nkind: Pod"),
			[]string{`"Pod"`, "NodeConfig"},
		},
		{"a part with a broken type", api.AMIFamilyAL2023, inMIME("Content-Type: ;", otherConfig), []string{"Content-Type"}},
		{"a part without a type", api.AMIFamilyAL2023, inMIME("X-Own: yes", "text"), nil},
		{
			"YAML that does not parse", api.AMIFamilyAL2023, "kind: NodeConfig\nspec: [",
			[]string{"spec.userData", "well-formed YAML"},
		},
		{"a script that writes one", api.AMIFamilyAL2023, "#!/bin/bash\ncat > /tmp/x <<END\n" + otherConfig + "\nEND", nil},
		{
			"TOML", api.AMIFamilyBottlerocket, "[settings.kubernetes]\ncluster-name = \"staging\"",
			[]string{"spec.userData", "settings.kubernetes.cluster-name", `"staging"`, `"prod"`, "remove"},
		},
		{"TOML of this cluster", api.AMIFamilyBottlerocket, "[settings.kubernetes]\ncluster-name = \"prod\"", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := UserData(class(test.userData, family(test.family)), join())
			if (err == nil) != (len(test.want) == 0) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			for _, words := range test.want {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("error %q does not say %q", err, words)
				}
			}
		})
	}
}
