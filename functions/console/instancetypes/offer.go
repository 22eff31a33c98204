package instancetypes

import (
	"cmp"
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Offer returns what the table has for the objects' pools, with the NodeOverlays applied. Every pool may
// get nodes, because the planner explains what keeps it from that. Only a class with a wrong kubelet
// expression has no types. It sets the defaults of the classes.
func (t *Table) Offer(o *snapshot.Objects) (*snapshot.Offer, error) {
	offer := &snapshot.Offer{WellKnownLabels: t.WellKnownLabels, MaximumTypes: t.MaximumTypes}
	wrong := map[string]string{} // by EC2NodeClass
	for i := range o.NodeClasses {
		class := &o.NodeClasses[i]
		class.Default()
		problem, err := t.evaluate(class)
		if err != nil {
			return nil, fmt.Errorf("EC2NodeClass %q: %w", class.Name, err)
		}
		wrong[class.Name] = problem
	}
	for i := range o.NodePools {
		pool := &o.NodePools[i]
		pool.Default()
		class := classOf(pool, o.NodeClasses)
		if class == nil || wrong[class.Name] == "" {
			offer.Pools = append(offer.Pools, *pool)
			continue
		}
		offer.Unusable = append(offer.Unusable, snapshot.Unusable{
			Pool: *pool, Reason: api.ReasonNodeClassNotReady,
			Message: fmt.Sprintf("EC2NodeClass %q: %s", class.Name, wrong[class.Name]),
		})
	}
	offer.Types, offer.Problems = catalog.Overlays(offer.Pools, func(pool *api.NodePool) []catalog.InstanceType {
		return t.Of(pool, classOf(pool, o.NodeClasses))
	}, o.NodeOverlays)
	offer.Extras = func(pool *api.NodePool) float64 { return t.extras(pool, classOf(pool, o.NodeClasses)) }
	return offer, nil
}

// classOf returns the pool's EC2NodeClass, or nil if classes lacks it. In a file the reference may leave
// out its group and kind.
func classOf(pool *api.NodePool, classes []api.EC2NodeClass) *api.EC2NodeClass {
	if pool.Spec.Template.Spec.NodeClassRef == nil {
		return nil
	}
	ref := *pool.Spec.Template.Spec.NodeClassRef
	ref.Group, ref.Kind = cmp.Or(ref.Group, api.AWSGroup), cmp.Or(ref.Kind, api.EC2NodeClassKind)
	return api.ClassOf(&ref, classes)
}
