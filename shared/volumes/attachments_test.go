package volumes

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAttachments(t *testing.T) {
	c := cluster{
		claims: []corev1.PersistentVolumeClaim{
			claim("bound", boundTo("pv")), claim("same", boundTo("pv-same")), claim("efs", boundTo("pv-efs")),
			claim("in-tree", boundTo("pv-in-tree")), claim("url", boundTo("pv-url")),
			claim("local", boundTo("pv-local")), claim("portworx", boundTo("pv-portworx")), claim("nfs", boundTo("pv-nfs")),
			claim("made", ofClass("gp3")), claim("made-in-tree", ofClass("gp2")),
			claim("made-portworx", ofClass("portworx")), claim("disk", ofClass("disk")),
			claim("no-class", ofClass("")), claim("by-default"),
			claim("gone", boundTo("missing"), ofClass("gp3")), claim("web-others"),
		},
		volumes: []corev1.PersistentVolume{
			volume("pv", ebs("vol-1")), volume("pv-same", ebs("vol-1")),
			volume("pv-efs", func(v *corev1.PersistentVolume) {
				v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "efs.csi.aws.com", VolumeHandle: "fs-1"}
			}),
			volume("pv-in-tree", func(v *corev1.PersistentVolume) {
				v.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-2"}
			}),
			volume("pv-url", func(v *corev1.PersistentVolume) {
				v.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://us-east-1a/vol-1"}
			}),
			volume("pv-local", local),
			volume("pv-portworx", func(v *corev1.PersistentVolume) {
				v.Spec.PortworxVolume = &corev1.PortworxVolumeSource{VolumeID: "px-1"}
			}),
			volume("pv-nfs", func(v *corev1.PersistentVolume) { v.Spec.NFS = &corev1.NFSVolumeSource{} }),
		},
		classes: []storagev1.StorageClass{
			byDefault(class("gp3", csi)), class("gp2", "kubernetes.io/aws-ebs"),
			class("portworx", "kubernetes.io/portworx-volume"), class("disk", none),
		},
	}
	inline := pod("bound")
	inline.Spec.Volumes = append(inline.Spec.Volumes,
		corev1.Volume{
			Name: "ebs",
			VolumeSource: corev1.VolumeSource{
				AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws:///vol-9"},
			},
		},
		corev1.Volume{
			Name:         "secrets",
			VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "secrets-store.csi.k8s.io"}},
		},
		corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	for _, test := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"none", pod(), "[]"},
		{"by handle, once", pod("bound", "same", "url"), "[{ebs.csi.aws.com vol-1}]"},
		{
			"several drivers", pod("efs", "bound", "in-tree"),
			"[{ebs.csi.aws.com vol-1} {ebs.csi.aws.com vol-2} {efs.csi.aws.com fs-1}]",
		},
		{
			"portworx", pod("portworx", "made-portworx"),
			"[{pxd.portworx.com claim default/made-portworx} {pxd.portworx.com px-1}]",
		},
		{"what no driver attaches", pod("local", "nfs", "disk", "no-class"), "[]"},
		{
			"still to be made", pod("made", "made", "made-in-tree", "by-default"),
			"[{ebs.csi.aws.com claim default/by-default} {ebs.csi.aws.com claim default/made} {ebs.csi.aws.com claim " +
				"default/made-in-tree}]",
		},
		{"volume gone", pod("gone"), "[{ebs.csi.aws.com claim default/gone}]"},
		{"claim gone", pod("none"), "[]"},
		{"ephemeral", pod("~scratch:gp3"), "[{ebs.csi.aws.com claim default/web-scratch}]"},
		{"ephemeral claim of another", pod("~others:gp3"), "[]"},
		{"inline", inline, "[{ebs.csi.aws.com vol-1} {ebs.csi.aws.com vol-9}]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := fmt.Sprint(c.index().Attachments(test.pod)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	need, err := c.index().Of(pod("made"))
	if err != nil || len(need.Attachments) != 1 {
		t.Errorf("a Need has the attachments %v (%v)", need.Attachments, err)
	}
}

func TestLimits(t *testing.T) {
	count := func(n int32) *storagev1.VolumeNodeResources { return &storagev1.VolumeNodeResources{Count: &n} }
	index := New(
		nil,
		nil,
		nil,
		[]storagev1.CSINode{
			{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
				{Name: EBSDriver, Allocatable: count(25)}, {Name: "efs.csi.aws.com"}, {Name: "odd", Allocatable: count(-1)},
				{Name: "unknown", Allocatable: &storagev1.VolumeNodeResources{}},
			}}},
		},
	)
	if got := fmt.Sprint(index.Limits("n1")); got != "map[ebs.csi.aws.com:25 odd:0]" {
		t.Errorf("got %s", got)
	}
	liar := New(nil, nil, nil, []storagev1.CSINode{{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: EBSDriver, Allocatable: count(5000)}}},
	}})
	if got := fmt.Sprint(liar.Limits("n1")); got != "map[ebs.csi.aws.com:128]" {
		t.Errorf("a node that claims 5000 volumes has %s", got)
	}
	if index.Limits("n2") != nil {
		t.Error("a node without CSINode has no limits that are known")
	}
}

func BenchmarkOf(b *testing.B) {
	c := cluster{
		claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
		volumes: []corev1.PersistentVolume{volume("pv", ebs("vol-1"), at(zone+"=a"))},
	}
	index, p := c.index(), pod("data")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := index.Of(p); err != nil {
			b.Fatal(err)
		}
	}
}
