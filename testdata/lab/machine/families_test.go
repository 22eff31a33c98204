package machine

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

const kubeletArguments = `--node-labels="karpenter.sh/nodepool=default,team=blue" ` +
	`--register-with-taints="karpenter.sh/unregistered:NoExecute,app=web:NoSchedule" ` +
	`--max-pods=29 --kube-reserved="memory=500Mi,cpu=100m" --eviction-hard="memory.available<5%" ` +
	`--eviction-soft="memory.available<10%" ` +
	`--eviction-soft-grace-period="memory.available=2m0s" --image-gc-high-threshold=85 --image-gc-low-threshold=75 ` +
	`--cpu-cfs-quota=true`

func bootstrapText() string {
	return `#!/bin/bash -xe
exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
/etc/eks/bootstrap.sh 'prod' --apiserver-endpoint 'https://127.0.0.1:6443' --b64-cluster-ca '` + testAuthority() + `' \
--dns-cluster-ip '10.100.0.10' \
--use-max-pods false \
--kubelet-extra-args '` + kubeletArguments + `' \
--local-disks raid0
`
}

func bottlerocketText() string {
	return `[settings]
[settings.kubernetes]
api-server = "https://127.0.0.1:6443"
cluster-name = "prod"
cluster-certificate = "` + testAuthority() + `"
cluster-dns-ip = "10.100.0.10"
max-pods = 29
seccomp-default = true
image-gc-high-threshold-percent = "85"
image-gc-low-threshold-percent = 75
[settings.kubernetes.node-labels]
"karpenter.sh/nodepool" = "default"
team = "blue"
[settings.kubernetes.node-taints]
"karpenter.sh/unregistered" = [":NoExecute"]
app = ["web:NoSchedule"]
[settings.kubernetes.kube-reserved]
memory = "500Mi"
cpu = "100m"
[settings.kubernetes.eviction-hard]
"memory.available" = "5%"
[settings.bootstrap-commands.000-mount-instance-storage]
commands = [["apiclient", "ephemeral-storage", "init"], ["apiclient", "ephemeral-storage", "bind"]]
mode = "always"
essential = true
[settings.kernel]
lockdown = "integrity"
`
}

func windowsText() string {
	return "<powershell>\r\n# the user's own\r\nWrite-Host \"hello; world\"\r\n" +
		`[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"` + "\r\n" +
		"& $EKSBootstrapScriptFile -EKSClusterName 'prod' -APIServerEndpoint 'https://127.0.0.1:6443' -Base64ClusterCA '" +
		testAuthority() + "' `\r\n" +
		"  -KubeletExtraArgs '" + kubeletArguments + "' -DNSClusterIP '10.100.0.10'\r\n</powershell>"
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestEveryFamilyReadsItsOwnUserData(t *testing.T) {
	script := part("text/x-shellscript; charset=\"us-ascii\"", bootstrapText())
	for _, c := range []struct {
		name, family, text string
		disks              string
	}{
		{"AL2", ec2.FamilyAL2, bootstrapText(), "RAID0"},
		{
			"AL2 in MIME after the user's own", ec2.FamilyAL2,
			multipartOf(part("text/x-shellscript", "#!/bin/bash\necho '/etc/eks/bootstrap.sh other'\n"), script), "RAID0",
		},
		{
			"AL2 with variables", ec2.FamilyAL2,
			strings.NewReplacer("'prod'", `"${CLUSTER}"`, "#!/bin/bash -xe\n",
				"#!/bin/bash\nexport CLUSTER=prod\ncat <<'EOF' > /tmp/x\n/etc/eks/bootstrap.sh wrong\nEOF\n").Replace(
				bootstrapText()),
			"RAID0",
		},
		{"Bottlerocket", ec2.FamilyBottlerocket, bottlerocketText(), "RAID0"},
		{"Windows 2019", ec2.FamilyWindows2019, windowsText(), ""},
		{"Windows 2025", ec2.FamilyWindows2025, windowsText(), ""},
		{"an unknown image with a script", "", bootstrapText(), "RAID0"},
		{"an unknown image with TOML", "", bottlerocketText(), "RAID0"},
		{"an unknown image with PowerShell", "", windowsText(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := readUserData(ec2.Image{Family: c.family}, encoded(c.text), noClusters)
			if err != nil {
				t.Fatal(err)
			}
			if j.cluster != "prod" || j.endpoint != "https://127.0.0.1:6443" ||
				!strings.Contains(string(j.authority), "CERTIFICATE") || strings.Join(j.dns, " ") != "10.100.0.10" ||
				j.localStorage != c.disks {
				t.Errorf("read %+v", j)
			}
			s, err := j.settings(largeType(t))
			if err != nil {
				t.Fatal(err)
			}
			if s.labels["karpenter.sh/nodepool"] != "default" || s.labels["team"] != "blue" || s.maxPods != 29 ||
				s.evictionHard["memory.available"] != "5%" {
				t.Errorf("settings are %+v", s)
			}
			if memory := s.kubeReserved[corev1.ResourceMemory]; memory.String() != "500Mi" {
				t.Errorf("reserved memory is %s", memory.String())
			}
			taints := map[string]string{}
			for _, taint := range s.taints {
				taints[taint.Key] = taint.Value + ":" + string(taint.Effect)
			}
			if taints["karpenter.sh/unregistered"] != ":NoExecute" || taints["app"] != "web:NoSchedule" || len(taints) != 2 {
				t.Errorf("taints are %v", taints)
			}
		})
	}
}

func TestBrokenUserDataOfEveryFamilySaysWhy(t *testing.T) {
	al2 := func(old, with string) string { return strings.Replace(bootstrapText(), old, with, 1) }
	rocket := func(old, with string) string { return strings.Replace(bottlerocketText(), old, with, 1) }
	windows := func(old, with string) string { return strings.Replace(windowsText(), old, with, 1) }
	for _, c := range []struct{ name, family, text, want string }{
		{"AL2 empty", ec2.FamilyAL2, "", "bootstrap.sh: user data is empty"},
		{
			"AL2 with a NodeConfig", ec2.FamilyAL2, nodeConfigText(""),
			"bootstrap.sh: a shell script of the user data does not begin with #!",
		},
		{
			"AL2 that calls nothing", ec2.FamilyAL2, "#!/bin/sh\necho hello\n",
			"no shell script of the user data calls /etc/eks/bootstrap.sh",
		},
		{"AL2 without a name", ec2.FamilyAL2, al2("'prod' ", ""), "CLUSTER_NAME is not defined"},
		{
			"AL2 option with an equal sign", ec2.FamilyAL2, al2("--use-max-pods false", "--use-max-pods=false"),
			"are not options",
		},
		{
			"AL2 without a CA", ec2.FamilyAL2, al2("--b64-cluster-ca '"+testAuthority()+"'", ""),
			"eks:DescribeCluster knows no cluster \"prod\"",
		},
		{
			"AL2 with a CA of rubbish", ec2.FamilyAL2, al2(testAuthority(), "cnViYmlzaA=="),
			"--b64-cluster-ca is not base64 of a PEM certificate",
		},
		{
			"AL2 over http", ec2.FamilyAL2, al2("https://", "http://"),
			"--apiserver-endpoint \"http://127.0.0.1:6443\" is not an https URL",
		},
		{"AL2 with a bad disk policy", ec2.FamilyAL2, al2("raid0", "raid7"), "--local-disks raid7"},
		{
			"AL2 with an open quote", ec2.FamilyAL2, al2("--cpu-cfs-quota=true'", "--cpu-cfs-quota=true"),
			"unexpected end of file",
		},
		{"AL2 with a substitution", ec2.FamilyAL2, al2("'prod'", "$(cat /etc/cluster)"), "command substitution"},
		{"AL2 over IPv6", ec2.FamilyAL2, al2("--use-max-pods false", "--ip-family ipv6"), "--ip-family ipv6"},
		{"Bottlerocket empty", ec2.FamilyBottlerocket, " \n", "bottlerocket: user data is empty"},
		{"Bottlerocket with a script", ec2.FamilyBottlerocket, bootstrapText(), "bottlerocket: user data is not TOML: line"},
		{
			"Bottlerocket without a name", ec2.FamilyBottlerocket, rocket("cluster-name = \"prod\"\n", ""),
			"settings.kubernetes.cluster-name is missing",
		},
		{
			"Bottlerocket without an endpoint", ec2.FamilyBottlerocket, rocket("api-server = \"https://127.0.0.1:6443\"\n", ""),
			"settings.kubernetes.api-server is missing",
		},
		{
			"Bottlerocket without a CA", ec2.FamilyBottlerocket, rocket("cluster-certificate = \""+testAuthority()+"\"\n", ""),
			"settings.kubernetes.cluster-certificate is missing",
		},
		{
			"Bottlerocket with an unknown setting", ec2.FamilyBottlerocket, rocket("max-pods = 29", "max_pods = 29"),
			"unknown setting settings.kubernetes.max_pods",
		},
		{
			"Bottlerocket with an unknown part", ec2.FamilyBottlerocket, rocket("[settings.kernel]", "[settings.colour]"),
			"unknown setting settings.colour",
		},
		{
			"Bottlerocket with text for a number", ec2.FamilyBottlerocket, rocket("max-pods = 29", "max-pods = \"29\""),
			"settings:",
		},
		{
			"Bottlerocket with a taint of one word", ec2.FamilyBottlerocket, rocket("web:NoSchedule", "NoSchedule"),
			"not of the form value:effect",
		},
		{
			"Bottlerocket with a foreign command", ec2.FamilyBottlerocket,
			rocket(`["apiclient", "ephemeral-storage", "init"]`, `["mkfs"]`), "only apiclient can be run",
		},
		{"Windows empty", ec2.FamilyWindows2022, "", "Start-EKSBootstrap.ps1: user data is empty"},
		{"Windows without tags", ec2.FamilyWindows2022, "Write-Host hello", "user data has no <powershell>"},
		{"Windows never closed", ec2.FamilyWindows2022, windows("</powershell>", ""), "never closed"},
		{
			"Windows that calls nothing", ec2.FamilyWindows2022, "<powershell>Write-Host hello</powershell>",
			"no statement of the user data calls",
		},
		{
			"Windows without a name", ec2.FamilyWindows2022, windows("-EKSClusterName 'prod'", ""),
			"mandatory parameter EKSClusterName",
		},
		{
			"Windows with an unknown parameter", ec2.FamilyWindows2022, windows("-DNSClusterIP", "-Dns"), `parameter name "Dns"`,
		},
		{
			"Windows with an unknown variable", ec2.FamilyWindows2022, windows("'prod'", "$Cluster"),
			"variable $Cluster was never set",
		},
		{
			"Windows with an open string", ec2.FamilyWindows2022, windows("'10.100.0.10'", "'10.100.0.10"),
			"missing the terminator",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readUserData(ec2.Image{Family: c.family}, encoded(c.text), noClusters)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error is %q, want one line with %q in it", err, c.want)
			}
		})
	}
}

func TestBootstrapScriptsLookUpTheCluster(t *testing.T) {
	facts := clusterFacts{"https://127.0.0.1:7443", []byte("PEM")}
	find := func(name string) (clusterFacts, bool) { return facts, name == "prod" }
	for family, text := range map[string]string{
		ec2.FamilyAL2: "#!/bin/sh\n/etc/eks/bootstrap.sh prod\n",
		ec2.FamilyWindows2022: "<powershell>\n& \"C:\\Program Files\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" " +
			"-EKSClusterName:prod\n</powershell>",
	} {
		j, err := readUserData(ec2.Image{Family: family}, encoded(text), find)
		if err != nil {
			t.Errorf("%s: %v", family, err)
			continue
		}
		s, err := j.settings(largeType(t))
		if err != nil || j.endpoint != facts.endpoint || string(j.authority) != "PEM" || j.dnsFrom != "" {
			t.Errorf("%s: %+v, %+v, %v", family, j, s, err)
			continue
		}
		want := 29 // the density of m5.large
		if family == ec2.FamilyWindows2022 {
			want = 110
		}
		if s.maxPods != want {
			t.Errorf("%s takes %d pods, want %d", family, s.maxPods, want)
		}
	}
}

// FuzzReadUserData: no user data makes a machine panic, whatever its family.
func FuzzReadUserData(f *testing.F) {
	for _, text := range []string{
		bootstrapText(), bottlerocketText(), windowsText(), nodeConfigText(""),
		multipartOf(part("text/x-shellscript", bootstrapText())), "#!/bin/sh\n${", "<powershell>$`</powershell>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, family := range []string{"", ec2.FamilyAL2, ec2.FamilyAL2023, ec2.FamilyBottlerocket, ec2.FamilyWindows2022} {
			if j, err := readUserData(ec2.Image{Family: family}, encoded(text), noClusters); err == nil && j.cluster == "" {
				t.Errorf("%s joins a cluster without a name by %q", family, text)
			}
		}
	})
}
