package workload

import (
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

// VolumeNeeds remembers what pods' volumes ask for.
type VolumeNeeds struct {
	*volumes.Index
	byPod map[*corev1.Pod]volumeNeed
	// users are the pods that have claims to themselves which only one pod may use at a time, by
	// claim.
	users map[string]*corev1.Pod
}

type volumeNeed struct {
	volumes.Need
	err error
}

func (p *Workload) readVolumes() {
	s := p.Snapshot
	p.Volumes = &VolumeNeeds{
		Index: volumes.New(
			s.PersistentVolumeClaims,
			s.PersistentVolumes,
			s.StorageClasses,
			s.CSINodes,
		), byPod: map[*corev1.Pod]volumeNeed{}, users: map[string]*corev1.Pod{},
	}
	if !slices.ContainsFunc(s.PersistentVolumeClaims, func(c corev1.PersistentVolumeClaim) bool {
		return slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOncePod)
	}) {
		return
	}
	use := func(pod *corev1.Pod) {
		need, _ := p.volumeNeed(pod)
		for _, claim := range need.ReadWriteOncePod {
			if other := p.Volumes.users[claim]; other == nil || other.Spec.NodeName == "" && ComparePods(pod, other) < 0 {
				p.Volumes.users[claim] = pod
			}
		}
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Pods {
			if pod := &s.Nodes[i].Pods[j]; !scheduling.IsTerminal(pod) && len(pod.Spec.Volumes) > 0 {
				use(pod)
			}
		}
	}
	for i := range s.Pods {
		if len(s.Pods[i].Spec.Volumes) > 0 {
			use(&s.Pods[i])
		}
	}
}

// volumeNeed is what the pod's volumes ask for; the error says what is wrong with a claim.
func (p *Workload) volumeNeed(pod *corev1.Pod) (volumes.Need, error) {
	if len(pod.Spec.Volumes) == 0 {
		return volumes.Need{}, nil
	}
	if known, ok := p.Volumes.byPod[pod]; ok {
		return known.Need, known.err
	}
	need, err := p.Volumes.Of(pod)
	p.Volumes.byPod[pod] = volumeNeed{need, err}
	return need, err
}

// exclusiveClaim is the claim of the pod's that another one has to itself; empty if there is none.
func (p *Workload) exclusiveClaim(pod *corev1.Pod, need *volumes.Need) string {
	for _, claim := range need.ReadWriteOncePod {
		if user := p.Volumes.users[claim]; user != nil && (user.Namespace != pod.Namespace || user.Name != pod.Name) {
			return fmt.Sprintf(
				"PersistentVolumeClaim %q is ReadWriteOncePod and pod %q uses it: the pod can run once that one has ended",
				claim,
				plan.RefOf(user),
			)
		}
	}
	return ""
}

// volumeText tells apart what pods' volumes ask of a node. A pod whose volumes count against a
// limit is like no other.
func (p *Workload) volumeText(pod *corev1.Pod) string {
	need, err := p.volumeNeed(pod)
	switch {
	case err != nil:
		return "error " + err.Error()
	case len(need.Attachments)+len(need.ReadWriteOncePod) > 0:
		return pod.Namespace + "/" + pod.Name
	}
	var text []byte
	for _, list := range [][]scheduling.Requirements{need.Alternatives, need.ExistingAlternatives} {
		text = append(text, 'L')
		for _, a := range list {
			text = append(text, 'A')
			for _, key := range a.Keys() {
				text = AppendRequirement(text, a[key])
			}
		}
	}
	return string(text)
}

// volumePlaces are the requirements of which a node has to meet one for the volumes; nil for any. A
// volume tied to nodes that stand can be used there alone.
func (p *Workload) volumePlaces(need *volumes.Need) []scheduling.Requirements {
	if need.ExistingAlternatives == nil {
		return need.Alternatives
	}
	for i := range p.Snapshot.Nodes {
		node := &p.Snapshot.Nodes[i]
		if node.Node == nil || node.ClosedToPods() {
			continue
		}
		labels := scheduling.FromLabels(node.Node.Labels)
		labels.Add(scheduling.In("metadata.name", node.Node.Name))
		if _, ok := labels[corev1.LabelHostname]; !ok {
			labels.Add(scheduling.In(corev1.LabelHostname, node.Node.Name))
		}
		if slices.ContainsFunc(
			need.ExistingAlternatives,
			func(a scheduling.Requirements) bool { return labels.IsCompatible(a, scheduling.UndefinedIsAbsent) },
		) {
			return need.ExistingAlternatives
		}
	}
	return need.Alternatives
}
