package nodeclaim

import "github.com/whittle-dev/whittle/shared/api"

// hydrate gives a claim that Karpenter made the label that events find it by, and a claim and
// a node that an older one made the label that names their class, which newer selectors and budgets go by.
func (p *pass) hydrate() {
	if p.claim.Labels == nil {
		p.claim.Labels = map[string]string{}
	}
	if id, launched := api.InstanceID(p.claim.Status.ProviderID); launched {
		p.claim.Labels[api.LabelInstanceID] = id
	}
	reference := p.claim.Spec.NodeClassRef
	if reference == nil || p.claim.Labels[api.LabelNodeClass] != "" && (p.node == nil || p.node.Labels[api.LabelNodeClass] != "") {
		return
	}
	if p.claim.Labels[api.LabelNodeClass] == "" {
		p.claim.Labels[api.LabelNodeClass] = reference.Name
	}
	// Before its registration the node gets it with the others.
	if p.node != nil && p.node.Labels[api.NodeRegisteredLabelKey] == "true" && p.node.Labels[api.LabelNodeClass] == "" {
		p.node.Labels[api.LabelNodeClass] = reference.Name
	}
}
