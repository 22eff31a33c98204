package main

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	karpenteraws "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// TestNodePoolsHashAsKarpenters holds that a claim which moves in from Karpenter, or out to it, has
// not drifted by that.
func TestNodePoolsHashAsKarpenters(t *testing.T) {
	if api.NodePoolHashVersion != karpenter.NodePoolHashVersion {
		t.Errorf("version %s, Karpenter's is %s", api.NodePoolHashVersion, karpenter.NodePoolHashVersion)
	}
	for _, document := range []string{
		`{}`,
		`{"template": {"spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}}}`,
		`{"template": {"spec": {"requirements": [], "expireAfter": "720h"}}}`,
		`{"template": {"spec": {"requirements": [], "expireAfter": "24h30m"}}}`,
		`{"template": {"spec": {"requirements": [], "expireAfter": "Never", "terminationGracePeriod": "1h30m"}}}`,
		`{"template": {"metadata": {"labels": {"team": "a", "tier": "web"}, "annotations": {"karpenter.sh/do-not-disrupt": "true"}}, "spec": {"requirements": []}}}`,
		`{"template": {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "value": "c", "effect": "NoExecute"}],
			"startupTaints": [{"key": "d", "effect": "PreferNoSchedule"}], "requirements": []}}}`,
		`{"template": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}],
			"startupTaints": [{"key": "b", "effect": "NoSchedule"}], "requirements": [],
				"nodeClassRef": {"group": "g", "kind": "k", "name": "n"},
			"terminationGracePeriod": "5m", "expireAfter": "1h"}}}`,
		`{"template": {"spec": {"requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"], "minValues": 1}]}},
			"weight": 7, "limits": {"cpu": "10"}, "disruption": {"consolidateAfter": "1m", "budgets": [{"nodes": "5"}]}}`,
	} {
		var ours api.NodePool
		var theirs karpenter.NodePool
		read(t, document, &ours.Spec, &theirs.Spec)
		got, err := drift.PoolHash(&ours)
		if want := theirs.Hash(); err != nil || got != want {
			t.Errorf("%s: %s, %v; Karpenter's is %s", document, got, err, want)
		}
		// Written out in full, as the API server gives it back, it is still the same.
		ours.Default()
		full := string(written(t, ours.Spec))
		ours, theirs = api.NodePool{}, karpenter.NodePool{}
		read(t, full, &ours.Spec, &theirs.Spec)
		got, err = drift.PoolHash(&ours)
		if want := theirs.Hash(); err != nil || got != want {
			t.Errorf("%s, with defaults: %s, %v; Karpenter's is %s", document, got, err, want)
		}
	}
}

// TestEC2NodeClassesHashAsKarpenters is the same for the other half of what a claim is made from.
func TestEC2NodeClassesHashAsKarpenters(t *testing.T) {
	if api.EC2NodeClassHashVersion != karpenteraws.EC2NodeClassHashVersion {
		t.Errorf("version %s, Karpenter's is %s", api.EC2NodeClassHashVersion, karpenteraws.EC2NodeClassHashVersion)
	}
	for _, document := range []string{
		`{"amiFamily": "Custom"}`,
		`{"role": "nodes", "amiSelectorTerms": [{"alias": "al2023@latest"}], "subnetSelectorTerms": [{"tags": {"a": "b"}}], "securityGroupSelectorTerms": [{"id": "sg-1"}]}`,
		`{"role": "nodes", "amiSelectorTerms": [{"alias": "bottlerocket@v1.20.3"}], "capacityReservationSelectorTerms": [{"id": "cr-1"}]}`,
		`{"role": "nodes", "amiSelectorTerms": [{"alias": "al2@latest"}], "amiFamily": "AL2"}`,
		`{"instanceProfile": "p", "amiSelectorTerms": [{"alias": "windows2022@latest"}]}`,
		`{"role": "nodes", "amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-1"}], "userData": "x", "tags": {"a": "b", "c": "d"}, "context": "c",
			"detailedMonitoring": true, "associatePublicIPAddress": false, "ipPrefixCount": 2, "instanceStorePolicy": "RAID0"}`,
		`{"role": "nodes", "amiFamily": "AL2023", "kubelet": {"maxPods": 20, "podsPerCore": 2, "clusterDNS": ["10.0.0.10"], "systemReserved": {"cpu": "100m"},
			"kubeReserved": {"memory": "1Gi"}, "evictionHard": {"memory.available": "5%"},
				"evictionSoft": {"nodefs.available": "10%"},
			"evictionSoftGracePeriod": {"nodefs.available": "1m"}, "evictionMaxPodGracePeriod": 60,
				"imageGCHighThresholdPercent": 80,
			"imageGCLowThresholdPercent": 70, "cpuCFSQuota": false}}`,
		`{"role": "nodes", "amiFamily": "AL2023", "kubelet": {}}`,
		`{"role": "nodes", "amiFamily": "AL2023", "kubelet": {"evictionSoftGracePeriod": {"nodefs.available": "90s"}, "kubeReserved": {},
			"maxPods": "max_pods - 2", "memorySwap": {"swapBehavior": "LimitedSwap"}, "registryPullQPS": 10,
			"tlsCipherSuites": ["<a>", "b & c"], "topologyManagerPolicy": null}}`,
		`{"role": "nodes", "amiFamily": "AL2023", "enclaveOptions": {"enabled": true}}`,
		`{"role": "nodes", "amiFamily": "AL2023", "enclaveOptions": {"enabled": false}}`,
		`{"role": "nodes", "amiFamily": "AL2023", "blockDeviceMappings": [{"deviceName": "/dev/xvda", "rootVolume": true, "ebs": {"volumeSize": "100Gi", "volumeType": "gp3",
			"encrypted": true, "iops": 3000, "throughput": 125, "deleteOnTermination": true, "kmsKeyID": "k",
				"snapshotID": "snap-1", "volumeInitializationRate": 200}},
			{"deviceName": "/dev/xvdb"}]}`,
		`{"role": "nodes", "amiFamily": "AL2023", "metadataOptions": {"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"}}`,
		`{"role": "nodes", "amiFamily": "AL2023", "placementGroupSelector": {"name": "g"}, "cpuOptions": {"nestedVirtualization": "enabled"},
			"networkInterfaces": [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
				{"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"}],
			"detailedMonitoring": true, "context": "c",
			"connectionTracking": {"tcpEstablishedTimeout": 300, "udpStreamTimeout": 120, "udpTimeout": 45}}`,
	} {
		var ours api.EC2NodeClass
		var theirs karpenteraws.EC2NodeClass
		read(t, document, &ours.Spec, &theirs.Spec)
		authority := []byte("a certificate")
		bundle := base64.StdEncoding.EncodeToString(authority)
		got, err := nodeclass.Hash(&ours, authority)
		if want := theirs.Hash(&bundle); err != nil || got != want {
			t.Errorf("%s: %s, %v; Karpenter's is %s", document, got, err, want)
		}
		ours.Default()
		full := string(written(t, ours.Spec))
		ours, theirs = api.EC2NodeClass{}, karpenteraws.EC2NodeClass{}
		read(t, full, &ours.Spec, &theirs.Spec)
		got, err = nodeclass.Hash(&ours, authority)
		if want := theirs.Hash(&bundle); err != nil || got != want {
			t.Errorf("%s, with defaults: %s, %v; Karpenter's is %s", document, got, err, want)
		}
	}
}

func read(t *testing.T, document string, into ...any) {
	t.Helper()
	for _, object := range into {
		if err := json.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
	}
}

func written(t *testing.T, object any) []byte {
	t.Helper()
	document, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return document
}
