package workload

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

// VolumeNeeds is the index of the snapshot's volumes, with the answers for pods so far.
type VolumeNeeds struct {
	*volumes.Index
	byPod map[*corev1.Pod]volumeAnswer
	// users has the pod that may use each claim of access mode ReadWriteOncePod, by the claim's name.
	users map[string]*corev1.Pod
	// observed is how many EBS volumes nodes of an instance type can attach, by its name: the most that
	// one of the cluster's says.
	observed map[string]int
}

// VolumesAxis is the resource of EBS volumes that are attached to a node. Kubernetes once gave nodes'
// limits this name.
const VolumesAxis corev1.ResourceName = "attachable-volumes-aws-ebs"

// manyVolumes stands for a limit that is not known. EC2 attaches fewer to any machine.
const manyVolumes = 1000

// VolumesOf is how many EBS volumes the pods of a new node of the type can have attached.
func (v *VolumeNeeds) VolumesOf(typ *catalog.InstanceType) int {
	if observed, ok := v.observed[typ.Name]; ok {
		return observed
	}
	return cmp.Or(typ.Volumes, manyVolumes)
}

// ObservedVolumes is how many EBS volumes the nodes of each instance type attach: the most that a node of
// the type says.
func ObservedVolumes(s *plan.Snapshot) map[string]int {
	if s.VolumeLimits != nil {
		return s.VolumeLimits
	}
	said := volumes.New(nil, nil, nil, s.CSINodes)
	observed := map[string]int{}
	for i := range s.Nodes {
		node := s.Nodes[i].Node
		if node == nil {
			continue
		}
		if limit := said.Limits(node.Name)[volumes.EBSDriver]; limit > 0 {
			name := node.Labels[corev1.LabelInstanceTypeStable]
			observed[name] = max(limit, observed[name])
		}
	}
	return observed
}

// readVolumeNeeds adds the EBS volumes to the groups' needs. A volume of several pods counts for the first,
// because they share a node.
func (w *Workload) readVolumeNeeds() {
	axis, counted := w.Axes.Position[VolumesAxis]
	if !counted {
		return
	}
	seen := map[string]bool{}
	for _, g := range w.Groups {
		need, err := w.volumeNeed(g.Pod())
		for _, a := range need.Attachments {
			if err == nil && a.Driver == volumes.EBSDriver && !seen[a.Volume] {
				seen[a.Volume] = true
				g.Need[axis]++
			}
		}
	}
}

// attachesVolumes reports whether a waiting pod has an EBS volume, and a limit of them is known.
func (w *Workload) attachesVolumes() bool {
	limited := len(w.Volumes.observed) > 0
	for _, types := range w.Snapshot.InstanceTypes {
		limited = limited || slices.ContainsFunc(types, func(t catalog.InstanceType) bool { return t.Volumes > 0 })
	}
	return limited && slices.ContainsFunc(w.Groups, func(g *Group) bool {
		need, err := w.volumeNeed(g.Pod())
		return err == nil && slices.ContainsFunc(need.Attachments, func(a volumes.Attachment) bool {
			return a.Driver == volumes.EBSDriver
		})
	})
}

// volumeAnswer is what a pod's volumes need, or what is wrong with a claim.
type volumeAnswer struct {
	volumes.Need
	err error
}

// readVolumes indexes the volumes, and finds the users of claims of access mode ReadWriteOncePod.
func (w *Workload) readVolumes() {
	s := w.Snapshot
	w.Volumes = &VolumeNeeds{
		Index: volumes.New(
			s.PersistentVolumeClaims,
			s.PersistentVolumes,
			s.StorageClasses,
			s.CSINodes,
		), byPod: map[*corev1.Pod]volumeAnswer{}, users: map[string]*corev1.Pod{},
	}
	w.Volumes.observed = ObservedVolumes(s)
	if !slices.ContainsFunc(s.PersistentVolumeClaims, func(c corev1.PersistentVolumeClaim) bool {
		return slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOncePod)
	}) {
		return
	}
	// A running pod keeps its claims. Of waiting pods, the oldest gets them.
	use := func(pod *corev1.Pod) {
		need, _ := w.volumeNeed(pod)
		for _, claim := range need.ReadWriteOncePod {
			if other := w.Volumes.users[claim]; other == nil || other.Spec.NodeName == "" && ComparePods(pod, other) < 0 {
				w.Volumes.users[claim] = pod
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

// volumeNeed returns what the pod's volumes need. The error says what is wrong with a claim.
func (w *Workload) volumeNeed(pod *corev1.Pod) (volumes.Need, error) {
	if len(pod.Spec.Volumes) == 0 {
		return volumes.Need{}, nil
	}
	if known, ok := w.Volumes.byPod[pod]; ok {
		return known.Need, known.err
	}
	need, err := w.Volumes.Of(pod)
	w.Volumes.byPod[pod] = volumeAnswer{need, err}
	return need, err
}

// usedClaim returns the reason why the pod cannot run now: another pod uses one of its
// ReadWriteOncePod claims. It is empty if there is no such claim.
func (w *Workload) usedClaim(pod *corev1.Pod, need *volumes.Need) string {
	for _, claim := range need.ReadWriteOncePod {
		if user := w.Volumes.users[claim]; user != nil && (user.Namespace != pod.Namespace || user.Name != pod.Name) {
			return fmt.Sprintf(
				"PersistentVolumeClaim %q is ReadWriteOncePod and pod %q uses it: the pod can run once that one has ended",
				claim,
				plan.RefOf(user),
			)
		}
	}
	return ""
}

// volumeKey identifies what the pod's volumes require of a node. A pod with attachments or with
// ReadWriteOncePod claims equals no other pod, because each has volumes of its own.
func (w *Workload) volumeKey(pod *corev1.Pod) string {
	need, err := w.volumeNeed(pod)
	switch {
	case err != nil:
		return "error " + err.Error()
	case len(need.Attachments)+len(need.ReadWriteOncePod) > 0:
		return pod.Namespace + "/" + pod.Name
	}
	var key []byte
	for _, list := range [][]scheduling.Requirements{need.Alternatives, need.ExistingAlternatives} {
		key = append(key, 'L')
		for _, a := range list {
			key = append(key, 'A')
			for _, label := range a.Keys() {
				key = AppendRequirement(key, a[label])
			}
		}
	}
	return string(key)
}

// volumeAlternatives returns the requirements that volumes make, of which a node has to meet one.
// Nil means that any node will do. While an existing node that can use the volumes takes pods, only
// existing nodes will do. See volumes.Need.
func (w *Workload) volumeAlternatives(need *volumes.Need) []scheduling.Requirements {
	if need.ExistingAlternatives == nil {
		return need.Alternatives
	}
	for i := range w.Snapshot.Nodes {
		node := &w.Snapshot.Nodes[i]
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
