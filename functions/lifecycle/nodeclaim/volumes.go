package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// HeldClaims returns the persistent volume claims of the pods that stay on a node until its end.
// Their volumes are not detached before.
func HeldClaims(pods []*corev1.Pod, now time.Time) []types.NamespacedName {
	var held []types.NamespacedName
	for _, pod := range pods {
		if scheduling.IsTerminal(pod) || drainable(pod, now) {
			continue
		}
		for _, volume := range pod.Spec.Volumes {
			name := types.NamespacedName{Namespace: pod.Namespace}
			switch {
			case volume.PersistentVolumeClaim != nil:
				name.Name = volume.PersistentVolumeClaim.ClaimName
			case volume.Ephemeral != nil:
				name.Name = pod.Name + "-" + volume.Name
			default:
				continue
			}
			held = append(held, name)
		}
	}
	return held
}

// detached reports whether the node's volumes have been detached. Terminating the instance under an
// attached volume could cost data, and keeps its pod waiting elsewhere.
func (p *pass) detached() bool {
	if limit, limited := p.deadline(); limited && !p.now.Before(limit) {
		return true
	}
	var attached []string
	for i := range p.view.Attachments {
		attachment := &p.view.Attachments[i]
		volume := attachment.Spec.Source.PersistentVolumeName
		if attachment.Spec.NodeName != p.node.Name || volume != nil && p.view.HeldVolumes[*volume] {
			continue
		}
		attached = append(attached, attachment.Name)
	}
	if len(attached) > 0 {
		slices.Sort(attached)
		message := fmt.Sprintf("AwaitingVolumeDetachment: attached volumes: %d", len(attached))
		if p.condition(api.ConditionTypeVolumesDetached, conditionUnknown, reasonAwaitingVolumeDetachment, message) {
			p.record(disruption.AboutNode(p.node), corev1.EventTypeNormal, "AwaitingVolumeDetachment",
				"Awaiting deletion of VolumeAttachments bound to node: "+strings.Join(attached, ", "))
		}
		p.outcome.Again = 0
		p.lookAgain(pauseAfter(p.since(api.ConditionTypeVolumesDetached)))
		return false
	}
	p.condition(api.ConditionTypeVolumesDetached, conditionTrue, "", "")
	return true
}
