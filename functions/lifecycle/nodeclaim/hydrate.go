package nodeclaim

import "github.com/whittle-dev/whittle/shared/api"

// hydrate adds labels that Karpenter did not write. A claim gets the label by which interrupt finds
// it. A claim and a node of an older Karpenter get the label that names their class, which newer
// selectors and budgets use.
func (p *pass) hydrate() {
	if p.claim.Labels == nil {
		p.claim.Labels = map[string]string{}
	}
	if id, launched := api.InstanceID(p.claim.Status.ProviderID); launched {
		p.claim.Labels[api.LabelInstanceID] = id
	}
	reference := p.claim.Spec.NodeClassRef
	if reference == nil {
		return
	}
	if p.claim.Labels[api.LabelNodeClass] == "" {
		p.claim.Labels[api.LabelNodeClass] = reference.Name
	}
	// A node gets the label with its others at registration.
	if p.node != nil && p.node.Labels[api.NodeRegisteredLabelKey] == "true" && p.node.Labels[api.LabelNodeClass] == "" {
		p.node.Labels[api.LabelNodeClass] = reference.Name
	}
}
