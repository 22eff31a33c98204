package manifests

import (
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
)

const smallestNodePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: smallest}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`

const smallestNodeClaim = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: smallest}
spec:
  requirements: []
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`

const smallestEC2NodeClass = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: smallest}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
`

const smallestNodeOverlay = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: smallest}
spec:
  requirements: []
`

const fullNodeOverlay = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: full}
spec:
  weight: 10000
  priceAdjustment: -12.5%
  capacity: {example.com/device: "4", hugepages-2Mi: 1Gi}
  requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m6i]}
  - {key: karpenter.sh/nodepool, operator: NotIn, values: [gpu]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
  - {key: karpenter.k8s.aws/instance-cpu, operator: Lte, values: ["16"]}
  - {key: karpenter.k8s.aws/instance-gpu-count, operator: DoesNotExist}
  - {key: team, operator: Exists}
`

// fullNodePool sets every field. Quantities and durations have Go's form, so that a round trip
// through our types gives the same text.
const fullNodePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: full}
spec:
  weight: 10
  limits: {cpu: "500", memory: 1000Gi, nodes: "50", nvidia.com/gpu: "8"}
  disruption:
    consolidateAfter: 30s
    consolidationPolicy: Balanced
    budgets:
    - {nodes: "0", schedule: 0 9 * * mon-fri, duration: 8h0m0s, reasons: [Drifted, Underutilized, Unhealthy]}
    - {nodes: 100%, schedule: "@daily", duration: 1h30m0s}
    - {nodes: "5"}
  template:
    metadata:
      labels: {team: infrastructure, example.com/tier: "", karpenter.k8s.aws/instance-family: m7g}
      annotations: {example.com/owner: someone}
    spec:
      expireAfter: Never
      terminationGracePeriod: 1h30m0s
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints: [{key: example.com/dedicated, value: "yes", effect: NoSchedule}]
      startupTaints: [{key: node.cilium.io/agent-not-ready, effect: NoExecute}]
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand, reserved]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r], minValues: 2}
      - {key: karpenter.k8s.aws/instance-generation, operator: Gte, values: ["5"]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["65"]}
      - {key: kubernetes.io/arch, operator: Exists}
      - {key: example.com/tier, operator: NotIn, values: [gold]}
      - {key: topology.k8s.aws/zone-id, operator: NotIn, values: [use1-az3]}
      - {key: node.kubernetes.io/instance-type, operator: DoesNotExist}
`

const fullEC2NodeClass = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: full}
spec:
  amiFamily: AL2023
  amiSelectorTerms:
  - {tags: {example.com/image: "*"}, owner: self}
  - {name: nodes-*, owner: "123456789012"}
  - {id: ami-0123456789abcdef0}
  - {ssmParameter: /nodes/image}
  subnetSelectorTerms: [{tags: {example.com/discovery: prod}}, {id: subnet-0a}]
  securityGroupSelectorTerms: [{tags: {example.com/discovery: prod}}, {name: nodes}, {id: sg-0a}]
  capacityReservationSelectorTerms:
    [{id: cr-0a}, {tags: {use: batch}, ownerID: "123456789012"}, {instanceMatchCriteria: open}]
  placementGroupSelector: {name: close}
  instanceProfile: nodes
  associatePublicIPAddress: false
  ipPrefixCount: 1
  userData: "#!/bin/bash"
  tags: {team: infrastructure}
  detailedMonitoring: true
  context: example
  instanceStorePolicy: RAID0
  cpuOptions: {nestedVirtualization: enabled}
  enclaveOptions: {enabled: true}
  connectionTracking: {tcpEstablishedTimeout: 3600, udpStreamTimeout: 90, udpTimeout: 30}
  metadataOptions: {httpTokens: optional, httpPutResponseHopLimit: 2}
  networkInterfaces:
  - {networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}
  - {networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}
  - {networkCardIndex: 1, deviceIndex: 1, interfaceType: efa-only}
  blockDeviceMappings:
  - deviceName: /dev/xvda
    rootVolume: true
    ebs: {volumeSize: 100Gi, volumeType: gp3, iops: 3000, throughput: 125, encrypted: true,
      deleteOnTermination: true, kmsKeyID: alias/nodes}
  - deviceName: /dev/xvdb
    ebs: {snapshotID: snap-0a, volumeInitializationRate: 200}
  kubelet:
    clusterDNS: [10.100.0.10]
    maxPods: 110
    podsPerCore: 10
    systemReserved: {cpu: 100m, memory: 100Mi, ephemeral-storage: 1Gi, pid: "100"}
    kubeReserved: {cpu: 200m}
    evictionHard: {memory.available: 5%, nodefs.available: 10Gi}
    evictionSoft: {memory.available: 500Mi}
    evictionSoftGracePeriod: {memory.available: 1m0s}
    evictionMaxPodGracePeriod: 60
    imageGCHighThresholdPercent: 85
    imageGCLowThresholdPercent: 80
    cpuCFSQuota: true
    registryPullQPS: 10
`

// checkAccepted creates valid objects, and compares them with our types. The Go validation must not
// be stricter than the schema.
func checkAccepted(t *testing.T, client dynamic.Interface) {
	for _, text := range []string{
		fullNodePool, fullEC2NodeClass, fullNodeOverlay,
		strings.Replace(
			smallestNodePool, "spec:\n  template:", "spec:\n  replicas: 3\n  limits: {nodes: \"5\"}\n  template:", 1,
		),
	} {
		object := objectIn(t, text)
		t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) {
			created, err := create(t, client, object.DeepCopy(), true)
			if err != nil {
				t.Fatal(err)
			}
			// The API server and our types must give the same spec.
			got := specJSON(t, created)
			var want string
			switch object.GetKind() {
			case api.NodePoolKind:
				want = defaultedSpec[api.NodePool](t, object)
			case api.NodeOverlayKind:
				want = defaultedSpec[api.NodeOverlay](t, object)
			default:
				want = defaultedSpec[api.EC2NodeClass](t, object)
			}
			if got != want {
				t.Errorf("the API server gives\n%s\nand our types give\n%s", got, want)
			}
		})
	}
}

type edit struct {
	name  string
	of    string // the object that is edited
	path  string // slash-separated
	value any    // nil removes the field
	want  string // part of the API server's refusal
}

// edits returns objects with one wrong field each.
func edits() []edit {
	requirements := func(r ...map[string]any) any { return r }
	const inPool = "spec/template/spec/requirements"
	return []edit{
		{
			"unknown operator", smallestNodePool, inPool,
			requirements(map[string]any{"key": "a", "operator": "Near", "values": []string{"b"}}), "supported values",
		},
		{
			"In without values", smallestNodePool, inPool, requirements(map[string]any{"key": "a", "operator": "In"}),
			"In needs at least one value",
		},
		{
			"In with an empty list of values", smallestNodePool, inPool,
			requirements(map[string]any{"key": "a", "operator": "In", "values": []string{}}), "In needs at least one value",
		},
		{
			"Gt with two values", smallestNodePool, inPool,
			requirements(map[string]any{"key": "a", "operator": "Gt", "values": []string{"1", "2"}}), "exactly one value",
		},
		{
			"Lte with a word", smallestNodePool, inPool,
			requirements(map[string]any{"key": "a", "operator": "Lte", "values": []string{"many"}}), "exactly one value",
		},
		{
			"more minValues than values", smallestNodePool, inPool,
			requirements(map[string]any{"key": "a", "operator": "In", "values": []string{"b"}, "minValues": 2}),
			"at least minValues",
		},
		{
			"minValues of 51", smallestNodePool, inPool,
			requirements(map[string]any{"key": "a", "operator": "Exists", "minValues": 51}), "less than or equal to 50",
		},
		{
			"a reserved label", smallestNodePool, inPool,
			requirements(map[string]any{"key": "karpenter.sh/initialized", "operator": "Exists"}), "karpenter.sh is reserved",
		},
		{
			"a reserved label of AWS", smallestNodePool, inPool,
			requirements(map[string]any{"key": "karpenter.k8s.aws/colour", "operator": "Exists"}),
			"karpenter.k8s.aws is reserved",
		},
		{
			"the host name", smallestNodePool, inPool,
			requirements(map[string]any{"key": "kubernetes.io/hostname", "operator": "In", "values": []string{"b"}}),
			"known only after a launch",
		},
		{
			"the pool's own label as requirement", smallestNodePool, inPool,
			requirements(map[string]any{"key": "karpenter.sh/nodepool", "operator": "In", "values": []string{"b"}}),
			"set by the pool itself",
		},
		{
			"the pool's own label", smallestNodePool, "spec/template/metadata",
			map[string]any{"labels": map[string]string{"karpenter.sh/nodepool": "b"}}, "set by the pool itself",
		},
		{
			"a reserved label of the pool", smallestNodePool, "spec/template/metadata",
			map[string]any{"labels": map[string]string{"karpenter.sh/registered": "true"}}, "karpenter.sh is reserved",
		},
		{
			"a label with a bad value", smallestNodePool, "spec/template/metadata",
			map[string]any{"labels": map[string]string{"team": "a b"}}, "should match",
		},
		{"an empty class name", smallestNodePool, "spec/template/spec/nodeClassRef/name", "", "at least 1 chars"},
		{
			"a class group with a version", smallestNodePool, "spec/template/spec/nodeClassRef/group", "karpenter.k8s.aws/v1",
			"should match",
		},
		{
			"a taint with an unknown effect", smallestNodePool, "spec/template/spec/taints",
			[]any{map[string]any{"key": "a", "effect": "Never"}}, "supported values",
		},
		{
			"a taint without key", smallestNodePool, "spec/template/spec/startupTaints",
			[]any{map[string]any{"key": "", "effect": "NoSchedule"}}, "at least 1 chars",
		},
		{"an expiry that is no duration", smallestNodePool, "spec/template/spec/expireAfter", "30d", "should match"},
		{
			"an unknown policy", smallestNodePool, "spec/disruption",
			map[string]any{"consolidateAfter": "0s", "consolidationPolicy": "Always"}, "supported values",
		},
		{
			"a budget above 100%", smallestNodePool, "spec/disruption",
			map[string]any{"budgets": []any{map[string]any{"nodes": "101%"}}}, "should match",
		},
		{
			"a schedule without duration", smallestNodePool, "spec/disruption",
			map[string]any{"budgets": []any{map[string]any{"nodes": "1", "schedule": "@daily"}}}, "set together",
		},
		{
			"a schedule that is none", smallestNodePool, "spec/disruption",
			map[string]any{"budgets": []any{map[string]any{"nodes": "1", "schedule": "@every 1h", "duration": "1h"}}},
			"should match",
		},
		{
			"a duration in seconds", smallestNodePool, "spec/disruption",
			map[string]any{"budgets": []any{map[string]any{"nodes": "1", "schedule": "@daily", "duration": "90s"}}},
			"should match",
		},
		{
			"an unknown reason", smallestNodePool, "spec/disruption",
			map[string]any{"budgets": []any{map[string]any{"nodes": "1", "reasons": []string{"Bored"}}}}, "supported values",
		},
		{"weight of 101", smallestNodePool, "spec/weight", 101, "less than or equal to 100"},
		{"negative replicas", smallestNodePool, "spec/replicas", -1, "greater than or equal to 0"},
		{"no template", smallestNodePool, "spec/template", nil, "Required value"},

		{
			"a claim with an unknown operator", smallestNodeClaim, "spec/requirements",
			requirements(map[string]any{"key": "a", "operator": "Near"}), "supported values",
		},
		{
			"a claim with a reserved label", smallestNodeClaim, "spec/requirements",
			requirements(map[string]any{"key": "karpenter.sh/registered", "operator": "Exists"}), "karpenter.sh is reserved",
		},
		{"a claim without class", smallestNodeClaim, "spec/nodeClassRef", nil, "Required value"},

		{
			"an overlay with two prices", smallestNodeOverlay, "spec",
			map[string]any{"requirements": []any{}, "price": "1", "priceAdjustment": "+1"}, "either price or priceAdjustment",
		},
		{"an overlay with a signed price", smallestNodeOverlay, "spec/price", "+1", "should match"},
		{"an overlay with an unsigned adjustment", smallestNodeOverlay, "spec/priceAdjustment", "10%", "should match"},
		{"an overlay that takes more than all", smallestNodeOverlay, "spec/priceAdjustment", "-101%", "should match"},
		{"an overlay of cpu", smallestNodeOverlay, "spec/capacity", map[string]string{"cpu": "1"}, "extended resources only"},
		{"an overlay without weight", smallestNodeOverlay, "spec/weight", 0, "greater than or equal to 1"},
		{"an overlay of 10001", smallestNodeOverlay, "spec/weight", 10001, "less than or equal to 10000"},
		{"an overlay without requirements", smallestNodeOverlay, "spec/requirements", nil, "Required value"},
		{
			"an overlay with NotIn without values", smallestNodeOverlay, "spec/requirements",
			requirements(map[string]any{"key": "a", "operator": "NotIn"}), "needs at least one value",
		},
		{
			"an overlay with a word as a number", smallestNodeOverlay, "spec/requirements",
			requirements(map[string]any{"key": "a", "operator": "Gt", "values": []string{"many"}}), "exactly one value",
		},
		{
			"an overlay with an unknown operator", smallestNodeOverlay, "spec/requirements",
			requirements(map[string]any{"key": "a", "operator": "Near"}), "supported values",
		},
		{
			"an overlay of a tenancy", smallestNodeOverlay, "spec/requirements",
			requirements(map[string]any{"key": "karpenter.k8s.aws/instance-tenancy", "operator": "Exists"}),
			"karpenter.k8s.aws is reserved",
		},
		{
			"an overlay of a reservation", smallestNodeOverlay, "spec/requirements",
			requirements(map[string]any{"key": "karpenter.k8s.aws/capacity-reservation-id", "operator": "Exists"}),
			"karpenter.k8s.aws is reserved",
		},
		{
			"an overlay of a host", smallestNodeOverlay, "spec/requirements",
			requirements(map[string]any{"key": "kubernetes.io/hostname", "operator": "Exists"}), "known only after a launch",
		},

		{
			"both role and instanceProfile", smallestEC2NodeClass, "spec/instanceProfile", "nodes",
			"exactly one of role and instanceProfile",
		},
		{
			"neither role nor instanceProfile", smallestEC2NodeClass, "spec/role", nil,
			"exactly one of role and instanceProfile",
		},
		{"an empty role", smallestEC2NodeClass, "spec/role", "", "at least 1 chars"},
		{"no subnets", smallestEC2NodeClass, "spec/subnetSelectorTerms", []any{}, "at least 1 items"},
		{
			"a subnet term that selects nothing", smallestEC2NodeClass, "spec/subnetSelectorTerms", []any{map[string]any{}},
			"needs tags or id",
		},
		{
			"a subnet term with id and tags", smallestEC2NodeClass, "spec/subnetSelectorTerms",
			[]any{map[string]any{"id": "subnet-0a", "tags": map[string]string{"a": "b"}}}, "either id or tags",
		},
		{
			"a subnet id that is none", smallestEC2NodeClass, "spec/subnetSelectorTerms", []any{map[string]any{"id": "net-0a"}},
			"should match",
		},
		{
			"a tag without value", smallestEC2NodeClass, "spec/subnetSelectorTerms",
			[]any{map[string]any{"tags": map[string]string{"a": ""}}}, "needs a key and a value",
		},
		{
			"a group term with name and tags", smallestEC2NodeClass, "spec/securityGroupSelectorTerms",
			[]any{map[string]any{"name": "nodes", "tags": map[string]string{"a": "b"}}}, "with name has nothing else",
		},
		{
			"an alias without version", smallestEC2NodeClass, "spec/amiSelectorTerms", []any{map[string]any{"alias": "al2023"}},
			"family@version",
		},
		{
			"an alias of an unknown family", smallestEC2NodeClass, "spec/amiSelectorTerms",
			[]any{map[string]any{"alias": "gentoo@latest"}}, "the family of an alias",
		},
		{
			"an alias of Windows with a version", smallestEC2NodeClass, "spec/amiSelectorTerms",
			[]any{map[string]any{"alias": "windows2022@v1"}}, "must be latest",
		},
		{
			"an alias and another term", smallestEC2NodeClass, "spec/amiSelectorTerms",
			[]any{map[string]any{"alias": "al2023@latest"}, map[string]any{"id": "ami-0a"}}, "only term",
		},
		{
			"an alias and another field", smallestEC2NodeClass, "spec/amiSelectorTerms",
			[]any{map[string]any{"alias": "al2023@latest", "owner": "self"}}, "with alias has nothing else",
		},
		{
			"an image id with an owner", smallestEC2NodeClass, "spec/amiSelectorTerms",
			[]any{map[string]any{"id": "ami-0a", "owner": "self"}}, "with id has nothing else",
		},
		{
			"no alias and no family", smallestEC2NodeClass, "spec/amiSelectorTerms", []any{map[string]any{"id": "ami-0a"}},
			"amiFamily must be set",
		},
		{"another family than the alias", smallestEC2NodeClass, "spec/amiFamily", "Bottlerocket", "family of the alias"},
		{
			"the tag of the cluster", smallestEC2NodeClass, "spec/tags",
			map[string]string{"kubernetes.io/cluster/prod": "owned"}, "set by the launch",
		},
		{
			"the tag of the pool", smallestEC2NodeClass, "spec/tags", map[string]string{"karpenter.sh/nodepool": "a"},
			"set by the launch",
		},
		{
			"a volume without size", smallestEC2NodeClass, "spec/blockDeviceMappings",
			[]any{map[string]any{"ebs": map[string]any{"volumeType": "gp3"}}}, "snapshotID or volumeSize",
		},
		{
			"a volume of 60000Gi", smallestEC2NodeClass, "spec/blockDeviceMappings",
			[]any{map[string]any{"ebs": map[string]any{"volumeSize": "60000Gi"}}}, "should match",
		},
		{
			"two root volumes", smallestEC2NodeClass, "spec/blockDeviceMappings",
			[]any{map[string]any{"rootVolume": true}, map[string]any{"rootVolume": true}}, "rootVolume",
		},
		{
			"a rate without snapshot", smallestEC2NodeClass, "spec/blockDeviceMappings",
			[]any{map[string]any{"ebs": map[string]any{"volumeSize": "10Gi", "volumeInitializationRate": 100}}},
			"needs snapshotID",
		},
		{
			"no primary interface", smallestEC2NodeClass, "spec/networkInterfaces",
			[]any{map[string]any{"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "interface"}}, "networkCardIndex 0",
		},
		{
			"a hop limit of 65", smallestEC2NodeClass, "spec/metadataOptions", map[string]any{"httpPutResponseHopLimit": 65},
			"less than or equal to 64",
		},
		{
			"connection tracking of nothing", smallestEC2NodeClass, "spec/connectionTracking", map[string]any{},
			"at least one of",
		},
		{
			"a placement group by name and id", smallestEC2NodeClass, "spec/placementGroupSelector",
			map[string]any{"name": "a", "id": "pg-0a"}, "exactly one of name and id",
		},
		{
			"a reservation term that selects nothing", smallestEC2NodeClass, "spec/capacityReservationSelectorTerms",
			[]any{map[string]any{"ownerID": "123456789012"}}, "needs tags, id or instanceMatchCriteria",
		},
	}
}

// checkRefused creates objects with one wrong field each. The Go validation must find the same
// fault, because objects may come from another schema.
func checkRefused(t *testing.T, client dynamic.Interface) {
	for _, e := range edits() {
		t.Run(e.name, func(t *testing.T) {
			object := edited(t, e.of, e.value, strings.Split(e.path, "/")...)
			_, err := create(t, client, object.DeepCopy(), true)
			checkRefusal(t, err, e.want)
			if err := validate(t, object); err == nil {
				t.Errorf("Validate finds nothing")
			}
		})
	}
	t.Run("static pool with weight", func(t *testing.T) {
		object := edited(t, smallestNodePool, 3, "spec", "replicas")
		object.Object["spec"].(map[string]any)["weight"] = int64(5)
		_, err := create(t, client, object, true)
		checkRefusal(t, err, "remove weight")
	})
	t.Run("static pool with a limit of CPU", func(t *testing.T) {
		object := edited(t, smallestNodePool, 3, "spec", "replicas")
		object.Object["spec"].(map[string]any)["limits"] = map[string]any{"cpu": "5"}
		_, err := create(t, client, object, true)
		checkRefusal(t, err, "limit nodes only")
	})
}

// validate decodes an object into its type, defaults and validates it. A decoding error counts as
// invalid.
func validate(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	switch object.GetKind() {
	case api.NodePoolKind:
		return decodeAndValidate[api.NodePool](object)
	case api.NodeClaimKind:
		return decodeAndValidate[api.NodeClaim](object)
	case api.NodeOverlayKind:
		return decodeAndValidate[api.NodeOverlay](object)
	}
	return decodeAndValidate[api.EC2NodeClass](object)
}

type change struct {
	name, object, patch, refused string
}

func changes() []change {
	return []change{
		{"a claim's spec", smallestNodeClaim, `{"spec":{"expireAfter":"1h"}}`, "the spec of a node claim cannot be changed"},
		{"a claim's annotations", smallestNodeClaim, `{"metadata":{"annotations":{"a":"b"}}}`, ""},
		{"a pool's class", smallestNodePool, `{"spec":{"template":{"spec":{"nodeClassRef":{"name":"other"}}}}}`, ""},
		{
			"a pool's class to another kind", smallestNodePool,
			`{"spec":{"template":{"spec":{"nodeClassRef":{"kind":"Other"}}}}}`, "cannot be changed",
		},
		{
			"a pool's class to another group", smallestNodePool,
			`{"spec":{"template":{"spec":{"nodeClassRef":{"group":"example.com"}}}}}`, "cannot be changed",
		},
		{"a pool to replicas", smallestNodePool, `{"spec":{"replicas":1}}`, "replicas can neither be added"},
		{"a class's role", smallestEC2NodeClass, `{"spec":{"role":"other"}}`, ""},
		{"a class's role to a profile", smallestEC2NodeClass, `{"spec":{"role":null,"instanceProfile":"other"}}`, ""},
	}
}

type right struct {
	attributes authorizationv1.ResourceAttributes
	allowed    string // the functions, separated by spaces
}

func rights() []right {
	const karpenter, aws = api.Group, api.AWSGroup
	in := func(namespace, verb, group, resource string, name ...string) authorizationv1.ResourceAttributes {
		resource, subresource, _ := strings.Cut(resource, "/")
		return authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
			Name: strings.Join(name, ""),
		}
	}
	return []right{
		{in("", "list", "", "pods"), "provision interrupt lifecycle disrupt watch console"},
		{in("", "watch", "", "pods"), "watch"},
		{in("", "watch", "", "nodes"), "watch"},
		{in("", "watch", karpenter, "nodeclaims"), "watch"},
		{in("", "watch", aws, "ec2nodeclasses"), "watch"},
		{in("default", "delete", "", "pods"), "lifecycle"},
		{in("default", "create", "", "pods/eviction"), "lifecycle"},
		{in("default", "patch", "", "pods/status"), "lifecycle"},
		{in("default", "patch", "", "pods"), ""},
		{in("default", "create", "", "pods"), ""},
		{in("", "list", "", "nodes"), "provision lifecycle disrupt watch console"},
		{in("", "get", "", "nodes"), "interrupt"},
		{in("", "get", "", "pods"), ""},
		{in("", "list", "", "events"), "console"},
		{in("", "patch", "", "nodes"), "interrupt lifecycle disrupt"},
		{in("", "delete", "", "nodes"), "lifecycle"},
		{in("", "list", "", "persistentvolumeclaims"), "provision disrupt"},
		{in("", "list", "storage.k8s.io", "csinodes"), "provision disrupt"},
		{in("", "list", "storage.k8s.io", "volumeattachments"), "lifecycle"},
		{in("", "list", "policy", "poddisruptionbudgets"), "provision disrupt lifecycle console"},
		{in("", "list", "apps", "daemonsets"), "provision disrupt"},
		{in("", "list", "", "limitranges"), "provision disrupt"},
		{in("default", "get", "apps", "replicasets"), "provision disrupt"},
		{in("default", "get", "apps", "statefulsets"), "provision disrupt"},
		{in("default", "get", "batch", "jobs"), "provision disrupt"},
		{in("default", "get", "apps", "deployments"), ""},
		{in("", "list", karpenter, "nodeclaims"), "provision interrupt lifecycle disrupt watch console"},
		{in("", "create", karpenter, "nodeclaims"), "provision disrupt"},
		{in("", "update", karpenter, "nodeclaims"), ""},
		{in("", "delete", karpenter, "nodeclaims"), "provision interrupt lifecycle disrupt"},
		{in("", "patch", karpenter, "nodeclaims/status"), "provision lifecycle disrupt"},
		{in("", "patch", karpenter, "nodepools/status"), "lifecycle"},
		{in("", "patch", karpenter, "nodepools"), "lifecycle"},
		{in("", "list", karpenter, "nodeoverlays"), "provision disrupt"},
		{in("", "patch", karpenter, "nodeoverlays/status"), "provision"},
		{in("", "patch", karpenter, "nodeoverlays"), ""},
		{in("", "list", "", "namespaces"), "provision disrupt"},
		{in("", "list", "", "persistentvolumes"), "provision disrupt"},
		{in("", "list", "storage.k8s.io", "storageclasses"), "provision disrupt"},
		{in("", "delete", karpenter, "nodepools"), ""},
		{in("", "list", aws, "ec2nodeclasses"), "provision lifecycle disrupt watch console"},
		{in("", "patch", aws, "ec2nodeclasses"), "lifecycle"},
		{in("", "patch", aws, "ec2nodeclasses/status"), "provision lifecycle"},
		{in(SystemNamespace, "update", "", "configmaps"), ""},
		{in(SystemNamespace, "get", "", "configmaps"), ""},
		{in(SystemNamespace, "create", "", "configmaps"), "provision interrupt lifecycle disrupt catalog"},
		{in(SystemNamespace, "list", "", "configmaps"), ""},
		{in(SystemNamespace, "get", "", "configmaps", "whittle-status"), "provision lifecycle console"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-status"), "provision lifecycle"},
		{in(SystemNamespace, "get", "", "configmaps", "whittle-learned-capacity"), "provision lifecycle disrupt"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-learned-capacity"), "lifecycle"},
		{in(SystemNamespace, "get", "", "configmaps", "whittle-catalog"), "provision lifecycle disrupt catalog console"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-catalog"), "catalog"},
		{in(SystemNamespace, "get", "", "configmaps", "whittle-kubelet-values"), "provision lifecycle disrupt"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-kubelet-values"), "lifecycle"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-misfits"), "provision"},
		{in(SystemNamespace, "get", "", "configmaps", "whittle-releases"), "lifecycle disrupt console"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-releases"), "disrupt"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-capacity-reservations"), "provision lifecycle"},
		{in(SystemNamespace, "update", "", "configmaps", "whittle-unavailable-offerings"), "provision interrupt lifecycle disrupt"},
		{in(SystemNamespace, "update", "coordination.k8s.io", "leases", "whittle-provision"), "provision"},
		{in(SystemNamespace, "update", "coordination.k8s.io", "leases", "whittle-watch"), "watch"},
		{in(SystemNamespace, "get", "coordination.k8s.io", "leases", "whittle-watch"), "provision lifecycle watch"},
		{in(SystemNamespace, "update", "coordination.k8s.io", "leases"), ""},
		{in("default", "get", "", "configmaps"), ""},
		{in(SystemNamespace, "create", "coordination.k8s.io", "leases"), "provision lifecycle disrupt watch"},
		{in("kube-node-lease", "list", "coordination.k8s.io", "leases"), "lifecycle"},
		{in("kube-node-lease", "delete", "coordination.k8s.io", "leases"), "lifecycle"},
		{in("kube-node-lease", "update", "coordination.k8s.io", "leases"), ""},
		{
			in("", "list", "coordination.k8s.io", "leases", "karpenter-leader-election"),
			"provision interrupt lifecycle disrupt watch console",
		},
		{in("", "list", "coordination.k8s.io", "leases"), ""},
		{in("kube-system", "get", "coordination.k8s.io", "leases", "karpenter-leader-election"), ""},
		{in("kube-system", "get", "", "services", "kube-dns"), "provision"},
		{in("kube-system", "get", "", "services", "other"), ""},
		{in("default", "create", "", "events"), "provision interrupt lifecycle disrupt"},
		{in("kube-system", "get", "", "secrets"), ""},
		{in("", "list", "", "secrets"), ""},
		{in("", "patch", "apiextensions.k8s.io", "customresourcedefinitions"), ""},
		{in("", "create", "rbac.authorization.k8s.io", "clusterrolebindings"), ""},
	}
}
