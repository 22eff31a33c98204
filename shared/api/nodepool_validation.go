package api

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	minWeight = 1
	maxWeight = 100
)

// Validate returns every problem of a node pool, each a *FieldError, joined. A pool with problems
// gets the condition ValidationSucceeded=False and launches nothing.
func (p *NodePool) Validate() error { return p.validate().err() }

func (p *NodePool) validate() *findings {
	f := &findings{kind: NodePoolKind, name: p.Name}
	f.validateReadable(p.Unreadable)
	template := p.Spec.Template
	f.validateLabels("spec.template.metadata.labels", template.Labels)
	f.validateTaints("spec.template.spec", template.Spec.Taints, template.Spec.StartupTaints)
	f.validateRequirements("spec.template.spec.requirements", template.Spec.Requirements, true)
	f.validateNodeClassRef("spec.template.spec.nodeClassRef", template.Spec.NodeClassRef)
	f.validateGracePeriod("spec.template.spec.terminationGracePeriod", template.Spec.TerminationGracePeriod)
	f.validateNillableDuration("spec.template.spec.expireAfter", template.Spec.ExpireAfter)
	f.validateDisruption("spec.disruption", p.Spec.Disruption)
	f.validateLimits(p.Spec)
	if w := p.Spec.Weight; w != nil {
		if *w < minWeight || *w > maxWeight {
			f.add("spec.weight", *w, "is out of range: use a number from %d to %d, or none", minWeight, maxWeight)
		}
		if p.Spec.Replicas != nil {
			f.add("spec.weight", *w, "cannot be together with replicas: remove weight")
		}
	}
	if r := p.Spec.Replicas; r != nil && *r < 0 {
		f.add("spec.replicas", *r, "is negative: use zero or more")
	}
	return f
}

// ValidateAll is Validate, and also returns the errors of annotations about hours, without which a pool
// works. It is for people who write a pool.
func (p *NodePool) ValidateAll() error {
	f := p.validate()
	f.errs = append(f.errs, p.readHours().errs...)
	return f.err()
}

// Warnings returns one line for each value of a requirement that its label can never have. The pool
// works without them.
func (p *NodePool) Warnings() []string {
	var warnings []string
	for i, r := range p.Spec.Template.Spec.Requirements {
		known := knownValues(NormalizedLabel(r.Key))
		if known == nil || r.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		for j, value := range r.Values {
			if !slices.Contains(known, value) {
				warnings = append(warnings, (&FieldError{
					Kind: NodePoolKind, Name: p.Name, Value: value,
					Path:    fmt.Sprintf("spec.template.spec.requirements[%d].values[%d]", i, j),
					Problem: fmt.Sprintf("is ignored, %q cannot have it: use some of %s", r.Key, join(known)),
				}).Error())
			}
		}
	}
	return warnings
}

func (f *findings) validateLimits(spec NodePoolSpec) {
	for _, name := range resourceNames(corev1.ResourceList(spec.Limits)) {
		at := fmt.Sprintf("spec.limits[%s]", name)
		quantity := spec.Limits[name]
		if quantity.Sign() < 0 {
			f.add(at, quantity.String(), "is negative: use zero or more")
		}
		if spec.Replicas != nil && name != ResourceNodes {
			f.add(at, quantity.String(), "cannot be together with replicas: limit %s only", ResourceNodes)
		}
	}
}
