package volumes

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
)

// knownField is a change of a field that changes where pods can run or what they attach, or the reason why no
// change does.
type knownField struct {
	change func(*cluster)
	why    string
	// unused says why no random cluster has a value of a field that matters.
	unused string
}

const (
	creates  = "it says how the volume is created, and not where"
	mounts   = "it says how the kubelet mounts the volume"
	inIdle   = "TestAlternatives has it, and no random cluster"
	anywhere = "a volume of this kind has no host and no limit: its node affinity says where it is"
)

// TestEachFieldOfAVolumeIsKnown holds tables of the fields of claims, volumes, classes and drivers against what
// the package reads. A field of a later Kubernetes fails it until somebody has decided what it means.
func TestEachFieldOfAVolumeIsKnown(t *testing.T) {
	second := func(c *cluster) *corev1.PersistentVolume { return &c.volumes[1] }
	ofClaim := func(change func(*corev1.PersistentVolumeClaimSpec)) knownField {
		return knownField{change: func(c *cluster) { change(&c.claims[0].Spec) }}
	}
	ofVolume := func(change func(*corev1.PersistentVolumeSpec)) knownField {
		return knownField{change: func(c *cluster) { change(&c.volumes[0].Spec) }}
	}
	ofClass := func(change func(*storagev1.StorageClass)) knownField {
		return knownField{change: func(c *cluster) { change(&c.classes[0]) }}
	}
	rarely := func(f knownField) knownField { f.unused = inIdle; return f }
	block, attributes := corev1.PersistentVolumeBlock, "fast"

	checkVolumeFields(t, func(c *cluster) any { return &c.claims[0].Spec }, map[string]knownField{
		"AccessModes": ofClaim(func(s *corev1.PersistentVolumeClaimSpec) {
			s.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		}),
		"Selector": rarely(ofClaim(func(s *corev1.PersistentVolumeClaimSpec) {
			s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "none"}}
		})),
		"Resources": ofClaim(func(s *corev1.PersistentVolumeClaimSpec) {
			s.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")}
		}),
		"VolumeName": ofClaim(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "gone" }),
		"StorageClassName": ofClaim(func(s *corev1.PersistentVolumeClaimSpec) {
			other := "other"
			s.StorageClassName = &other
		}),
		"VolumeMode": rarely(ofClaim(func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeMode = &block })),
		"VolumeAttributesClassName": rarely(ofClaim(func(s *corev1.PersistentVolumeClaimSpec) {
			s.VolumeAttributesClassName = &attributes
		})),
		"DataSource": {why: creates}, "DataSourceRef": {why: creates},
	})
	checkVolumeFields(t, func(c *cluster) any { return &c.volumes[0].Spec }, map[string]knownField{
		"Capacity":               ofVolume(func(s *corev1.PersistentVolumeSpec) { s.Capacity = nil }),
		"PersistentVolumeSource": {change: func(c *cluster) { local(&c.volumes[1]) }},
		"AccessModes":            ofVolume(func(s *corev1.PersistentVolumeSpec) { s.AccessModes = nil }),
		"ClaimRef": ofVolume(func(s *corev1.PersistentVolumeSpec) {
			s.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "somebody's"}
		}),
		"StorageClassName": ofVolume(func(s *corev1.PersistentVolumeSpec) { s.StorageClassName = "other" }),
		"VolumeMode":       rarely(ofVolume(func(s *corev1.PersistentVolumeSpec) { s.VolumeMode = &block })),
		"NodeAffinity":     ofVolume(func(s *corev1.PersistentVolumeSpec) { s.NodeAffinity = nil }),
		"VolumeAttributesClassName": rarely(ofVolume(func(s *corev1.PersistentVolumeSpec) {
			s.VolumeAttributesClassName = &attributes
		})),
		"PersistentVolumeReclaimPolicy": {why: "it says what becomes of the volume after its claim"},
		"MountOptions":                  {why: mounts},
	})
	sources := map[string]knownField{
		"CSI": {change: func(c *cluster) { second(c).Spec.CSI.VolumeHandle = "vol-9" }},
		"AWSElasticBlockStore": {change: func(c *cluster) {
			second(c).Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
				AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-9"},
			}
		}, unused: "TestAttachments has it; a random pod names such a volume itself"},
		"PortworxVolume": {change: func(c *cluster) {
			second(c).Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
				PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "1"},
			}
		}, unused: "TestAttachments has it; a random pod names such a volume itself"},
		"Local": {change: func(c *cluster) { local(second(c)) }},
		"HostPath": {change: func(c *cluster) {
			second(c).Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/mnt"}
		}, unused: "it is read as Local is"},
	}
	for _, name := range []string{"GCEPersistentDisk", "Glusterfs", "NFS", "RBD", "ISCSI", "Cinder", "CephFS", "FC",
		"Flocker", "FlexVolume", "AzureFile", "VsphereVolume", "Quobyte", "AzureDisk", "PhotonPersistentDisk", "ScaleIO",
		"StorageOS"} {
		sources[name] = knownField{why: anywhere}
	}
	checkVolumeFields(t, func(c *cluster) any { return &second(c).Spec.PersistentVolumeSource }, sources)
	checkVolumeFields(t, func(c *cluster) any { return &c.classes[0] }, map[string]knownField{
		"TypeMeta":          {why: "it is that of each class"},
		"ObjectMeta":        ofClass(func(s *storagev1.StorageClass) { s.Name = "renamed" }),
		"Provisioner":       ofClass(func(s *storagev1.StorageClass) { s.Provisioner = "other.example.com" }),
		"VolumeBindingMode": ofClass(func(s *storagev1.StorageClass) { s.VolumeBindingMode = nil }),
		"AllowedTopologies": ofClass(func(s *storagev1.StorageClass) { s.AllowedTopologies = nil }),
		"Parameters":        {why: creates}, "ReclaimPolicy": {why: creates}, "MountOptions": {why: mounts},
		"AllowVolumeExpansion": {why: "a volume grows where it is"},
	})
	checkVolumeFields(t, func(c *cluster) any { return &c.csiNodes[0].Spec.Drivers[0] }, map[string]knownField{
		"Name":         {change: func(c *cluster) { c.csiNodes[0].Spec.Drivers[0].Name = "other" }},
		"Allocatable":  {change: func(c *cluster) { c.csiNodes[0].Spec.Drivers[0].Allocatable = nil }},
		"NodeID":       {why: "the node's claim has the instance's id"},
		"TopologyKeys": {why: "the node's labels have the keys and their values"},
	})
}

// twoVolumes has a claim that may take a volume of zone a or get one in zone b, and a claim that has a volume of
// one node.
func twoVolumes() *cluster {
	count := int32(3)
	return &cluster{
		claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("ready")), claim("old", boundTo("pv-1"))},
		volumes: []corev1.PersistentVolume{
			volume("pv-0", available("ready"), at(zone+"=a")),
			volume("pv-1", ebs("vol-1"), at(zone+"=a,b", hostname+"=h0"), func(v *corev1.PersistentVolume) {
				v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "old"}
			}),
		},
		classes: []storagev1.StorageClass{class("ready", csi, zone+"=b"), class("other", csi, zone+"=c")},
		csiNodes: []storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "h0"}, Spec: storagev1.CSINodeSpec{
			Drivers: []storagev1.CSINodeDriver{{Name: csi, Allocatable: &storagev1.VolumeNodeResources{Count: &count}}},
		}}},
	}
}

// read is all that the package reads of the cluster for a pod with both claims, as a text.
func (c *cluster) read() string {
	index := c.index()
	var all []string
	for _, name := range []string{"data", "old"} {
		need, err := index.Of(pod(name))
		all = append(all, fmt.Sprintln(text(need.Alternatives), text(need.ExistingAlternatives), need.Attachments,
			need.ReadWriteOncePod, err))
	}
	return strings.Join(append(all, fmt.Sprint(index.Limits("h0"))), "")
}

// checkVolumeFields holds the table against the type that at returns a pointer to.
func checkVolumeFields(t *testing.T, at func(*cluster) any, table map[string]knownField) {
	t.Helper()
	base := twoVolumes()
	typ := reflect.TypeOf(at(base)).Elem()
	used := usedByVolumes()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		known, ok := table[name]
		if !ok {
			t.Errorf("%s.%s is not in the table: does it matter for where a volume can be used?", typ.Name(), name)
			continue
		}
		delete(table, name)
		other := twoVolumes()
		if known.change == nil {
			plantest.GiveValue(reflect.ValueOf(at(other)).Elem().Field(i), 2)
		} else {
			known.change(other)
			if set := used[typ.Name()+"."+name]; set == (known.unused != "") {
				t.Errorf("%s.%s: a random cluster uses it: %v, want another answer (%q)", typ.Name(), name, set, known.unused)
			}
		}
		if changed := other.read() != base.read(); changed != (known.change != nil) {
			t.Errorf("%s.%s: what is read changes with it: %v (%s)", typ.Name(), name, changed, known.why)
		}
	}
	for name := range table {
		t.Errorf("%s has no field %s", typ.Name(), name)
	}
}

// usedByVolumes are the fields that the random clusters of the planner and of this package's model use.
var usedByVolumes = sync.OnceValue(func() map[string]bool {
	used := plantest.UsedFields(func(s *plan.Snapshot) any {
		return []any{s.PersistentVolumeClaims, s.PersistentVolumes, s.StorageClasses, s.CSINodes}
	})
	random := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		c, _ := randomCluster(random)
		plantest.CollectFields([]any{c.claims, c.volumes, c.classes}, used)
	}
	return used
})
