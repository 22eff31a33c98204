package plantest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// bindCompleted annotates a claim whose binding to its volume is settled.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// volumeNeed is what a pod's volumes demand of a node.
type volumeNeed struct {
	// problem is why no node can hold the pod now.
	problem string
	// terms are alternatives: the node must match one term of each list.
	terms [][]corev1.NodeSelectorTerm
	// portable are the terms without those that bind a local volume to its host. A new node is
	// never that host, so the owner of the claim must make it again.
	portable [][]corev1.NodeSelectorTerm
	// attachments are the volumes that count against the limit of a CSI driver.
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

// release drops a need for hosts that no longer exist. Its claim must be made again, and then any
// node can hold the pod.
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
			// The controller of ephemeral volumes names the claim after pod and volume.
			name := object.Namespace + "/" + object.Name + "-" + volume.Name
			claim := r.claims[name]
			if claim == nil {
				claim = &corev1.PersistentVolumeClaim{Spec: volume.Ephemeral.VolumeClaimTemplate.Spec}
			}
			r.addClaim(&need, name, claim)
		case volume.AWSElasticBlockStore != nil:
			need.attachments = append(need.attachments, attachment{ebsDriver, volume.AWSElasticBlockStore.VolumeID})
		case volume.PortworxVolume != nil:
			need.attachments = append(need.attachments, attachment{"pxd.portworx.com", volume.PortworxVolume.VolumeID})
		}
	}
	if len(object.Spec.ResourceClaims) > 0 {
		need.fail("devices of dynamic resource allocation are not planned")
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

// addVolume adds the needs of a bound claim: the volume's node affinity, and its labels of zone and
// region.
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
			// A label joins several zones with two underscores.
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

// withoutHost removes expressions on the hostname. It returns nil if nothing else remains of a
// term.
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

// addUnbound adds the needs of a claim whose volume is made after its pod has a node. The class
// says where that can be.
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

// usable reports whether a node with these labels can use all volumes. portable ignores the hosts
// of local volumes.
func (n *volumeNeed) usable(l labelSet, name string, portable bool) bool {
	terms := n.terms
	if portable {
		terms = n.portable
	}
	return !slices.ContainsFunc(terms, func(alternatives []corev1.NodeSelectorTerm) bool {
		return alternatives != nil && !matchesAnyTerm(alternatives, l, name)
	})
}
