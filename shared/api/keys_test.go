package api

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestInstanceID(t *testing.T) {
	const id = "i-0123456789abcdef0"
	tests := map[string]string{
		ProviderID("us-east-1a", id):     id,
		"aws:///us-east-1a/" + id:        id,
		"aws:////" + id:                  id,
		"":                               "",
		id:                               "",
		"aws:///us-east-1a/":             "",
		"aws:///us-east-1a/i-":           "",
		"aws:///us-east-1a/fargate-ip":   "",
		"aws:///us-east-1a/" + id + "/x": "",
		"gce://project/zone/" + id:       "",
	}
	for providerID, want := range tests {
		got, ok := InstanceID(providerID)
		if got != want || ok != (want != "") {
			t.Errorf("%q is the instance %q, %v, want %q", providerID, got, ok, want)
		}
	}
}

func TestIsReservedTag(t *testing.T) {
	for key, want := range map[string]bool{
		"": true, ClusterTagKey("prod"): true, "kubernetes.io/cluster": true, EKSClusterNameTagKey: true,
		NodePoolTagKey: true, NodeClaimTagKey: true,
		NodeClassTagKey: true, NameTagKey: false, "team": false, "kubernetes.io/role": false,
	} {
		if got := IsReservedTag(key); got != want {
			t.Errorf("%q is reserved: %v, want %v", key, got, want)
		}
	}
}

func TestIsEphemeralTaint(t *testing.T) {
	const schedule, prefer, execute = corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule,
		corev1.TaintEffectNoExecute
	tests := []struct {
		taint corev1.Taint
		want  bool
	}{
		{corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: schedule}, true},
		{corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: execute}, true},
		{corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: prefer}, false},
		{corev1.Taint{Key: "node.kubernetes.io/unreachable", Effect: schedule}, true},
		{corev1.Taint{Key: "node.kubernetes.io/unreachable", Effect: execute}, false},
		{corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: schedule}, true},
		{corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: schedule}, false},
		{UnregisteredNoExecuteTaint(), true},
		{DisruptedNoScheduleTaint(), false},
		{corev1.Taint{Key: "readiness.k8s.io/network", Effect: schedule}, true},
		{corev1.Taint{Key: "example.com/dedicated", Effect: schedule}, false},
		{corev1.Taint{Key: "node.kubernetes.io/memory-pressure", Effect: schedule}, false},
	}
	for _, test := range tests {
		if got := IsEphemeralTaint(test.taint); got != test.want {
			t.Errorf("%s goes by itself: %v, want %v", test.taint.ToString(), got, test.want)
		}
	}
}

func TestNormalizedLabel(t *testing.T) {
	for key, want := range map[string]string{
		"failure-domain.beta.kubernetes.io/zone":   "topology.kubernetes.io/zone",
		"failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
		"beta.kubernetes.io/arch":                  "kubernetes.io/arch",
		"beta.kubernetes.io/os":                    "kubernetes.io/os",
		"beta.kubernetes.io/instance-type":         "node.kubernetes.io/instance-type",
		"topology.ebs.csi.aws.com/zone":            "topology.kubernetes.io/zone",
		"example.com/team":                         "example.com/team",
	} {
		if got := NormalizedLabel(key); got != want {
			t.Errorf("%q is known as %q, want %q", key, got, want)
		}
	}
}

func TestAMIFamily(t *testing.T) {
	custom := AMIFamilyCustom
	tests := []struct {
		name          string
		spec          EC2NodeClassSpec
		family, alias string
	}{
		{
			"an alias", EC2NodeClassSpec{AMISelectorTerms: []AMISelectorTerm{{Alias: "bottlerocket@v1.20.0"}}},
			AMIFamilyBottlerocket, "v1.20.0",
		},
		{
			"an alias and Custom",
			EC2NodeClassSpec{AMIFamily: &custom, AMISelectorTerms: []AMISelectorTerm{{Alias: "al2@latest"}}},
			AMIFamilyCustom, AliasVersionLatest,
		},
		{
			"an id and Custom",
			EC2NodeClassSpec{AMIFamily: &custom, AMISelectorTerms: []AMISelectorTerm{{ID: "ami-0a"}}}, AMIFamilyCustom,
			"",
		},
		{"an id alone", EC2NodeClassSpec{AMISelectorTerms: []AMISelectorTerm{{ID: "ami-0a"}}}, "", ""},
		{"an alias that is none", EC2NodeClassSpec{AMISelectorTerms: []AMISelectorTerm{{Alias: "al2023@"}}}, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			class := EC2NodeClass{Spec: test.spec}
			alias, ok := class.Alias()
			if got := class.AMIFamily(); got != test.family || alias.Version != test.alias || ok != (test.alias != "") {
				t.Errorf("got the family %q and the alias %+v, %v", got, alias, ok)
			}
		})
	}
}
