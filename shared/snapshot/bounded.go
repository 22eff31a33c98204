package snapshot

import (
	"maps"
	"strings"

	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// BoundNodes replaces the nodes by what decisions may believe of them: see package membership. A node that
// claims to be larger than its instance, and one with the providerID of a claim whose node it is not, get
// no pods. Disruption leaves a claim alone whose providerID another node has too. The nodes' maps, which
// other nodes may share, stay as they are.
func (o *Objects) BoundNodes() {
	members := membership.Join(o.NodeClaims, o.Nodes)
	for i := range o.Nodes {
		node := &o.Nodes[i]
		claim, stranger := members.Claim(node), members.Stranger(node)
		forgetMarks(&node.Annotations)
		switch {
		case claim != nil:
			*node = *membership.Bounded(claim, node)
			if others := members.Disputed(claim); len(others) > 0 {
				node.Annotations = scheduling.Mark(
					node.Annotations, protection.DisputedAnnotationKey, strings.Join(others, ", "))
			}
		case stranger != nil:
			node.Annotations = scheduling.Mark(node.Annotations, scheduling.UntrustedAnnotationKey,
				"it has the providerID of nodeclaim "+stranger.Name+", whose node it is not")
		}
	}
}

// forgetMarks removes the marks that only snapshots have. A kubelet may write their names on its node.
func forgetMarks(annotations *map[string]string) {
	for _, mark := range []string{
		scheduling.UntrustedAnnotationKey, protection.DisputedAnnotationKey, protection.ZoneShiftedAnnotationKey,
	} {
		if _, marked := (*annotations)[mark]; marked {
			*annotations = maps.Clone(*annotations)
			delete(*annotations, mark)
		}
	}
}
