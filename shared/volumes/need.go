package volumes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Need is what the volumes of a pod ask of its node.
type Need struct {
	// Alternatives are the places where all the volumes can be: the node must meet one of them.
	// Nil: any node will do. They may be such that no new node meets one: by the host of a volume,
	// or a requirement of a name out of none.
	Alternatives []scheduling.Requirements
	// ExistingAlternatives are set if a volume is tied to a node that exists: a local volume to its
	// host, a claim whose volume is being made to the node that the scheduler has selected for it.
	// As long as a node stands (and is not leaving) that meets one of them, the pod can run on such
	// nodes alone, and a new node would not help it. If none stands, the volume has gone with its
	// node and the claim will be made anew or released: then Alternatives, which leave the host out
	// as Karpenter does, hold for every node, existing ones among them. (Were they to hold for new
	// nodes alone, each plan would open a further node.)
	ExistingAlternatives []scheduling.Requirements
	// Attachments count against the limits of the node's drivers, sorted, each once a node however
	// many pods of the node have it.
	Attachments []Attachment
	// ReadWriteOncePod are the claims, as namespace/name, that only one pod of the cluster may use
	// at a time: as long as another pod that has a node and has not ended uses one of them, the pod
	// cannot be scheduled.
	ReadWriteOncePod []string
}

// Of is what the pod's volumes ask for. The error says what is wrong with a claim and what mends
// it; no node can be planned for such a pod.
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
