package plantest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// bindCompleted marks a claim whose binding to its volume is settled.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// volumeNeed is what a pod's volumes ask of a node.
type volumeNeed struct {
	// problem is why no node will do as things are.
	problem string
	// terms: the node must match one term of each list.
	terms [][]corev1.NodeSelectorTerm
	// portable is terms without what ties a local volume to the host it lies on: that host is gone
	// when a new node is planned, and the claim's owner has to make it anew.
	portable [][]corev1.NodeSelectorTerm
	// attachments are the volumes that count against the limit of a CSI driver, by driver and name.
	attachments []attachment
}

type attachment struct{ driver, volume string }

// volumeReader finds claims, volumes and classes by name.
type volumeReader struct {
	claims  map[string]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
	limits  map[string]map[string]int // by node, then driver
	// standing are the nodes that do not leave.
	standing []*corev1.Node
}

// release frees a need from hosts that no longer stand: no node is any good to it then, and where
// its claim is made anew any is, whether it exists or is planned.
func (r *volumeReader) release(need *volumeNeed) {
	for _, node := range r.standing {
		if need.usable(labelSet{node.Labels}, node.Name, false) {
			return
		}
	}
	need.terms = need.portable
}

func newVolumeReader(s *plan.Snapshot) *volumeReader {
	r := &volumeReader{
		claims: map[string]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{},
		classes: map[string]*storagev1.StorageClass{}, limits: map[string]map[string]int{},
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Node != nil && !isLeaving(n) {
			r.standing = append(r.standing, n.Node)
		}
	}
	for i := range s.PersistentVolumeClaims {
		claim := &s.PersistentVolumeClaims[i]
		r.claims[claim.Namespace+"/"+claim.Name] = claim
	}
	for i := range s.PersistentVolumes {
		r.volumes[s.PersistentVolumes[i].Name] = &s.PersistentVolumes[i]
	}
	for i := range s.StorageClasses {
		r.classes[s.StorageClasses[i].Name] = &s.StorageClasses[i]
	}
	for i := range s.CSINodes {
		limits := map[string]int{}
		for _, driver := range s.CSINodes[i].Spec.Drivers {
			if driver.Allocatable != nil && driver.Allocatable.Count != nil {
				limits[driver.Name] = int(*driver.Allocatable.Count)
			}
		}
		r.limits[s.CSINodes[i].Name] = limits
	}
	return r
}

func (r *volumeReader) need(object *corev1.Pod) volumeNeed {
	var need volumeNeed
	for i := range object.Spec.Volumes {
		volume := &object.Spec.Volumes[i]
		switch {
		case volume.PersistentVolumeClaim != nil:
			name := object.Namespace + "/" + volume.PersistentVolumeClaim.ClaimName
			claim := r.claims[name]
			if claim == nil {
				need.fail("claim %s does not exist", name)
				continue
			}
			r.addClaim(&need, name, claim)
		case volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil:
			// The claim is named after pod and volume, and comes into being with the pod.
			name := object.Namespace + "/" + object.Name + "-" + volume.Name
			claim := r.claims[name]
			if claim == nil {
				claim = &corev1.PersistentVolumeClaim{Spec: volume.Ephemeral.VolumeClaimTemplate.Spec}
			}
			r.addClaim(&need, name, claim)
		}
	}
	return need
}

func (n *volumeNeed) fail(format string, args ...any) {
	if n.problem == "" {
		n.problem = fmt.Sprintf(format, args...)
	}
}

func (r *volumeReader) addClaim(need *volumeNeed, name string, claim *corev1.PersistentVolumeClaim) {
	switch {
	case claim.DeletionTimestamp != nil:
		need.fail("claim %s is being deleted", name)
	case claim.Status.Phase == corev1.ClaimLost:
		need.fail("claim %s has lost its volume", name)
	case claim.Spec.VolumeName != "":
		r.addVolume(need, name, claim)
	default:
		r.addUnbound(need, name, claim)
	}
}

// addVolume adds what a claim asks for that is bound: the volume's node affinity and its labels of
// zone and region.
func (r *volumeReader) addVolume(need *volumeNeed, name string, claim *corev1.PersistentVolumeClaim) {
	volume := r.volumes[claim.Spec.VolumeName]
	if volume == nil {
		need.fail("volume %s of claim %s does not exist", claim.Spec.VolumeName, name)
		return
	}
	if claim.Annotations[bindCompleted] == "" {
		need.fail("claim %s is not bound yet", name)
	}
	if a := volume.Spec.NodeAffinity; a != nil && a.Required != nil {
		need.terms = append(need.terms, a.Required.NodeSelectorTerms)
		portable := a.Required.NodeSelectorTerms
		if volume.Spec.Local != nil || volume.Spec.HostPath != nil {
			portable = withoutHost(portable)
		}
		need.portable = append(need.portable, portable)
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelFailureDomainBetaRegion} {
		if value, ok := volume.Labels[key]; ok {
			// A volume that several zones can use names them with two underscores between.
			term := []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: key, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(value, "__")},
			}}}
			need.terms = append(need.terms, term)
			need.portable = append(need.portable, term)
		}
	}
	if csi := volume.Spec.CSI; csi != nil {
		need.attachments = append(need.attachments, attachment{csi.Driver, csi.VolumeHandle})
	}
}

// withoutHost leaves the expressions on the host name out; nil is no demand at all.
func withoutHost(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
	var result []corev1.NodeSelectorTerm
	for _, term := range terms {
		var kept []corev1.NodeSelectorRequirement
		for _, e := range term.MatchExpressions {
			if e.Key != corev1.LabelHostname {
				kept = append(kept, e)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		result = append(result, corev1.NodeSelectorTerm{MatchExpressions: kept})
	}
	return result
}

// addUnbound adds what a claim asks for whose volume will be made once its pod has a node: the
// class says where that can be.
func (r *volumeReader) addUnbound(need *volumeNeed, name string, claim *corev1.PersistentVolumeClaim) {
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName == "" {
		need.fail("claim %s has neither volume nor class", name)
		return
	}
	class := r.classes[*claim.Spec.StorageClassName]
	if class == nil {
		need.fail("class %s of claim %s does not exist", *claim.Spec.StorageClassName, name)
		return
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		need.fail("claim %s is bound at once or never, and is not", name)
		need.attachments = append(need.attachments, attachment{class.Provisioner, name})
		return
	}
	if len(class.AllowedTopologies) > 0 {
		var terms []corev1.NodeSelectorTerm
		for _, topology := range class.AllowedTopologies {
			var term corev1.NodeSelectorTerm
			for _, e := range topology.MatchLabelExpressions {
				term.MatchExpressions = append(
					term.MatchExpressions,
					corev1.NodeSelectorRequirement{Key: e.Key, Operator: corev1.NodeSelectorOpIn, Values: e.Values},
				)
			}
			terms = append(terms, term)
		}
		need.terms, need.portable = append(need.terms, terms), append(need.portable, terms)
	}
	need.attachments = append(need.attachments, attachment{class.Provisioner, name})
}

// usable reports whether all the volumes can be used on a node with these labels.
func (n *volumeNeed) usable(l labelSet, name string, portable bool) bool {
	terms := n.terms
	if portable {
		terms = n.portable
	}
	return !slices.ContainsFunc(terms, func(alternatives []corev1.NodeSelectorTerm) bool {
		return alternatives != nil && !matchesAnyTerm(alternatives, l, name)
	})
}
