package nodeclaim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// tag tags the instance with the names of its node, its claim and its cluster, as far as EC2 shows
// that they are missing. Instances of old Karpenters lack the cluster, and an automation may strip
// any tag. The annotations, which Karpenter reads, say what EC2 has shown.
func (p *pass) tag() {
	instance := p.view.Instance()
	if p.node == nil || instance == nil || instance.isEnding() || p.reportUnmarked(instance) {
		return
	}
	missing := map[string]string{}
	for key, value := range map[string]string{
		api.NameTagKey: p.node.Name, api.NodeClaimTagKey: p.claim.Name, api.EKSClusterNameTagKey: p.view.Cluster,
	} {
		if _, present := instance.Tags[key]; !present {
			missing[key] = value
		}
	}
	if len(missing) > 0 {
		// A refusal must not keep the node from its registration.
		p.afterwards(Tag{InstanceID: instance.ID, Tags: missing})
		return
	}
	p.annotate(api.AnnotationInstanceTagged, "true")
	p.annotate(api.AnnotationClusterNameTagged, "true")
}

// reportUnmarked reports whether the instance lacks one of the two tags to which the functions'
// rights are restricted. Only a person can restore them. A right to restore them, which Karpenter
// does not have, would let the functions terminate instances of other owners.
func (p *pass) reportUnmarked(instance *Instance) bool {
	var missing []string
	for _, key := range []string{api.ClusterTagKey(p.view.Cluster), api.NodePoolTagKey} {
		if _, present := instance.Tags[key]; !present {
			missing = append(missing, key)
		}
	}
	// EC2 may show the tags of a new instance late.
	if len(missing) > 0 && p.view.Report && p.launchedFor() >= surelyKnownWithin {
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "InstanceTagsMissing",
			"The instance "+instance.ID+" has lost the tags "+strings.Join(missing, " and ")+
				", without which Whittle may neither tag nor terminate it: restore them, "+
				"and stop the automation that removes them")
	}
	return len(missing) > 0
}
