// Package legacytest makes random old objects for tests. Every object is one that Karpenter of its
// time accepted, and that can be converted.
package legacytest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// generator draws from one seed.
type generator struct{ *rand.Rand }

func (g generator) coin() bool { return g.IntN(2) == 0 }

func pick[T any](g generator, choices ...T) T { return choices[g.IntN(len(choices))] }

func some[T any](g generator, make func() T) *T {
	if g.coin() {
		return nil
	}
	value := make()
	return &value
}

// Generate returns the old objects of a seed: a few of each kind.
func Generate(seed uint64) legacy.Input {
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	var objects legacy.Input
	templates, classes := g.IntN(3), g.IntN(3)
	for i := range templates {
		objects.Templates = append(objects.Templates, g.template(fmt.Sprintf("template-%d", i)))
	}
	for i := range 1 + g.IntN(3) {
		objects.Provisioners = append(objects.Provisioners, g.provisioner(fmt.Sprintf("old-%d", i), templates))
	}
	for i := range classes {
		objects.NodeClasses = append(objects.NodeClasses, g.class(fmt.Sprintf("class-%d", i)))
	}
	for i := range g.IntN(3) {
		objects.NodePools = append(objects.NodePools, g.pool(fmt.Sprintf("beta-%d", i), max(classes, 1)))
	}
	return objects
}

func (g generator) provisioner(name string, templates int) legacy.Provisioner {
	p := legacy.Provisioner{
		TypeMeta:   metav1.TypeMeta{APIVersion: legacy.ProvisionerAPIVersion, Kind: legacy.ProvisionerKind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	spec := &p.Spec
	if g.coin() {
		spec.Labels = map[string]string{"example.com/team": pick(g, "red", "blue")}
	}
	if g.coin() {
		spec.Annotations = map[string]string{legacy.DoNotConsolidateKey: "true"}
	}
	if g.IntN(4) == 0 {
		spec.Taints = []corev1.Taint{{Key: "example.com/special", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	}
	for _, r := range g.requirements() {
		spec.Requirements = append(spec.Requirements, corev1.NodeSelectorRequirement{
			Key: r.Key, Operator: r.Operator, Values: r.Values,
		})
	}
	if g.IntN(8) == 0 {
		spec.Requirements = append(spec.Requirements, corev1.NodeSelectorRequirement{
			Key: legacy.LabelInstancePods, Operator: corev1.NodeSelectorOpGt, Values: []string{"20"},
		})
	}
	spec.KubeletConfiguration = g.kubelet()
	if spec.KubeletConfiguration != nil {
		spec.KubeletConfiguration.ContainerRuntime = some(g, func() string { return pick(g, "containerd", "dockerd") })
	}
	switch g.IntN(3) {
	case 0:
		spec.TTLSecondsAfterEmpty = some(g, func() int64 { return int64(g.IntN(600)) })
	case 1:
		spec.Consolidation = &legacy.Consolidation{Enabled: some(g, g.coin)}
	}
	spec.TTLSecondsUntilExpired = some(g, func() int64 { return int64(g.IntN(1e6)) })
	if g.coin() {
		spec.Limits = &legacy.Limits{Resources: corev1.ResourceList{"cpu": resource.MustParse(pick(g, "8", "64", "1000"))}}
	}
	spec.Weight = some(g, func() int32 { return 1 + g.Int32N(100) })
	if templates > 0 && g.coin() {
		spec.ProviderRef = &legacy.ProviderRef{Name: fmt.Sprintf("template-%d", g.IntN(templates))}
		return p
	}
	template := g.templateSpec()
	if template.AMISelector != nil {
		template.AMIFamily = nil // Custom and Ubuntu need the selector
	}
	template.UserData, template.AMISelector, template.DetailedMonitoring = nil, nil, nil
	text, err := json.Marshal(template)
	if err != nil {
		panic(err) // plain data
	}
	spec.Provider = &runtime.RawExtension{Raw: text}
	return p
}

// requirements returns some that do not contradict each other.
func (g generator) requirements() []api.NodeSelectorRequirementWithMinValues {
	var list []api.NodeSelectorRequirementWithMinValues
	add := func(key string, operator corev1.NodeSelectorOperator, values ...string) {
		if g.coin() {
			list = append(list, api.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values})
		}
	}
	add(pick(g, corev1.LabelArchStable, "beta.kubernetes.io/arch"), corev1.NodeSelectorOpIn, pick(g, "amd64", "arm64"))
	add(corev1.LabelOSStable, corev1.NodeSelectorOpIn, "linux")
	add(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, pick(g, "spot", "on-demand"))
	add(api.LabelInstanceCategory, corev1.NodeSelectorOpIn, pick(g, "c", "m", "r", "t"))
	add(api.LabelInstanceSize, corev1.NodeSelectorOpNotIn, "nano", "micro")
	add(api.LabelInstanceCPU, corev1.NodeSelectorOpLt, pick(g, "17", "65"))
	add(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "us-east-1a", "us-east-1b")
	add("example.com/rack", corev1.NodeSelectorOpExists)
	return list
}

func (g generator) kubelet() *legacy.KubeletConfiguration {
	if g.IntN(3) > 0 {
		return nil
	}
	kubelet := &legacy.KubeletConfiguration{
		MaxPods: some(g, func() int32 { return pick[int32](g, 20, 58, 110) }),
	}
	if g.coin() {
		kubelet.SystemReserved = corev1.ResourceList{"cpu": resource.MustParse(pick(g, "100m", "1"))}
	}
	if g.coin() {
		kubelet.EvictionSoft = map[string]string{"memory.available": "500Mi"}
		kubelet.EvictionSoftGracePeriod = map[string]metav1.Duration{"memory.available": {Duration: 1e9}}
	}
	if g.coin() {
		kubelet.PodsPerCore, kubelet.ClusterDNS = some(g, func() int32 { return 8 }), []string{"10.0.0.10", "10.0.0.11"}
	}
	return kubelet
}

func (g generator) template(name string) legacy.AWSNodeTemplate {
	return legacy.AWSNodeTemplate{
		TypeMeta:   metav1.TypeMeta{APIVersion: legacy.AWSNodeTemplateAPIVersion, Kind: legacy.AWSNodeTemplateKind},
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: g.templateSpec(),
	}
}

func (g generator) templateSpec() legacy.AWSNodeTemplateSpec {
	profile := "nodes"
	spec := legacy.AWSNodeTemplateSpec{
		InstanceProfile: &profile,
		AMIFamily:       some(g, func() string { return pick(g, "AL2", "Bottlerocket", "Windows2019", "Windows2022") }),
		UserData:        some(g, func() string { return "echo hello" }), DetailedMonitoring: some(g, g.coin),
		BlockDeviceMappings: g.disks(),
	}
	if spec.AMIFamily != nil && *spec.AMIFamily != "AL2" {
		spec.UserData = nil
	}
	selector := func() map[string]string {
		return pick(g, nil,
			map[string]string{"karpenter.sh/discovery": "prod"}, map[string]string{"Name": "a, b", "tier": "*"},
			map[string]string{"kind": ""}, map[string]string{"Name": "a*,b,c", "tier": "x,y"},
		)
	}
	spec.SubnetSelector, spec.SecurityGroupSelector = selector(), selector()
	if g.IntN(4) == 0 {
		spec.InstanceProfile = nil // as where aws.defaultInstanceProfile named it
	}
	if g.IntN(4) == 0 {
		spec.SubnetSelector = map[string]string{"aws-ids": "subnet-1, subnet-2"}
		spec.SecurityGroupSelector = map[string]string{"aws::ids": "sg-1"}
	}
	if g.IntN(4) == 0 {
		spec.AMISelector = pick(g,
			map[string]string{"aws::ids": "ami-1,ami-2"}, map[string]string{"aws::name": "x,y", "aws::owners": "self,amazon"},
			map[string]string{"team": "a", "aws::owners": "self"},
		)
		spec.AMIFamily = some(g, func() string { return pick(g, "AL2", "Ubuntu", "Custom") })
		spec.UserData = nil
	}
	if g.coin() {
		spec.MetadataOptions = &legacy.MetadataOptions{
			HTTPEndpoint: some(g, func() string { return "enabled" }),
			HTTPTokens:   some(g, func() string { return pick(g, "required", "optional") }),
		}
	}
	if g.coin() {
		spec.Tags = map[string]string{"team": "a", "karpenter.sh/nodepool": "mine"}
	}
	return spec
}

func (g generator) disks() []*legacy.BlockDeviceMapping {
	if g.coin() {
		return nil
	}
	device, size := "/dev/xvda", resource.MustParse(pick(g, "20Gi", "100G", "50000Mi", "1.5Ti", "21474836480"))
	return []*legacy.BlockDeviceMapping{{DeviceName: &device, EBS: &legacy.BlockDevice{VolumeSize: &size}}}
}

func (g generator) class(name string) legacy.EC2NodeClass {
	family := pick(g, "AL2", "AL2023", "Bottlerocket", "Windows2022")
	class := legacy.EC2NodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: legacy.AWSBetaAPIVersion, Kind: api.EC2NodeClassKind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: legacy.EC2NodeClassSpec{
			SubnetSelectorTerms:        []api.SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "prod"}}},
			SecurityGroupSelectorTerms: []api.SecurityGroupSelectorTerm{{ID: "sg-1"}},
			AMIFamily:                  &family, Role: "nodes", BlockDeviceMappings: g.disks(),
		},
	}
	if g.IntN(4) == 0 {
		class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{ID: "ami-1"}}
		*class.Spec.AMIFamily = pick(g, "AL2", "Ubuntu", "Custom")
	}
	return class
}

func (g generator) pool(name string, classes int) legacy.NodePool {
	pool := legacy.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: legacy.BetaAPIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	template := &pool.Spec.Template.Spec
	template.Requirements, template.Kubelet = g.requirements(), g.kubelet()
	template.NodeClassRef = &legacy.NodeClassReference{
		APIVersion: pick(g, "", legacy.AWSBetaAPIVersion), Name: fmt.Sprintf("class-%d", g.IntN(classes)),
	}
	disruption := &pool.Spec.Disruption
	switch g.IntN(3) {
	case 0:
		disruption.ConsolidationPolicy = legacy.ConsolidationPolicyWhenUnderutilized
	case 1:
		disruption.ConsolidationPolicy = legacy.ConsolidationPolicyWhenEmpty
		disruption.ConsolidateAfter = pick(g, api.NeverDuration(), api.DurationOf(30e9))
	}
	if g.coin() {
		disruption.ExpireAfter = pick(g, api.NeverDuration(), api.DurationOf(3600e9))
	}
	if g.coin() {
		disruption.Budgets = []api.Budget{{Nodes: "20%"}}
	}
	return pool
}
