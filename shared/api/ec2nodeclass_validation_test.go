package api

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// numberedTags returns as many tags.
func numberedTags(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "tag-%d: a, ", i)
	}
	return text.String()
}

func TestEC2NodeClasses(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
  PART
`
	checkFaults(t, manifest, []fault{
		{"nothing more", `tags: {}`, "", ""},
		{"role and profile", `instanceProfile: nodes`, "spec.instanceProfile", `cannot be together with role "nodes"`},
		{"a tag with characters that IAM does not take", `tags: {"x&y;z": "ü %"}`, "", ""},
		{"a tag with a line break", `tags: {a: "b\nc"}`, "spec.tags", "control character"},
		{"an empty profile", `instanceProfile: ""`, "spec.instanceProfile", "is empty"},

		{"tags", `tags: {team: a, Name: b}`, "", ""},
		{"a tag without key", `tags: {"": a}`, "spec.tags", "has an empty key"},
		{
			"the tag of a cluster", `tags: {kubernetes.io/cluster/prod: owned}`,
			"spec.tags[kubernetes.io/cluster/prod]", "set by the launch",
		},
		{
			"the tag of the cluster's name", `tags: {"eks:eks-cluster-name": prod}`, "spec.tags[eks:eks-cluster-name]",
			"set by the launch",
		},
		{"a tag of AWS", `tags: {"AWS:own": a}`, "spec.tags[AWS:own]", "choose another key"},
		{"the longest tag", `tags: {` + strings.Repeat("k", 128) + `: ` + strings.Repeat("ü", 256) + `}`, "", ""},
		{
			"a tag with a long key", `tags: {` + strings.Repeat("k", 129) + `: a}`,
			"spec.tags[" + strings.Repeat("k", 129) + "]", "key of 129 characters",
		},
		{"a tag with a long value", `tags: {a: ` + strings.Repeat("v", 257) + `}`, "spec.tags[a]", "value of 257 characters"},
		{"as many tags as EC2 takes", `tags: {` + numberedTags(43) + `Name: a}`, "", ""},
		{"one tag too many", `tags: {` + numberedTags(44) + `}`, "spec.tags", "has 44 tags, and EC2 takes 43 beside"},

		{"the tag of the pool", `tags: {karpenter.sh/nodepool: a}`, "spec.tags[karpenter.sh/nodepool]", "set by the launch"},
		{
			"the tag of the claim", `tags: {karpenter.sh/nodeclaim: a}`, "spec.tags[karpenter.sh/nodeclaim]",
			"set by the launch",
		},
		{
			"the tag of the class", `tags: {karpenter.k8s.aws/ec2nodeclass: a}`,
			"spec.tags[karpenter.k8s.aws/ec2nodeclass]", "set by the launch",
		},

		{"the alias's family", `amiFamily: AL2023`, "", ""},
		{"the family Custom with an alias", `amiFamily: Custom`, "", ""},
		{"another family than the alias's", `amiFamily: Bottlerocket`, "spec.amiFamily", "write AL2023 or Custom"},
		{"an unknown family", `amiFamily: Ubuntu`, "spec.amiFamily", "is not a family"},

		{
			"reservations",
			`capacityReservationSelectorTerms: [{id: cr-0a}, {tags: {a: b}, ownerID: "123456789012"}, {instanceMatchCriteria: targeted}]`,
			"", "",
		},
		{
			"a reservation that is none", `capacityReservationSelectorTerms: [{id: i-0a}]`,
			"spec.capacityReservationSelectorTerms[0].id", "begin with cr-",
		},
		{
			"a reservation's owner alone", `capacityReservationSelectorTerms: [{ownerID: "123456789012"}]`,
			"spec.capacityReservationSelectorTerms[0]", "selects nothing",
		},
		{
			"a reservation's owner that is none", `capacityReservationSelectorTerms: [{tags: {a: b}, ownerID: "1"}]`,
			"spec.capacityReservationSelectorTerms[0].ownerID", "12 digits",
		},
		{
			"a reservation by an unknown criterion",
			`capacityReservationSelectorTerms: [{instanceMatchCriteria: any}]`,
			"spec.capacityReservationSelectorTerms[0].instanceMatchCriteria", "use open or targeted",
		},
		{
			"a reservation by id and tags", `capacityReservationSelectorTerms: [{id: cr-0a, tags: {a: b}}]`,
			"spec.capacityReservationSelectorTerms", "make two terms",
		},

		{"a placement group by name", `placementGroupSelector: {name: a}`, "", ""},
		{"a placement group by id", `placementGroupSelector: {id: pg-0a}`, "", ""},
		{"a placement group by nothing", `placementGroupSelector: {}`, "spec.placementGroupSelector", "selects nothing"},
		{
			"a placement group by both", `placementGroupSelector: {name: a, id: pg-0a}`, "spec.placementGroupSelector",
			"has both",
		},

		{
			"one disk",
			`blockDeviceMappings: [{deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 20Gi, volumeType: gp3}}]`,
			"", "",
		},
		{"the largest disk", `blockDeviceMappings: [{ebs: {volumeSize: 64T}}]`, "", ""},
		{
			"a disk that is too large", `blockDeviceMappings: [{ebs: {volumeSize: 65Ti}}]`,
			"spec.blockDeviceMappings[0].ebs.volumeSize", "is out of range",
		},
		{
			"a disk that is too small", `blockDeviceMappings: [{ebs: {volumeSize: 1Mi}}]`,
			"spec.blockDeviceMappings[0].ebs.volumeSize", "is out of range",
		},
		{
			"a disk of no size", `blockDeviceMappings: [{ebs: {volumeType: gp3}}]`, "spec.blockDeviceMappings[0].ebs",
			"neither snapshotID nor volumeSize",
		},
		{
			"a disk of an unknown type", `blockDeviceMappings: [{ebs: {volumeSize: 1Gi, volumeType: gp4}}]`,
			"spec.blockDeviceMappings[0].ebs.volumeType", "use one of standard",
		},
		{"a disk that is null", `blockDeviceMappings: [null]`, "spec.blockDeviceMappings[0]", "is null"},
		{
			"two roots", `blockDeviceMappings: [{rootVolume: true}, {rootVolume: true}]`,
			"spec.blockDeviceMappings[1].rootVolume", "on one mapping only",
		},
		{"a rate", `blockDeviceMappings: [{ebs: {snapshotID: snap-0a, volumeInitializationRate: 300}}]`, "", ""},
		{
			"a rate without snapshot",
			`blockDeviceMappings: [{ebs: {volumeSize: 1Gi, volumeInitializationRate: 300}}]`,
			"spec.blockDeviceMappings[0].ebs.volumeInitializationRate", "needs snapshotID",
		},
		{
			"a rate that is too low",
			`blockDeviceMappings: [{ebs: {snapshotID: snap-0a, volumeInitializationRate: 99}}]`,
			"spec.blockDeviceMappings[0].ebs.volumeInitializationRate", "from 100 to 300",
		},
		{"an unknown policy for the instance's disks", `instanceStorePolicy: RAID5`, "spec.instanceStorePolicy", "use RAID0"},

		{
			"interfaces",
			`networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}]`,
			"", "",
		},
		{
			"no primary interface",
			`networkInterfaces: [{networkCardIndex: 1, deviceIndex: 0, interfaceType: interface}]`,
			"spec.networkInterfaces", "has no primary interface",
		},
		{
			"a primary interface that is efa-only",
			`networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: efa-only}]`,
			"spec.networkInterfaces", "has no primary interface",
		},
		{
			"an interface twice",
			`networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}]`,
			"spec.networkInterfaces[1]", "of spec.networkInterfaces[0]",
		},
		{
			"two efa-only interfaces on a card",
			`networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}, {networkCardIndex: 0, deviceIndex: 2, interfaceType: efa-only}]`,
			"spec.networkInterfaces[2]", "second interface of the type efa-only",
		},
		{
			"an interface of an unknown type",
			`networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: 0, deviceIndex: 1, interfaceType: efa}]`,
			"spec.networkInterfaces[1].interfaceType", "use interface or efa-only",
		},
		{
			"a negative card",
			`networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, {networkCardIndex: -1, deviceIndex: 1, interfaceType: interface}]`,
			"spec.networkInterfaces[1].networkCardIndex", "is negative",
		},
		{"negative prefixes", `ipPrefixCount: -1`, "spec.ipPrefixCount", "is negative"},

		{"metadata options", `metadataOptions: {httpTokens: optional, httpPutResponseHopLimit: 64}`, "", ""},
		{
			"a hop limit of 0", `metadataOptions: {httpPutResponseHopLimit: 0}`,
			"spec.metadataOptions.httpPutResponseHopLimit", "from 1 to 64",
		},
		{
			"tokens that are neither", `metadataOptions: {httpTokens: maybe}`, "spec.metadataOptions.httpTokens",
			"use required or optional",
		},
		{
			"an endpoint that is neither", `metadataOptions: {httpEndpoint: "on"}`,
			"spec.metadataOptions.httpEndpoint", "use enabled or disabled",
		},

		{"connection tracking", `connectionTracking: {udpTimeout: 60}`, "", ""},
		{"connection tracking of nothing", `connectionTracking: {}`, "spec.connectionTracking", "is empty"},
		{
			"connection tracking for too long", `connectionTracking: {tcpEstablishedTimeout: 432001}`,
			"spec.connectionTracking.tcpEstablishedTimeout", "from 60 to 432000",
		},
		{
			"streams for too short", `connectionTracking: {udpStreamTimeout: 59}`,
			"spec.connectionTracking.udpStreamTimeout", "from 60 to 180",
		},
		{"nested machines", `cpuOptions: {nestedVirtualization: enabled}`, "", ""},
		{
			"nested machines perhaps", `cpuOptions: {nestedVirtualization: auto}`,
			"spec.cpuOptions.nestedVirtualization", "use enabled or disabled",
		},
	}, decodeInto[EC2NodeClass])
}

func TestRoles(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
  PART
`
	checkFaults(t, manifest, []fault{
		{"a profile", `instanceProfile: nodes`, "", ""},
		{"the ARN of a role", `role: "arn:aws:iam::123456789012:role/teams/nodes"`, "", ""},
		{"a role with its path", `role: teams/nodes`, "", ""},
		{"a role without a name", `role: teams/a/`, "spec.role", "ends without a name"},
		{
			"the ARN of a profile", `instanceProfile: "arn:aws:iam::123456789012:instance-profile/a/nodes"`,
			"spec.instanceProfile", `write "nodes", without ARN or path`,
		},
		{"neither", `tags: {}`, "spec.role", "is missing"},
		{"an empty role", `role: ""`, "spec.role", "is missing"},
	}, decodeInto[EC2NodeClass])
}

func TestSelectors(t *testing.T) {
	const subnets = `
metadata: {name: a}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [PART]
  securityGroupSelectorTerms: [{id: sg-0a}]
`
	checkFaults(t, subnets, []fault{
		{"by tags and by id", `{tags: {a: b, c: "*"}}, {id: subnet-0a}`, "", ""},
		{"none", ``, "spec.subnetSelectorTerms", "is empty"},
		{"by nothing", `{}`, "spec.subnetSelectorTerms[0]", "selects nothing"},
		{"a tag without value", `{tags: {a: ""}}`, "spec.subnetSelectorTerms[0].tags[a]", "or * for any"},
		{"a tag without key", `{tags: {"": a}}`, "spec.subnetSelectorTerms[0].tags", "has an empty key"},
		{"an id that is none", `{id: vpc-0a}`, "spec.subnetSelectorTerms[0].id", "begin with subnet-"},
		{"id and tags in the only term", `{id: subnet-0a, tags: {a: b}}`, "spec.subnetSelectorTerms", "make two terms"},
		{"id and tags in one term of two", `{id: subnet-0a, tags: {a: b}}, {id: subnet-0b}`, "", ""},
	}, decodeInto[EC2NodeClass])

	const groups = `
metadata: {name: a}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [PART]
`
	checkFaults(t, groups, []fault{
		{"by tags, id and name", `{tags: {a: b}}, {id: sg-0a}, {name: nodes}`, "", ""},
		{"none", ``, "spec.securityGroupSelectorTerms", "is empty"},
		{"by nothing", `{}`, "spec.securityGroupSelectorTerms[0]", "selects nothing"},
		{"an id that is none", `{id: sg-}`, "spec.securityGroupSelectorTerms[0].id", "begin with sg-"},
		{"id and name", `{id: sg-0a, name: nodes}`, "spec.securityGroupSelectorTerms", "make two terms"},
		{"name and tags", `{name: nodes, tags: {a: b}}`, "spec.securityGroupSelectorTerms", "make two terms"},
	}, decodeInto[EC2NodeClass])
}

func TestAMISelectors(t *testing.T) {
	const manifest = `
metadata: {name: a}
spec:
  role: nodes
  amiSelectorTerms: [PART]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
`
	checkFaults(t, manifest, []fault{
		{"the newest AL2023", `{alias: al2023@latest}`, "", ""},
		{"a release of Bottlerocket", `{alias: bottlerocket@v1.20.0}`, "", ""},
		{"the newest Windows", `{alias: windows2022@latest}`, "", ""},
		{"a release of Windows", `{alias: windows2022@v1}`, "spec.amiSelectorTerms[0].alias", "write windows2022@latest"},
		{"an alias without version", `{alias: al2023}`, "spec.amiSelectorTerms[0].alias", "family@version"},
		{"an alias of an unknown family", `{alias: ubuntu@latest}`, "spec.amiSelectorTerms[0].alias", "al2, al2023"},
		{"an alias in capitals", `{alias: AL2023@latest}`, "spec.amiSelectorTerms[0].alias", "is not an alias"},
		{
			"an alias and an owner", `{alias: al2023@latest, owner: self}`, "spec.amiSelectorTerms[0].alias",
			"other fields of its term",
		},
		{
			"an alias and another term", `{alias: al2023@latest}, {id: ami-0a}`, "spec.amiSelectorTerms[0].alias",
			"other terms",
		},
		{"none without family", `{id: ami-0a}`, "spec.amiFamily", "is missing"},
	}, decodeInto[EC2NodeClass])

	const custom = `
metadata: {name: a}
spec:
  role: nodes
  amiFamily: Custom
  amiSelectorTerms: [PART]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
`
	checkFaults(t, custom, []fault{
		{
			"by id, name, tags and parameter",
			`{id: ami-0a}, {name: a, owner: self}, {tags: {a: b}}, {ssmParameter: /a}`, "", "",
		},
		{"none", ``, "spec.amiSelectorTerms", "is empty"},
		{"by owner alone", `{owner: self}`, "spec.amiSelectorTerms[0]", "selects nothing"},
		{"id and name", `{id: ami-0a, name: a}`, "spec.amiSelectorTerms[0].id", "make two terms"},
		{"an id that is none", `{id: AMI-0a}`, "spec.amiSelectorTerms[0].id", "begin with ami-"},
	}, decodeInto[EC2NodeClass])
}

func TestKubelets(t *testing.T) {
	manifest := func(family string) string {
		return `
metadata: {name: a}
spec:
  role: nodes
  amiFamily: ` + family + `
  amiSelectorTerms: [{id: ami-0a}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
  kubelet: {PART}
`
	}
	checkFaults(t, manifest("AL2023"), []fault{
		{
			"everything",
			`clusterDNS: [10.0.0.10, "fd00::10"], maxPods: 20, podsPerCore: 5, systemReserved: {cpu: 100m}, kubeReserved: {memory: 1Gi, pid: "10"}, evictionHard: {memory.available: 5%}, evictionSoft: {nodefs.inodesFree: "100"}, evictionSoftGracePeriod: {nodefs.inodesFree: 1m}, imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 80`,
			"", "",
		},
		{"an address that is none", `clusterDNS: [dns]`, "spec.kubelet.clusterDNS[0]", "is not an IP address"},
		{
			"an unknown signal", `evictionHard: {cpu.available: 5%}`, "spec.kubelet.evictionHard[cpu.available]",
			"is for no eviction signal",
		},
		{
			"a percentage above 100", `evictionHard: {memory.available: 101%}`,
			"spec.kubelet.evictionHard[memory.available]", "from 0% to 100%",
		},
		{
			"a percentage that is none", `evictionHard: {memory.available: x%}`,
			"spec.kubelet.evictionHard[memory.available]", "from 0% to 100%",
		},
		{
			"a percentage that is not a number", `evictionHard: {memory.available: NaN%}`,
			"spec.kubelet.evictionHard[memory.available]", "from 0% to 100%",
		},
		{
			"an amount that is none", `evictionHard: {memory.available: much}`,
			"spec.kubelet.evictionHard[memory.available]", "neither an amount nor a percentage",
		},
		{
			"an unknown resource", `systemReserved: {gpu: "1"}`, "spec.kubelet.systemReserved[gpu]",
			"use one of cpu, memory, ephemeral-storage, pid",
		},
		{"a negative amount", `kubeReserved: {cpu: "-1"}`, "spec.kubelet.kubeReserved[cpu]", "is negative"},
		{"an expression", `kubeReserved: {cpu: "vcpus * 10"}`, "", ""},
		{"a negative expression", `systemReserved: {cpu: "-vcpus"}`, "spec.kubelet.systemReserved[cpu]", "is negative"},
		{"an unknown setting", `maxPod: 10`, "spec.kubelet.maxPod", "is no setting of the kubelet"},
		{"a setting in other letters", `MaxPods: 10`, "spec.kubelet.MaxPods", "is no setting of the kubelet"},
		{"an unknown setting within another", `memorySwap: {swap: some}`, "spec.kubelet.memorySwap.swap",
			"is no setting of the kubelet"},
		{"a setting within another", `memorySwap: {swapBehavior: LimitedSwap}, featureGates: {Any: true}`, "", ""},
		{"a value of another type", `maxPods: [10]`, "spec.kubelet.maxPods", "write a whole number"},
		{"a number for an amount", `kubeReserved: {cpu: 2}`, "spec.kubelet.kubeReserved.cpu", "write a text in quotes"},
		{"a text for a list", `clusterDNS: 10.0.0.10`, "spec.kubelet.clusterDNS", "write a list"},
		{"a number for a duration", `shutdownGracePeriod: 30`, "spec.kubelet.shutdownGracePeriod", "a duration such as 30s"},
		{"a fraction of a pod", `maxPods: 10.5`, "spec.kubelet.maxPods", "write a whole number"},
		{"a list for an object", `logging: []`, "spec.kubelet.logging", "write an object"},
		{"a grace period that is none", `evictionSoftGracePeriod: {memory.available: soon}`,
			"spec.kubelet.evictionSoftGracePeriod[memory.available]", "is not a duration"},
		{"negative pod grace", `evictionMaxPodGracePeriod: -1`, "spec.kubelet.evictionMaxPodGracePeriod", "is negative"},
		{"a reclaim of no signal", `evictionMinimumReclaim: {mood: 5%}`, "spec.kubelet.evictionMinimumReclaim[mood]",
			"is for no eviction signal"},
		{"nothing", `maxPods: null, clusterDNS: null, kubeReserved: {}`, "", ""},
		{"an expression for pods", `maxPods: max_pods - 1`, "", ""},
		{
			"soft eviction without time", `evictionSoft: {memory.available: 5%}`,
			"spec.kubelet.evictionSoftGracePeriod[memory.available]", "is missing",
		},
		{
			"time without soft eviction", `evictionSoftGracePeriod: {memory.available: 1m}`,
			"spec.kubelet.evictionSoftGracePeriod[memory.available]", "evictionSoft does not have",
		},
		{
			"image collection upside down", `imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 80`,
			"spec.kubelet.imageGCHighThresholdPercent", "is not above",
		},
		{
			"image collection above 100", `imageGCHighThresholdPercent: 101`,
			"spec.kubelet.imageGCHighThresholdPercent", "from 0 to 100",
		},
		{"negative pods", `maxPods: -1`, "spec.kubelet.maxPods", "is negative"},
		{"another setting", `registryPullQPS: 10`, "", ""},
		{"taints", `registerWithTaints: []`, "spec.kubelet.registerWithTaints", "use the node pool's taints"},
	}, decodeInto[EC2NodeClass])
	checkFaults(t, manifest("Bottlerocket"), []fault{
		{
			"Bottlerocket with two addresses", `clusterDNS: [10.0.0.10, 10.0.0.11]`, "spec.kubelet.clusterDNS",
			"only AL2023 supports",
		},
		{"Bottlerocket with pods per core", `podsPerCore: 5`, "spec.kubelet.podsPerCore", "use maxPods"},
		{
			"Bottlerocket with another setting", `registryPullQPS: 10`, "spec.kubelet.registryPullQPS",
			"is not supported by Bottlerocket",
		},
	}, decodeInto[EC2NodeClass])
	checkFaults(t, manifest("Custom"), []fault{
		{"Custom with any setting of a kubelet", `clusterDNS: [dns, dns], registryPullQPS: 10, podsPerCore: 2`, "", ""},
		{"Custom with no setting of a kubelet", `evictionHard: {mood: bad}`, "spec.kubelet.evictionHard[mood]",
			"is for no eviction signal"},
	}, decodeInto[EC2NodeClass])
}

// TestPlaceholdersAreNamed has a manifest that nobody passed through envsubst.
func TestPlaceholdersAreNamed(t *testing.T) {
	class := EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	script := "echo ${HOME}"
	class.Spec.Role, class.Spec.UserData = "${NODE_ROLE}", &script
	class.Spec.SubnetSelectorTerms = []SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "${CLUSTER_NAME}"}}}
	class.Spec.Tags = map[string]string{"x/${CLUSTER_NAME}": "owned", "price": "$5 {each}"}
	err := class.Placeholders()
	for _, part := range []string{
		"spec.role: \"${NODE_ROLE}\" has a placeholder: pass the manifest through envsubst",
		"spec.subnetSelectorTerms[0].tags.karpenter.sh/discovery: \"${CLUSTER_NAME}\" has a placeholder",
		"spec.tags: \"x/${CLUSTER_NAME}\" has a placeholder in a key",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want %q", err, part)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "HOME") || strings.Contains(err.Error(), "each")) {
		t.Errorf("error is %v", err)
	}
}
