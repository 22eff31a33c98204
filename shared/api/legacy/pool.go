package legacy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// poolOf converts a Provisioner to a NodePool with the node class.
func poolOf(p *Provisioner, class string) (*api.NodePool, []Change) {
	c := &changes{kind: ProvisionerKind, name: p.Name}
	pool := &api.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metadataOf(&p.ObjectMeta),
	}
	setMetadata(&pool.Labels, api.ProvisionerNameLabelKey, p.Name)
	c.add(Noted, "metadata.name", "metadata.labels["+api.ProvisionerNameLabelKey+"]",
		"Whittle gives the nodes of a pool with this label the label of their Provisioner, which pods may select",
		"let pods select "+api.NodePoolLabelKey+", then remove the label",
	)
	template := &pool.Spec.Template
	template.Labels = maps.Clone(p.Spec.Labels)
	template.Annotations = c.annotationsOf(p.Spec.Annotations)
	template.Spec = api.NodeClaimTemplateSpec{
		Taints: slices.Clone(p.Spec.Taints), StartupTaints: slices.Clone(p.Spec.StartupTaints),
		NodeClassRef: &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: class},
	}
	sources := c.setRequirements(&template.Spec, p)
	if p.Spec.Limits != nil {
		pool.Spec.Limits = api.Limits(maps.Clone(p.Spec.Limits.Resources))
	}
	if p.Spec.Weight != nil {
		weight := *p.Spec.Weight
		pool.Spec.Weight = &weight
	}
	c.setDisruption(pool, p)
	c.setExpiry(pool, p)
	c.checkProvisioner(p)
	c.addInvalid(pool.Validate(), func(path string) string {
		for i, source := range sources {
			at := fmt.Sprintf("spec.template.spec.requirements[%d]", i)
			if old := renamed(at, fmt.Sprintf("spec.requirements[%d]", source))(path); old != path {
				return old
			}
		}
		return renamed(
			"spec.template.metadata", "spec", "spec.template.spec", "spec", "spec.limits", "spec.limits.resources",
		)(path)
	})
	return pool, c.list
}

// metadataOf returns the metadata that belongs to the object itself, not to its place in a cluster.
func metadataOf(old *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Name: old.Name, Labels: maps.Clone(old.Labels), Annotations: maps.Clone(old.Annotations)}
	maps.DeleteFunc(kept.Annotations, func(key, _ string) bool {
		return key == corev1.LastAppliedConfigAnnotation || key == api.Group+"/provisioner-hash" ||
			key == api.AWSGroup+"/nodetemplate-hash" || key == api.NodePoolHashAnnotationKey ||
			key == api.NodePoolHashVersionAnnotationKey || key == api.AnnotationEC2NodeClassHash ||
			key == api.AnnotationEC2NodeClassHashVersion
	})
	if len(kept.Annotations) == 0 {
		kept.Annotations = nil
	}
	return kept
}

// setMetadata adds an entry to labels or annotations, which may be nil.
func setMetadata(to *map[string]string, key, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[key] = value
}

// annotationsOf returns the annotations of the nodes with their new names.
func (c *changes) annotationsOf(old map[string]string) map[string]string {
	annotations := maps.Clone(old)
	if value, ok := annotations[DoNotConsolidateKey]; ok {
		delete(annotations, DoNotConsolidateKey)
		annotations[api.DoNotDisruptAnnotationKey] = value
		c.add(Noted, "spec.annotations["+DoNotConsolidateKey+"]",
			"spec.template.metadata.annotations["+api.DoNotDisruptAnnotationKey+"]",
			"the annotation has a new name, and also protects from drift", "",
		)
	}
	return annotations
}

// setRequirements copies the requirements, without labels that no longer exist, and adds those that
// Karpenter added. It returns the index of each copied requirement in the Provisioner.
func (c *changes) setRequirements(spec *api.NodeClaimTemplateSpec, p *Provisioner) (sources []int) {
	spec.Requirements = []api.NodeSelectorRequirementWithMinValues{}
	constrained := map[string]bool{}
	for key := range p.Spec.Labels {
		constrained[api.NormalizedLabel(key)] = true
	}
	for i, r := range p.Spec.Requirements {
		constrained[api.NormalizedLabel(r.Key)] = true
		if r.Key == LabelInstancePods || r.Key == LabelInstanceAMIID {
			c.add(Lost, fmt.Sprintf("spec.requirements[%d]", i), "spec.template.spec.requirements",
				"the label "+r.Key+" does not exist any more, so the requirement is left out",
				"require "+api.LabelInstanceCPU+", "+api.LabelInstanceMemory+" or instance types",
			)
			continue
		}
		sources = append(sources, i)
		spec.Requirements = append(spec.Requirements, api.NodeSelectorRequirementWithMinValues{
			Key: r.Key, Operator: r.Operator, Values: slices.Clone(r.Values),
		})
	}
	for _, r := range defaultRequirements(constrained) {
		c.add(Noted, "spec.requirements", fmt.Sprintf("spec.template.spec.requirements[%d]", len(spec.Requirements)),
			"Karpenter added this requirement to a Provisioner without one, and adds none to a NodePool",
			"remove it to allow other nodes",
		)
		spec.Requirements = append(spec.Requirements, r)
	}
	return sources
}

// defaultRequirements are those that Karpenter 0.19 to 0.32 added to a Provisioner that constrains
// only the given labels.
func defaultRequirements(constrained map[string]bool) []api.NodeSelectorRequirementWithMinValues {
	var added []api.NodeSelectorRequirementWithMinValues
	in := func(key string, operator corev1.NodeSelectorOperator, values ...string) {
		added = append(added, api.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values})
	}
	if !constrained[corev1.LabelOSStable] {
		in(corev1.LabelOSStable, corev1.NodeSelectorOpIn, string(corev1.Linux))
	}
	if !constrained[corev1.LabelArchStable] {
		in(corev1.LabelArchStable, corev1.NodeSelectorOpIn, api.ArchitectureAmd64)
	}
	if !constrained[api.CapacityTypeLabelKey] {
		in(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand)
	}
	if !constrained[corev1.LabelInstanceTypeStable] && !constrained[api.LabelInstanceFamily] &&
		!constrained[api.LabelInstanceCategory] && !constrained[api.LabelInstanceGeneration] {
		in(api.LabelInstanceCategory, corev1.NodeSelectorOpIn, "c", "m", "r")
		in(api.LabelInstanceGeneration, corev1.NodeSelectorOpGt, "2")
	}
	return added
}

// consolidates reports whether consolidation is enabled.
func (p *Provisioner) consolidates() bool {
	return p.Spec.Consolidation != nil && p.Spec.Consolidation.Enabled != nil && *p.Spec.Consolidation.Enabled
}

// setDisruption converts what removes nodes before they expire.
func (c *changes) setDisruption(pool *api.NodePool, p *Provisioner) {
	disruption := &pool.Spec.Disruption
	switch {
	case p.consolidates():
		disruption.ConsolidationPolicy = api.ConsolidationPolicyWhenEmptyOrUnderutilized
		disruption.ConsolidateAfter = seconds(0)
	case p.Spec.TTLSecondsAfterEmpty != nil:
		disruption.ConsolidationPolicy = api.ConsolidationPolicyWhenEmpty
		disruption.ConsolidateAfter = seconds(*p.Spec.TTLSecondsAfterEmpty)
	default:
		disruption.ConsolidationPolicy = api.ConsolidationPolicyWhenEmpty
		disruption.ConsolidateAfter = api.NeverDuration()
		c.add(Noted, "spec.ttlSecondsAfterEmpty", "spec.disruption.consolidateAfter",
			"a Provisioner without it and without consolidation keeps empty nodes",
			"write 30s to remove them",
		)
	}
	disruption.Budgets = []api.Budget{
		{Nodes: api.DefaultBudgetNodes},
		{Nodes: "0", Reasons: []api.DisruptionReason{api.DisruptionReasonDrifted}},
	}
	c.add(Noted, "spec", "spec.disruption.budgets[1]",
		"Karpenter did not replace nodes after a change of the Provisioner, of the template or of the images",
		"remove this budget to replace them",
	)
}

// setExpiry converts the age at which nodes are replaced.
func (c *changes) setExpiry(pool *api.NodePool, p *Provisioner) {
	expireAfter := &pool.Spec.Template.Spec.ExpireAfter
	ttl := p.Spec.TTLSecondsUntilExpired
	if ttl == nil {
		*expireAfter = api.NeverDuration()
		c.add(Noted, "spec.ttlSecondsUntilExpired", "spec.template.spec.expireAfter",
			"a Provisioner without it keeps its nodes, and a NodePool replaces them after 720h by default", "",
		)
		return
	}
	*expireAfter = seconds(*ttl)
	c.keepExpiryGraceful(pool, "spec.ttlSecondsUntilExpired")
}

// keepExpiryGraceful lets expired nodes be replaced before they drain.
func (c *changes) keepExpiryGraceful(pool *api.NodePool, field string) {
	if pool.Annotations[api.ExpireWithinBudgetsAnnotationKey] == "" {
		setMetadata(&pool.Annotations, api.ExpireWithinBudgetsAnnotationKey, "true")
	}
	c.add(Noted, field, "metadata.annotations["+api.ExpireWithinBudgetsAnnotationKey+"]",
		"the annotation replaces an expired node before it drains, as then; v1 alone ends it at once",
		"remove the annotation for the behaviour of v1",
	)
}

// maximumSeconds is the longest time that a duration holds.
const maximumSeconds = int64(1<<63-1) / int64(time.Second)

// seconds returns the text that v1 wants, such as 30s.
func seconds(n int64) api.NillableDuration {
	d := time.Duration(min(max(n, -maximumSeconds), maximumSeconds)) * time.Second
	return api.NillableDuration{Duration: &d, Raw: fmt.Appendf(nil, "%ds", d/time.Second)}
}

// checkProvisioner finds what Karpenter's webhook refused and the validation of v1 does not see.
func (c *changes) checkProvisioner(p *Provisioner) {
	spec := &p.Spec
	refuse := func(field, text, remedy string) { c.add(Blocking, field, "", text, remedy) }
	switch {
	case spec.Provider != nil && spec.ProviderRef != nil:
		refuse("spec.provider", "cannot be together with providerRef", "remove one of them")
	case spec.Provider == nil && spec.ProviderRef == nil:
		refuse("spec.providerRef", "is missing", "name an AWSNodeTemplate, or write an inline provider")
	case spec.ProviderRef != nil && spec.ProviderRef.Name == "":
		refuse("spec.providerRef.name", "is empty", "name an AWSNodeTemplate")
	case spec.ProviderRef != nil && cmp.Or(spec.ProviderRef.Kind, AWSNodeTemplateKind) != AWSNodeTemplateKind:
		refuse("spec.providerRef.kind", fmt.Sprintf("%q is not a kind that Provisioners use", spec.ProviderRef.Kind),
			"name an AWSNodeTemplate")
	}
	if spec.TTLSecondsAfterEmpty != nil && p.consolidates() {
		refuse("spec.ttlSecondsAfterEmpty", "cannot be together with consolidation", "remove one of them")
	}
	for _, ttl := range []struct {
		field   string
		seconds *int64
	}{
		{"spec.ttlSecondsAfterEmpty", spec.TTLSecondsAfterEmpty},
		{"spec.ttlSecondsUntilExpired", spec.TTLSecondsUntilExpired},
	} {
		if ttl.seconds != nil && (*ttl.seconds < 0 || *ttl.seconds > maximumSeconds) {
			refuse(ttl.field, fmt.Sprintf("%d is out of range", *ttl.seconds), "write zero or more seconds")
		}
	}
}
