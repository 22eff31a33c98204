package legacy_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/api/legacy/legacytest"
)

func parse[T any](t *testing.T, text string) *T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return &object
}

func specOf(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantSpec(t *testing.T, got any, want string) {
	t.Helper()
	if text := specOf(t, got); text != strings.TrimLeft(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// levels returns the fields of the changes of a level.
func levels(list []legacy.Change, level legacy.Level) []string {
	var fields []string
	for _, change := range list {
		if change.Level == level {
			fields = append(fields, change.Kind+" "+change.Field)
		}
	}
	return fields
}

func wantLevels(t *testing.T, list []legacy.Change, level legacy.Level, want ...string) {
	t.Helper()
	if got := levels(list, level); !slices.Equal(got, want) {
		t.Errorf("changes of level %d are about %q, want %q; all are\n%v", level, got, want, list)
	}
}

var settings = legacy.Settings{ClusterName: "prod", KubernetesVersion: "1.31", Role: "nodes"}

// TestTheLeastProvisioner converts a Provisioner that says nothing but its instance profile.
func TestTheLeastProvisioner(t *testing.T) {
	p := parse[legacy.Provisioner](t, `
metadata: {name: default}
spec: {provider: {instanceProfile: nodes}}
`)
	converted := legacy.FromProvisioner(p, nil, settings)
	wantSpec(t, converted.Pool.Spec, `
disruption:
  budgets:
  - nodes: 10%
  - nodes: "0"
    reasons:
    - Drifted
  consolidateAfter: Never
  consolidationPolicy: WhenEmpty
template:
  spec:
    expireAfter: Never
    nodeClassRef:
      group: karpenter.k8s.aws
      kind: EC2NodeClass
      name: default
    requirements:
    - key: kubernetes.io/os
      operator: In
      values:
      - linux
    - key: kubernetes.io/arch
      operator: In
      values:
      - amd64
    - key: karpenter.sh/capacity-type
      operator: In
      values:
      - on-demand
    - key: karpenter.k8s.aws/instance-category
      operator: In
      values:
      - c
      - m
      - r
    - key: karpenter.k8s.aws/instance-generation
      operator: Gt
      values:
      - "2"
`)
	wantSpec(t, converted.Class.Spec, `
amiSelectorTerms:
- alias: al2@latest
instanceProfile: nodes
metadataOptions:
  httpEndpoint: enabled
  httpProtocolIPv6: disabled
  httpPutResponseHopLimit: 2
  httpTokens: required
securityGroupSelectorTerms:
- tags:
    kubernetes.io/cluster/prod: '*'
subnetSelectorTerms:
- tags:
    kubernetes.io/cluster/prod: '*'
`)
	wantLevels(t, converted.Changes(), legacy.Lost)
	wantLevels(t, converted.Changes(), legacy.Blocking)
	converted.Pool.Default()
	if converted.Pool.Spec.Template.Labels[api.ProvisionerNameLabelKey] != "default" {
		t.Errorf("the nodes' labels are %v, without the Provisioner's name", converted.Pool.Spec.Template.Labels)
	}
	if err := converted.Pool.Validate(); err != nil {
		t.Error(err)
	}
}

// TestAFullProvisioner converts one of 2023 with everything.
func TestAFullProvisioner(t *testing.T) {
	p := parse[legacy.Provisioner](t, `
metadata: {name: batch, labels: {app: a}}
spec:
  labels: {karpenter.sh/capacity-type: spot, team: a}
  annotations: {karpenter.sh/do-not-consolidate: "true"}
  taints: [{key: t, value: v, effect: NoSchedule}]
  startupTaints: [{key: s, effect: NoExecute}]
  requirements:
    - {key: beta.kubernetes.io/instance-type, operator: In, values: [m5.large]}
    - {key: karpenter.k8s.aws/instance-pods, operator: Gt, values: ["20"]}
    - {key: beta.kubernetes.io/arch, operator: In, values: [arm64]}
  kubeletConfiguration:
    containerRuntime: dockerd
    clusterDNS: [10.0.0.10, 10.0.0.11]
    systemReserved: {cpu: 1, memory: 0.5Gi}
    evictionSoft: {memory.available: 5%}
    evictionSoftGracePeriod: {memory.available: 2m}
  providerRef: {name: big}
  ttlSecondsAfterEmpty: 30
  ttlSecondsUntilExpired: 3600
  limits: {resources: {cpu: 1k, memory: 4Ti}}
  weight: 50
`)
	template := parse[legacy.AWSNodeTemplate](t, `
metadata: {name: big}
spec:
  amiFamily: Bottlerocket
  subnetSelector: {Name: "a, b", tier: "", aws-ids: ""}
  securityGroupSelector: {aws-ids: "sg-1,sg-2", Name: x}
  amiSelector: {aws::name: "n1,n2", aws::owners: "self", team: a}
  instanceProfile: nodes
  tags: {team: a, kubernetes.io/cluster/prod: owned}
  metadataOptions: {httpEndpoint: enabled}
  detailedMonitoring: true
  userData: "[settings]"
  context: c
  blockDeviceMappings: [{deviceName: /dev/xvdb, ebs: {volumeSize: 50000Mi, volumeType: gp3}}]
`)
	converted := legacy.FromProvisioner(p, template, settings)
	wantSpec(t, converted.Pool, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  annotations:
    whittle.dev/expire-within-budgets: "true"
  labels:
    app: a
    karpenter.sh/provisioner-name: batch
  name: batch
spec:
  disruption:
    budgets:
    - nodes: 10%
    - nodes: "0"
      reasons:
      - Drifted
    consolidateAfter: 30s
    consolidationPolicy: WhenEmpty
  limits:
    cpu: 1k
    memory: 4Ti
  template:
    metadata:
      annotations:
        karpenter.sh/do-not-disrupt: "true"
      labels:
        karpenter.sh/capacity-type: spot
        team: a
    spec:
      expireAfter: 3600s
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: batch
      requirements:
      - key: beta.kubernetes.io/instance-type
        operator: In
        values:
        - m5.large
      - key: beta.kubernetes.io/arch
        operator: In
        values:
        - arm64
      - key: kubernetes.io/os
        operator: In
        values:
        - linux
      startupTaints:
      - effect: NoExecute
        key: s
      taints:
      - effect: NoSchedule
        key: t
        value: v
  weight: 50
`)
	wantSpec(t, converted.Class.Spec, `
amiFamily: Bottlerocket
amiSelectorTerms:
- name: n1
  owner: self
  tags:
    team: a
- name: n2
  owner: self
  tags:
    team: a
blockDeviceMappings:
- deviceName: /dev/xvdb
  ebs:
    volumeSize: 49Gi
    volumeType: gp3
context: c
detailedMonitoring: true
instanceProfile: nodes
kubelet:
  clusterDNS:
  - 10.0.0.10
  evictionSoft:
    memory.available: 5%
  evictionSoftGracePeriod:
    memory.available: 2m0s
  systemReserved:
    cpu: "1"
    memory: 512Mi
metadataOptions:
  httpEndpoint: enabled
  httpProtocolIPv6: disabled
  httpPutResponseHopLimit: 1
  httpTokens: optional
securityGroupSelectorTerms:
- id: sg-1
- id: sg-2
subnetSelectorTerms:
- tags:
    Name: a
    tier: '*'
- tags:
    Name: b
    tier: '*'
tags:
  team: a
userData: '[settings]'
`)
	wantLevels(t, converted.OfPool, legacy.Lost, "Provisioner spec.requirements[1]")
	wantLevels(t, converted.OfClass, legacy.Lost,
		"AWSNodeTemplate spec.securityGroupSelector", "AWSNodeTemplate spec.tags[kubernetes.io/cluster/prod]",
		"Provisioner spec.kubeletConfiguration.containerRuntime", "Provisioner spec.kubeletConfiguration.clusterDNS",
	)
	wantLevels(t, converted.Changes(), legacy.Blocking)
}

func TestConsolidation(t *testing.T) {
	p := parse[legacy.Provisioner](t, `
metadata: {name: default}
spec: {consolidation: {enabled: true}, providerRef: {name: default}}
`)
	got := legacy.FromProvisioner(p, nil, settings).Pool.Spec.Disruption
	if got.ConsolidationPolicy != api.ConsolidationPolicyWhenEmptyOrUnderutilized || got.ConsolidateAfter.String() != "0s" {
		t.Errorf("the pool removes nodes by %s after %s", got.ConsolidationPolicy, got.ConsolidateAfter)
	}
}

// TestWhatNoLongerExists names the field and a remedy for each of these.
func TestWhatNoLongerExists(t *testing.T) {
	for _, test := range []struct {
		name, template, kubernetes string
		level                      legacy.Level
		field, says                string
		alias                      string
	}{
		{
			name: "AL2 by default", template: "instanceProfile: n", kubernetes: "1.33", level: legacy.Lost,
			field: "spec.amiFamily", says: "Kubernetes 1.32", alias: "al2023@latest",
		},
		{
			name: "AL2 in an unknown cluster", template: "{instanceProfile: n, amiFamily: AL2}", level: legacy.Lost,
			field: "spec.amiFamily", says: "AL2023", alias: "al2023@latest",
		},
		{
			name: "a launch template", template: "launchTemplate: mine", kubernetes: "1.31", level: legacy.Blocking,
			field: "spec.launchTemplate", says: "instanceProfile, amiSelector",
		},
		{
			name: "Ubuntu", template: "{instanceProfile: n, amiFamily: Ubuntu}", level: legacy.Blocking,
			field: "spec.amiFamily", says: "spec.amiSelector",
		},
		{
			name: "an unknown family", template: "{instanceProfile: n, amiFamily: Debian}", level: legacy.Blocking,
			field: "spec.amiFamily", says: "Debian",
		},
		{
			name: "a profile that nobody knows", template: "amiFamily: Bottlerocket", level: legacy.Blocking,
			field: "spec.instanceProfile", says: "no default",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := parse[legacy.Provisioner](t, "{metadata: {name: a}, spec: {providerRef: {name: t}}}")
			template := parse[legacy.AWSNodeTemplate](t, "metadata: {name: t}\nspec: "+inline(test.template))
			converted := legacy.FromProvisioner(p, template, legacy.Settings{KubernetesVersion: test.kubernetes})
			at := slices.IndexFunc(converted.OfClass, func(c legacy.Change) bool {
				return c.Level == test.level && c.Field == test.field && strings.Contains(c.String(), test.says)
			})
			if at < 0 || converted.OfClass[at].Remedy == "" {
				t.Errorf("no change names %s and says %q with a remedy: %v", test.field, test.says, converted.OfClass)
			}
			if terms := converted.Class.Spec.AMISelectorTerms; test.alias != "" && terms[0].Alias != test.alias {
				t.Errorf("images are %v, want %s", terms, test.alias)
			}
		})
	}
}

// TestTemplatesWithoutAProfile leave it to the settings: a profile, or the role of the nodes.
func TestTemplatesWithoutAProfile(t *testing.T) {
	both := legacy.Settings{Role: "linux", WindowsRole: "windows"}
	withProfile := both
	withProfile.InstanceProfile = "default"
	for _, test := range []struct {
		name, template string
		settings       legacy.Settings
		profile, role  string
		remedy         string
	}{
		{name: "the nodes' role", settings: both, role: "linux"},
		{name: "Windows", template: "amiFamily: Windows2022", settings: both, role: "windows"},
		{
			name: "images of Windows", template: "{amiFamily: Windows2019, amiSelector: {a: b}}", settings: both,
			role: "windows",
		},
		{
			name: "Windows with the role of Linux", template: "amiFamily: Windows2022",
			settings: legacy.Settings{Role: "linux"}, role: "linux",
		},
		{name: "the default profile", settings: withProfile, profile: "default"},
		{name: "a profile of its own", template: "instanceProfile: own", settings: withProfile, profile: "own"},
		{
			name: "a role without a name", settings: legacy.Settings{Role: legacy.UnknownRole}, role: "${NODE_ROLE}",
			remedy: "in place of ${NODE_ROLE}",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			template := parse[legacy.AWSNodeTemplate](t, "metadata: {name: t}\nspec: "+inline(test.template))
			p := parse[legacy.Provisioner](t, "{metadata: {name: a}, spec: {providerRef: {name: t}}}")
			converted := legacy.FromProvisioner(p, template, test.settings)
			spec := converted.Class.Spec
			if spec.Role != test.role || (spec.InstanceProfile == nil) != (test.profile == "") ||
				spec.InstanceProfile != nil && *spec.InstanceProfile != test.profile {
				t.Errorf("the role is %q and the profile %v, want %q and %q", spec.Role, spec.InstanceProfile, test.role,
					test.profile)
			}
			wantLevels(t, converted.Changes(), legacy.Blocking)
			at := slices.IndexFunc(converted.OfClass, func(c legacy.Change) bool { return c.Field == "spec.instanceProfile" })
			switch {
			case test.profile == "own":
				if at >= 0 {
					t.Errorf("a profile that a template names gives %v", converted.OfClass[at])
				}
			case at < 0 || !strings.Contains(converted.OfClass[at].Remedy, test.remedy):
				t.Errorf("the changes %v lack one of the profile with the remedy %q", converted.OfClass, test.remedy)
			}
		})
	}
}

func inline(text string) string {
	if strings.HasPrefix(text, "{") {
		return text
	}
	return "{" + text + "}"
}

// TestInvalidProvisioners checks what Karpenter's webhook refused, by the old field.
func TestInvalidProvisioners(t *testing.T) {
	for spec, field := range map[string]string{
		"{}": "spec.providerRef",
		"{provider: {instanceProfile: a}, providerRef: {name: a}}":                                                                           "spec.provider",
		"{provider: {instanceProfiles: a}}":                                                                                                  "spec.provider",
		"{provider: {tags: 7}}":                                                                                                              "spec.provider",
		"{provider: {instanceProfile: a}, ttlSecondsAfterEmpty: -1}":                                                                         "spec.ttlSecondsAfterEmpty",
		"{provider: {instanceProfile: a}, ttlSecondsAfterEmpty: 1, consolidation: {enabled: true}}":                                          "spec.ttlSecondsAfterEmpty",
		"{provider: {instanceProfile: a}, weight: 101}":                                                                                      "spec.weight",
		"{provider: {instanceProfile: a}, labels: {karpenter.sh/x: a}}":                                                                      "spec.labels[karpenter.sh/x]",
		"{provider: {instanceProfile: a}, limits: {resources: {cpu: -1}}}":                                                                   "spec.limits.resources[cpu]",
		"{provider: {instanceProfile: a}, kubeletConfiguration: {evictionHard: {a: b}}}":                                                     "spec.kubeletConfiguration.evictionHard[a]",
		"{provider: {instanceProfile: a, subnetSelector: {aws-ids: vpc-1}}}":                                                                 "spec.provider.subnetSelector[0].id",
		"{providerRef: {name: gone}}":                                                                                                        "spec.providerRef.name",
		"{provider: {instanceProfile: a, subnetSelector: {a: 'a,b,c,d,e,f', b: 'a,b,c,d,e,f'}}}":                                             "spec.provider.subnetSelector",
		"{provider: {instanceProfile: a}, requirements: [{key: karpenter.k8s.aws/instance-pods, operator: Exists}, {key: a, operator: In}]}": "spec.requirements[1].values",
	} {
		p := parse[legacy.Provisioner](t, "{metadata: {name: a}, spec: "+spec+"}")
		converted := legacy.FromProvisioner(p, nil, settings)
		if got := levels(converted.Changes(), legacy.Blocking); !slices.Contains(got, "Provisioner "+field) {
			t.Errorf("%s is refused for %q, want %s", spec, got, field)
		}
	}
}

// TestKubeletVariants converts Provisioners that share a template.
func TestKubeletVariants(t *testing.T) {
	objects := legacy.Input{
		Templates: []legacy.AWSNodeTemplate{*parse[legacy.AWSNodeTemplate](t, "{metadata: {name: t}, spec: {instanceProfile: n}}")},
		Taken:     func(name string) bool { return name == "t-c" },
	}
	for name, kubelet := range map[string]string{"a": "{maxPods: 20}", "b": "null", "c": "{maxPods: 30}", "d": "{maxPods: 20}"} {
		objects.Provisioners = append(objects.Provisioners, *parse[legacy.Provisioner](
			t, "{metadata: {name: "+name+"}, spec: {providerRef: {name: t}, kubeletConfiguration: "+kubelet+"}}",
		))
	}
	slices.SortFunc(objects.Provisioners, func(a, b legacy.Provisioner) int { return strings.Compare(a.Name, b.Name) })
	var got []string
	for _, output := range legacy.Convert(objects, settings) {
		if output.Class != nil {
			got = append(got, output.Class.Name)
		} else {
			got = append(got, output.Pool.Name+" "+output.Pool.Spec.Template.Spec.NodeClassRef.Name)
		}
	}
	if want := []string{"t", "t-a", "t-c-2", "a t-a", "b t", "c t-c-2", "d t-a"}; !slices.Equal(got, want) {
		t.Errorf("the classes and the pools with their classes are %q, want %q", got, want)
	}
}

func TestBeta(t *testing.T) {
	objects := legacy.Input{
		NodePools: []legacy.NodePool{*parse[legacy.NodePool](t, `
metadata: {name: a}
spec:
  template:
    metadata: {labels: {team: a}}
    spec:
      kubelet: {maxPods: 20}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64], minValues: 1}]
      nodeClassRef: {name: c}
  disruption: {consolidationPolicy: WhenUnderutilized, budgets: [{nodes: 20%}]}
  limits: {cpu: 10}
`)},
		NodeClasses: []legacy.EC2NodeClass{*parse[legacy.EC2NodeClass](t, `
metadata: {name: c}
spec:
  amiFamily: AL2023
  role: nodes
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{name: sg}]
`)},
	}
	outputs := legacy.Convert(objects, settings)
	wantSpec(t, outputs[0].Class.Spec, `
amiSelectorTerms:
- alias: al2023@latest
kubelet:
  maxPods: 20
metadataOptions:
  httpEndpoint: enabled
  httpProtocolIPv6: disabled
  httpPutResponseHopLimit: 2
  httpTokens: required
role: nodes
securityGroupSelectorTerms:
- name: sg
subnetSelectorTerms:
- tags:
    a: b
`)
	wantSpec(t, outputs[1].Pool, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  annotations:
    whittle.dev/expire-within-budgets: "true"
  name: a
spec:
  disruption:
    budgets:
    - nodes: 20%
    consolidateAfter: 0s
    consolidationPolicy: WhenEmptyOrUnderutilized
  limits:
    cpu: "10"
  template:
    metadata:
      labels:
        team: a
    spec:
      expireAfter: 720h
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: c
      requirements:
      - key: kubernetes.io/arch
        minValues: 1
        operator: In
        values:
        - arm64
`)
}

// TestConvertedObjectsAreValid converts random objects. Each result passes the validation of v1, is
// the same the second time, and says whatever its old object said.
func TestConvertedObjectsAreValid(t *testing.T) {
	for seed := range uint64(300) {
		old := legacytest.Generate(seed)
		before := specOf(t, old)
		outputs := legacy.Convert(old, settings)
		for _, output := range outputs {
			if legacy.IsBlocked(output.Changes) {
				t.Fatalf("seed %d: %v", seed, output.Changes)
			}
			var err error
			switch {
			case output.Pool != nil:
				output.Pool.Default()
				err = output.Pool.Validate()
			case output.Class != nil:
				output.Class.Default()
				err = output.Class.Validate()
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if after := specOf(t, old); after != before {
			t.Fatalf("seed %d: the conversion changes its input from\n%s\nto\n%s", seed, before, after)
		}
		again := legacy.Convert(legacytest.Generate(seed), settings)
		for i := range again {
			if again[i].Pool != nil {
				again[i].Pool.Default()
			} else if again[i].Class != nil {
				again[i].Class.Default()
			}
		}
		if !reflect.DeepEqual(outputs, again) {
			t.Fatalf("seed %d: a second conversion differs", seed)
		}
	}
}

// FuzzProvisioner looks for Provisioners and templates that make the conversion panic, or give an
// invalid object without a blocking change.
func FuzzProvisioner(f *testing.F) {
	for seed := range uint64(20) {
		old := legacytest.Generate(seed)
		template := []byte("{}")
		if len(old.Templates) > 0 {
			template, _ = json.Marshal(old.Templates[0])
		}
		for _, p := range old.Provisioners {
			text, _ := json.Marshal(p)
			f.Add(text, template)
		}
	}
	f.Fuzz(func(t *testing.T, provisioner, template []byte) {
		var p legacy.Provisioner
		var from legacy.AWSNodeTemplate
		if json.Unmarshal(provisioner, &p) != nil || json.Unmarshal(template, &from) != nil {
			return
		}
		converted := legacy.FromProvisioner(&p, &from, legacy.Settings{})
		if legacy.IsBlocked(converted.Changes()) {
			return
		}
		if err := converted.Pool.Validate(); err != nil {
			t.Errorf("%s: %v", provisioner, err)
		}
		if err := converted.Class.Validate(); err != nil {
			t.Errorf("%s with %s: %v", provisioner, template, err)
		}
		legacy.Convert(legacy.Input{
			Provisioners: []legacy.Provisioner{p}, Templates: []legacy.AWSNodeTemplate{from},
		}, legacy.Settings{})
	})
}

// FuzzBeta looks for objects of v1beta1 that make the conversion panic, or give an invalid object
// without a blocking change.
func FuzzBeta(f *testing.F) {
	for seed := range uint64(20) {
		old := legacytest.Generate(seed)
		if len(old.NodePools) > 0 && len(old.NodeClasses) > 0 {
			pool, _ := json.Marshal(old.NodePools[0])
			class, _ := json.Marshal(old.NodeClasses[0])
			f.Add(pool, class)
		}
	}
	f.Fuzz(func(t *testing.T, pool, class []byte) {
		var objects legacy.Input
		objects.NodePools, objects.NodeClasses = make([]legacy.NodePool, 1), make([]legacy.EC2NodeClass, 1)
		objects.NodeClaims = make([]legacy.NodeClaim, 1)
		if json.Unmarshal(pool, &objects.NodePools[0]) != nil || json.Unmarshal(class, &objects.NodeClasses[0]) != nil {
			return
		}
		_ = json.Unmarshal(pool, &objects.NodeClaims[0])
		for _, output := range legacy.Convert(objects, legacy.Settings{}) {
			if legacy.IsBlocked(output.Changes) {
				continue
			}
			if output.Pool != nil && output.Pool.Validate() != nil {
				t.Errorf("%s: %v", pool, output.Pool.Validate())
			}
			if output.Class != nil && output.Class.Validate() != nil {
				t.Errorf("%s: %v", class, output.Class.Validate())
			}
		}
	})
}

// TestDefaultRequirementsKnowBetaKeys checks one case by the label of the Provisioner.
func TestDefaultRequirementsKnowBetaKeys(t *testing.T) {
	p := parse[legacy.Provisioner](t, `
metadata: {name: a}
spec: {labels: {beta.kubernetes.io/os: windows, node.kubernetes.io/instance-type: m5.large}, providerRef: {name: t}}
`)
	for _, r := range legacy.FromProvisioner(p, nil, settings).Pool.Spec.Template.Spec.Requirements {
		if r.Key == corev1.LabelOSStable || r.Key == api.LabelInstanceCategory {
			t.Errorf("the requirement on %s is added, but a label says it", r.Key)
		}
	}
}
