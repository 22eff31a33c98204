package nodeclass

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// update writes the golden files: go test ./shared/nodeclass -update.
var update = flag.Bool("update", false, "write testdata/userdata")

func family(name string) func(*api.EC2NodeClass) {
	return func(c *api.EC2NodeClass) {
		c.Spec.AMIFamily = &name
		c.Spec.AMISelectorTerms = []api.AMISelectorTerm{{ID: "ami-1"}}
	}
}

// everyKubeletSetting sets all that has a field.
func everyKubeletSetting(family string) func(*api.EC2NodeClass) {
	return func(c *api.EC2NodeClass) {
		number := func(value int32) *int32 { return &value }
		quota := false
		c.Spec.Kubelet = &api.KubeletConfiguration{
			ClusterDNS: []string{"10.0.0.53"}, MaxPods: number(42), PodsPerCore: number(8),
			SystemReserved: map[string]string{
				"memory": "200Mi", "cpu": "100m", "ephemeral-storage": "1Gi", "pid": "100",
			},
			KubeReserved: map[string]string{"cpu": "150m", "memory": "300Mi"},
			EvictionHard: map[string]string{"memory.available": "5%", "nodefs.available": "10%"},
			EvictionSoft: map[string]string{"memory.available": "500Mi", "nodefs.inodesFree": "15%"},
			EvictionSoftGracePeriod: map[string]metav1.Duration{
				"memory.available": {Duration: time.Minute}, "nodefs.inodesFree": {Duration: 90 * time.Second},
			},
			EvictionMaxPodGracePeriod:   number(60),
			ImageGCHighThresholdPercent: number(85), ImageGCLowThresholdPercent: number(80),
			CPUCFSQuota: &quota,
		}
		policy := api.InstanceStorePolicyRAID0
		c.Spec.InstanceStorePolicy = &policy
		if family == api.AMIFamilyBottlerocket {
			c.Spec.Kubelet.PodsPerCore = nil // it has no such setting
		}
		if strings.HasPrefix(family, "Windows") {
			c.Spec.Kubelet.CPUCFSQuota, c.Spec.InstanceStorePolicy = nil, nil
		}
	}
}

const (
	ownScript = "#!/bin/bash\necho 'own part'\n"
	ownTOML   = `[settings.host-containers.admin]
enabled = true

[settings.kubernetes]
event-qps = 50

[settings.kubernetes.node-labels]
own = "label"
team = "b"

[settings.kubernetes.node-taints]
own = ["taint:NoSchedule"]

[settings.kubernetes.eviction-hard]
"pid.available" = "10%"
`
	ownPowerShell = "Write-Host \"own part\"\n$ok = 'yes'"
	ownMIME       = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"OWN\"\n\n--OWN\nContent-Type: " +
		"text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/sh\necho one\n" +
		"--OWN\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  " +
		"featureGates:\n    FastImagePull: true\n\n--OWN--\n"
)

func TestUserDataOfEachFamily(t *testing.T) {
	for _, test := range []struct{ family, name, own string }{
		{api.AMIFamilyAL2023, "script", ownScript},
		{api.AMIFamilyAL2023, "mime", ownMIME},
		{api.AMIFamilyAL2, "script", ownScript},
		{api.AMIFamilyAL2, "mime", strings.Replace(ownMIME, nodeConfigType, "text/cloud-config", 1)},
		{api.AMIFamilyBottlerocket, "toml", ownTOML},
		{api.AMIFamilyWindows2019, "powershell", ownPowerShell},
		{api.AMIFamilyWindows2022, "powershell", "<powershell>\n" + ownPowerShell + "\n</powershell>"},
		{api.AMIFamilyWindows2025, "powershell", ownPowerShell},
		{api.AMIFamilyCustom, "anything", "anything: {at all"},
	} {
		taints := []corev1.Taint{
			api.UnregisteredNoExecuteTaint(), {Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule},
			{Key: "gpu", Value: "no", Effect: corev1.TaintEffectPreferNoSchedule},
		}
		how := join()
		how.Taints = taints
		for _, variant := range []struct {
			name  string
			class *api.EC2NodeClass
		}{
			{"alone", class("", family(test.family))},
			{test.name, class(test.own, family(test.family))},
			{"kubelet", class("", family(test.family), everyKubeletSetting(test.family))},
		} {
			t.Run(test.family+" "+variant.name, func(t *testing.T) {
				complete(variant.class)
				if problem := Check(variant.class, Facts{}); problem.Message != "" {
					t.Fatalf("the class is not good: %+v", problem)
				}
				for range 3 { // the same class, the same bytes
					golden(t, test.family+"-"+variant.name, variant.class, how)
				}
			})
		}
	}
}

// TestUserDataInAClusterOfIPv6: AL2's script alone must be told.
func TestUserDataInAClusterOfIPv6(t *testing.T) {
	how := join()
	how.Cluster.ServiceCIDR, how.Cluster.DNS = "fd12:3456::/108", "fd12:3456::a"
	for _, name := range []string{api.AMIFamilyAL2, api.AMIFamilyAL2023} {
		golden(t, name+"-ipv6", class("", family(name)), how)
	}
}

func golden(t *testing.T, name string, class *api.EC2NodeClass, how Join) {
	t.Helper()
	got, err := UserData(class, how)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "userdata", strings.ToLower(name)+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./shared/nodeclass -update writes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s: user data is\n%s\nwant\n%s", path, got, want)
	}
}

func TestUserDataThatCannotBeIsRefusedByName(t *testing.T) {
	for _, test := range []struct{ name, family, own, want string }{
		{"MIME that is not multipart", "AL2023", "MIME-Version: 1.0\nContent-Type: text/plain\n\nhello", "not multipart"},
		{"MIME without a boundary", "AL2", "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nhello", "boundary"},
		{
			"MIME whose boundary is another", "AL2023",
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"A\"\n\n--B\nContent-Type: text/plain\n\nx\n--B--\n",
			"--A",
		},
		{
			"MIME cut short", "AL2",
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"A\"\n\n--A\nContent-Type: text/plain\n\nx\n",
			"not well-formed MIME",
		},
		{"MIME with broken headers", "AL2023", "MIME-Version: 1.0\nno colon here\n\nx", "not well-formed MIME"},
		{"a script that would end the document", "AL2023", "#!/bin/sh\ncat <<E\n--//--\nE\n", "--//"},
		{
			"a part that would end the document", "AL2",
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"A\"\n\n--A\nContent-Type: " +
				"text/plain\n\nx\n--//--\n--A--\n",
			"--//",
		},
		{"TOML that is none", "Bottlerocket", "[settings.kubernetes\nx = 1", "line 1"},
		{"TOML with a key twice", "Bottlerocket", "a = 1\na = 2\n", "TOML"},
		{"a script for Bottlerocket", "Bottlerocket", ownScript, "TOML"},
		{"settings that are no table", "Bottlerocket", "settings = 3\n", "settings is 3 and not a table"},
		{
			"labels that are no table", "Bottlerocket", "[settings.kubernetes]\nnode-labels = \"a=b\"\n",
			"settings.kubernetes.node-labels",
		},
		{"an element that is not closed", "Windows2022", "<powershell>\nx", "</powershell>"},
		{"two elements", "Windows2022", "<powershell>x</powershell><powershell>y</powershell>", "inside"},
		{"another element", "Windows2019", "<script>dir</script>", "<script>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := UserData(class(test.own, family(test.family)), join())
			if err == nil || !strings.Contains(err.Error(), `ec2nodeclass "default": spec.userData: `) ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want it to name the field and %q", err, test.want)
			}
		})
	}
	if _, err := UserData(class("", family("Plan9")), join()); err == nil ||
		!strings.Contains(err.Error(), "spec.amiFamily") {
		t.Errorf("an unknown family: %v", err)
	}
}

func TestBottlerocketMountsByItsRelease(t *testing.T) {
	policy := api.InstanceStorePolicyRAID0
	disks := class(
		"", family(api.AMIFamilyBottlerocket), func(c *api.EC2NodeClass) { c.Spec.InstanceStorePolicy = &policy },
	)
	for name, dirs := range map[string]bool{
		"bottlerocket-aws-k8s-1.36-x86_64-v1.45.2-0123abcd":         true,
		"bottlerocket-aws-k8s-1.36-nvidia-aarch64-v1.46.0-0123abcd": false,
		"bottlerocket-aws-k8s-1.36-x86_64-v2.0.0-0123abcd":          false, "own-image-v1.50.0": true, "": true,
	} {
		template, err := Template(disks, api.AMI{ID: "ami-1", Name: name}, join(), Variation{}, nil)
		if err != nil || strings.Contains(template.UserData, "--dirs") != dirs {
			t.Errorf("%q: %v\n%s", name, err, template.UserData)
		}
	}
}
