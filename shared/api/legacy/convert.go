package legacy

import (
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
)

// Converted is what one Provisioner becomes.
type Converted struct {
	Pool *api.NodePool
	// Class is nil if the template is not there, or cannot be read.
	Class *api.EC2NodeClass
	// OfPool and OfClass are the changes that concern them.
	OfPool, OfClass []Change
}

// Changes returns all changes.
func (c *Converted) Changes() []Change { return append(append([]Change{}, c.OfPool...), c.OfClass...) }

// FromProvisioner converts a Provisioner to a NodePool and an EC2NodeClass of its name. The template
// is the one that it names, or nil if there is none.
func FromProvisioner(p *Provisioner, template *AWSNodeTemplate, settings Settings) Converted {
	var converted Converted
	converted.Pool, converted.OfPool = poolOf(p, p.Name)
	missing := &changes{kind: ProvisionerKind, name: p.Name}
	switch {
	case p.Spec.Provider != nil:
		s, unread := inlineSource(p)
		converted.OfClass = unread
		if s.spec != nil {
			converted.Class, converted.OfClass = classOf(s, p.Name, p.Name, p.Spec.KubeletConfiguration, settings)
		}
	case template != nil:
		converted.Class, converted.OfClass = classOf(
			templateSource(template), p.Name, p.Name, p.Spec.KubeletConfiguration, settings,
		)
	case p.Spec.ProviderRef != nil:
		missing.add(Blocking, "spec.providerRef.name", "",
			fmt.Sprintf("there is no AWSNodeTemplate %q", p.Spec.ProviderRef.Name), "create it, or name another")
		converted.OfClass = missing.list
	}
	return converted
}
