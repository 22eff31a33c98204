package volumes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Need holds the restrictions that the volumes of a pod put on its node.
type Need struct {
	// Alternatives are the places that all the volumes have in common. The node must meet one of
	// them. Nil means any node. A new node may be able to meet none of them, for example because of
	// the host of a volume.
	Alternatives []scheduling.Requirements
	// ExistingAlternatives are set where a volume is tied to an existing node: a local volume to
	// its host, or a claim to the node for which its volume is being created. While a node that
	// meets one of them exists and is not leaving, the pod can run on such nodes only, and a new
	// node would not help. When none exists, the volume was lost with its node, and the claim will
	// be created again or released. Then Alternatives apply to every node. They leave out the host,
	// as in Karpenter. If they applied to new nodes only, each plan would launch a further node.
	ExistingAlternatives []scheduling.Requirements
	// Attachments count against the limits of the node's drivers. They are sorted. Several pods of
	// a node with the same volume count once.
	Attachments []Attachment
	// ReadWriteOncePod holds the claims, as namespace/name, that only one pod of the cluster may
	// use at a time. While another pod with a node uses one of them, the pod cannot be scheduled.
	ReadWriteOncePod []string
}

// Of returns the need of the pod's volumes. The error gives the problem of a claim and its remedy.
// No node can be planned for such a pod.
func (index *Index) Of(pod *corev1.Pod) (Need, error) {
	var need Need
	var places []placement
	var seen []string
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		name, ok := claimName(pod, volume)
		if !ok || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		claim, err := index.claimOf(pod, i, name)
		if err != nil {
			return Need{}, fmt.Errorf("volume %q: %w", volume.Name, err)
		}
		place, err := index.place(claim)
		if err != nil {
			return Need{}, fmt.Errorf(
				"volume %q: PersistentVolumeClaim %q: %w", volume.Name, claimKey(claim.Namespace, claim.Name), err,
			)
		}
		if place.anywhere != nil || place.existing != nil {
			place.volume = volume.Name
			places = append(places, place)
		}
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			need.ReadWriteOncePod = append(need.ReadWriteOncePod, claimKey(claim.Namespace, claim.Name))
		}
	}
	need.Attachments = index.Attachments(pod)
	if len(places) == 0 {
		return need, nil
	}
	alternatives, err := combine(places, func(p *placement) []option { return p.anywhere })
	if slices.ContainsFunc(places, func(p placement) bool { return p.existing != nil }) {
		existing, existingErr := combine(places, func(p *placement) []option {
			if p.existing != nil {
				return p.existing
			}
			return p.anywhere
		})
		if existingErr != nil {
			return Need{}, existingErr
		}
		if need.ExistingAlternatives = existing; err != nil {
			// Only a volume that stands ready on a host is where the others are.
			alternatives, err = []scheduling.Requirements{scheduling.NewRequirements(scheduling.In(nodeNameKey))}, nil
		}
	}
	if err != nil {
		return Need{}, err
	}
	need.Alternatives = alternatives
	slices.SortFunc(need.ReadWriteOncePod, strings.Compare)
	return need, nil
}
