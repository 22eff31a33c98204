package legacy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// betaKubeletField is where a NodePool of v1beta1 has the settings of the kubelet.
const betaKubeletField = "spec.template.spec.kubelet"

// classRef returns the reference as v1 has it. Blank fields have v1beta1's defaults.
func classRef(old *NodeClassReference) *api.NodeClassReference {
	if old == nil {
		return nil
	}
	group, _, _ := strings.Cut(old.APIVersion, "/")
	return &api.NodeClassReference{
		Group: cmp.Or(group, api.AWSGroup), Kind: cmp.Or(old.Kind, api.EC2NodeClassKind), Name: old.Name,
	}
}

// betaPoolOf converts a NodePool of v1beta1.
func betaPoolOf(old *NodePool) (*api.NodePool, []Change) {
	c := &changes{kind: api.NodePoolKind, name: old.Name}
	pool := &api.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metadataOf(&old.ObjectMeta),
	}
	template := &old.Spec.Template
	pool.Spec = api.NodePoolSpec{
		Template: api.NodeClaimTemplate{
			ObjectMeta: api.ObjectMeta{Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations)},
			Spec: api.NodeClaimTemplateSpec{
				Taints: slices.Clone(template.Spec.Taints), StartupTaints: slices.Clone(template.Spec.StartupTaints),
				Requirements: append([]api.NodeSelectorRequirementWithMinValues{}, template.Spec.Requirements...),
				NodeClassRef: classRef(template.Spec.NodeClassRef),
			},
		},
		Limits: maps.Clone(old.Spec.Limits), Weight: old.Spec.Weight,
	}
	if pool.Spec.Template.Spec.NodeClassRef == nil {
		c.add(Blocking, "spec.template.spec.nodeClassRef", "spec.template.spec.nodeClassRef", "is missing",
			"name an EC2NodeClass")
		pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind}
	}
	c.setBetaDisruption(pool, &old.Spec.Disruption)
	c.addInvalid(pool.Validate(), func(path string) string { return path })
	return pool, c.list
}

// setBetaDisruption converts what removes nodes.
func (c *changes) setBetaDisruption(pool *api.NodePool, old *Disruption) {
	disruption := &pool.Spec.Disruption
	for _, budget := range old.Budgets {
		disruption.Budgets = append(disruption.Budgets, *budget.DeepCopy())
	}
	if old.Budgets != nil && disruption.Budgets == nil {
		disruption.Budgets = []api.Budget{}
	}
	disruption.ConsolidationPolicy = api.ConsolidationPolicy(old.ConsolidationPolicy)
	disruption.ConsolidateAfter = old.ConsolidateAfter
	switch old.ConsolidationPolicy {
	case "", ConsolidationPolicyWhenUnderutilized:
		disruption.ConsolidationPolicy = api.ConsolidationPolicyWhenEmptyOrUnderutilized
		if old.ConsolidateAfter.Duration != nil {
			c.add(Blocking, "spec.disruption.consolidateAfter", "spec.disruption.consolidateAfter",
				"cannot be together with the policy WhenUnderutilized", "remove it, or use WhenEmpty")
		}
		if old.ConsolidateAfter.IsZero() {
			disruption.ConsolidateAfter = seconds(0)
		}
	case ConsolidationPolicyWhenEmpty:
		if old.ConsolidateAfter.IsZero() {
			c.add(Blocking, "spec.disruption.consolidateAfter", "spec.disruption.consolidateAfter",
				"is missing, and the policy WhenEmpty needs it", "write such as 30s, or Never")
		}
	}
	expireAfter := &pool.Spec.Template.Spec.ExpireAfter
	if *expireAfter = old.ExpireAfter; old.ExpireAfter.IsZero() {
		after := api.DefaultExpireAfter
		*expireAfter = api.NillableDuration{Duration: &after, Raw: []byte("720h")}
	}
	if !expireAfter.IsNever() {
		c.keepExpiryGraceful(pool, "spec.disruption.expireAfter")
	}
}

// betaClassOf converts an EC2NodeClass of v1beta1, with the kubelet settings of a pool that uses it.
func betaClassOf(
	old *EC2NodeClass, name, pool string, kubelet *KubeletConfiguration, settings Settings,
) (*api.EC2NodeClass, []Change) {
	c := &changes{kind: api.EC2NodeClassKind, name: old.Name}
	meta := old.ObjectMeta
	meta.Name = name
	class := &api.EC2NodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.AWSAPIVersion, Kind: api.EC2NodeClassKind},
		ObjectMeta: metadataOf(&meta),
	}
	spec, from := &class.Spec, &old.Spec
	spec.SubnetSelectorTerms = slices.Clone(from.SubnetSelectorTerms)
	spec.SecurityGroupSelectorTerms = slices.Clone(from.SecurityGroupSelectorTerms)
	spec.AssociatePublicIPAddress, spec.UserData = from.AssociatePublicIPAddress, from.UserData
	spec.Role, spec.InstanceProfile = from.Role, from.InstanceProfile
	spec.InstanceStorePolicy, spec.DetailedMonitoring = from.InstanceStorePolicy, from.DetailedMonitoring
	spec.Context = from.Context
	for _, key := range slices.Sorted(maps.Keys(from.Tags)) {
		if api.IsReservedTag(key) {
			c.add(Lost, "spec.tags["+key+"]", "spec.tags", "the launch sets this tag, so yours is left out", "remove it")
			continue
		}
		setMetadata(&spec.Tags, key, from.Tags[key])
	}
	if from.AMIFamily == nil || *from.AMIFamily == "" {
		c.add(Blocking, "spec.amiFamily", "spec.amiFamily", "is missing", "write AL2, AL2023, Bottlerocket or another")
	} else {
		c.setFamily(
			spec, *from.AMIFamily, slices.Clone(from.AMISelectorTerms), "spec.amiFamily", "spec.amiSelectorTerms", settings,
		)
	}
	c.setBetaMetadataOptions(spec, from.MetadataOptions)
	if disks := c.disks(from.BlockDeviceMappings, "spec"); len(disks) > 0 {
		spec.BlockDeviceMappings = disks // in place of Ubuntu's
	}
	spec.Kubelet = c.kubeletOf(kubelet, betaKubeletField, class.AMIFamily())
	c.addInvalid(class.Validate(), renamed("spec.kubelet", betaKubeletField))
	for i := range c.list {
		if strings.HasPrefix(c.list[i].Field, betaKubeletField) {
			c.list[i].Kind, c.list[i].Name = api.NodePoolKind, pool
		}
	}
	return class, c.list
}

// setBetaMetadataOptions writes out v1beta1's default hop limit.
func (c *changes) setBetaMetadataOptions(spec *api.EC2NodeClassSpec, old *api.MetadataOptions) {
	options := &api.MetadataOptions{}
	if old != nil {
		*options = *old
	}
	if options.HTTPPutResponseHopLimit == nil {
		c.noteHops("spec.metadataOptions")
	}
	setDefault(&options.HTTPEndpoint, "enabled")
	setDefault(&options.HTTPProtocolIPv6, "disabled")
	setDefault(&options.HTTPPutResponseHopLimit, 2)
	setDefault(&options.HTTPTokens, "required")
	spec.MetadataOptions = options
}

// claimOf converts a NodeClaim of v1beta1, which a plan needs.
func claimOf(old *NodeClaim) (*api.NodeClaim, []Change) {
	c := &changes{kind: api.NodeClaimKind, name: old.Name}
	claim := &api.NodeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: *old.ObjectMeta.DeepCopy(),
		Spec: api.NodeClaimSpec{
			Taints: slices.Clone(old.Spec.Taints), StartupTaints: slices.Clone(old.Spec.StartupTaints),
			Requirements: append([]api.NodeSelectorRequirementWithMinValues{}, old.Spec.Requirements...),
			Resources:    *old.Spec.Resources.DeepCopy(), NodeClassRef: classRef(old.Spec.NodeClassRef),
			ExpireAfter: api.NeverDuration(),
		},
		Status: *old.Status.DeepCopy(),
	}
	if old.Spec.Kubelet != nil {
		c.add(Lost, "spec.kubelet", "spec", "v1 has the settings of the kubelet in the EC2NodeClass", "")
	}
	c.addInvalid(claim.Validate(), func(path string) string { return path })
	return claim, c.list
}
