package volumes

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const none = "kubernetes.io/no-provisioner"

func TestAlternatives(t *testing.T) {
	for _, test := range []struct {
		name    string
		cluster cluster
		pod     *corev1.Pod
		// want is where the volumes can be; existing the same for nodes that exist, where it is
		// another thing.
		want, existing string
	}{
		{"no volume", cluster{}, pod(), "anywhere", ""},
		{
			"no claim", cluster{},
			&corev1.Pod{
				Spec: corev1.PodSpec{
					Volumes: []corev1.Volume{
						{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					},
				},
			},
			"anywhere", "",
		},
		{"bound, in one zone", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", ebs("vol-1"), at("topology.ebs.csi.aws.com/zone=a"))},
		}, pod("data"), "zone In [a]", ""},
		{"bound, without affinity", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv")},
		}, pod("data"), "anywhere", ""},
		{"each term an alternative, zones together", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{
				volume("pv", at(zone+"=a", "rack=1"), at(zone+"=b", "rack=1"), at(zone+"=c", "rack=2")),
			},
		}, pod("data"), "rack In [1], zone In [a b] | rack In [2], zone In [c]", ""},
		{"a term that another includes", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", at(zone+"=a", "rack=1"), at(zone+"=a"))},
		}, pod("data"), "zone In [a]", ""},
		{"zone labels of old", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{
				volume("pv", labelled(corev1.LabelFailureDomainBetaZone, "a__b"), labelled(corev1.LabelTopologyRegion, "r")),
			},
		}, pod("data"), "topology.kubernetes.io/region In [r], zone In [a b]", ""},
		{"zone labels narrow the affinity", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", labelled(zone, "a__b"), at(zone+"=b,c"), at(zone+"=c"))},
		}, pod("data"), "zone In [b]", ""},
		{"a zone label with a gap counts for nothing", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", labelled(zone, "a__"))},
		}, pod("data"), "anywhere", ""},
		{"a local volume", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", local, at(hostname+"=h1", zone+"=a"))},
		}, pod("data"), "zone In [a]", "host In [h1], zone In [a]"},
		{"a local volume tied to its host alone", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", local, at(hostname+"=h1"))},
		}, pod("data"), "anywhere", "host In [h1]"},
		{"a host of a volume that is not local", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", at(hostname+"=h1"))},
		}, pod("data"), "host In [h1]", ""},
		{"unbound, any topology", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass("gp3"))},
			classes: []storagev1.StorageClass{class("gp3", csi)},
		}, pod("data"), "anywhere", ""},
		{"unbound, topologies", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass("gp3"))},
			classes: []storagev1.StorageClass{class("gp3", csi, zone+"=a", "topology.ebs.csi.aws.com/zone=b&rack=1", "")},
		}, pod("data"), "zone In [a] | rack In [1], zone In [b]", ""},
		{"class by the old annotation", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("other"), func(c *corev1.PersistentVolumeClaim) {
				c.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: "gp3"}
			})},
			classes: []storagev1.StorageClass{class("gp3", csi, zone+"=a"), class("other", csi, zone+"=b")},
		}, pod("data"), "zone In [a]", ""},
		{"the default class", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data")},
			classes: []storagev1.StorageClass{class("gp2", csi, zone+"=a"), byDefault(class("gp3", csi, zone+"=b"))},
		}, pod("data"), "zone In [b]", ""},
		{"the newer of two default classes", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data")},
			classes: []storagev1.StorageClass{byDefault(class("a", csi, zone+"=a")), func() storagev1.StorageClass {
				s := byDefault(class("b", csi, zone+"=b"))
				s.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
				return s
			}()},
		}, pod("data"), "zone In [b]", ""},
		{"the node that the volume is being made for", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("gp3"), func(c *corev1.PersistentVolumeClaim) {
				c.Annotations = map[string]string{selectedNode: "n1"}
			})},
			classes: []storagev1.StorageClass{class("gp3", csi, zone+"=a")},
		}, pod("data"), "zone In [a]", "metadata.name In [n1], zone In [a]"},
		{"local volumes that stand ready", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("disk"))},
			volumes: []corev1.PersistentVolume{
				volume("1", local, available("disk"), at(hostname+"=h1")),
				volume("2", local, available("disk"), at(hostname+"=h2")),
				volume("3", local, available("other"), at(hostname+"=h3")),
			},
			classes: []storagev1.StorageClass{class("disk", none)},
		}, pod("data"), "anywhere", "host In [h1 h2]"},
		{"volumes that stand ready and do not fit", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("disk"), func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "fast"}}
			})},
			volumes: []corev1.PersistentVolume{
				volume("small", available("disk"), labelled("tier", "fast"), at(zone+"=a"), func(v *corev1.PersistentVolume) {
					v.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("9Gi")
				}),
				volume("read-only", available("disk"), labelled("tier", "fast"), at(zone+"=b"), func(v *corev1.PersistentVolume) {
					v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
				}),
				volume("block", available("disk"), labelled("tier", "fast"), at(zone+"=c"), func(v *corev1.PersistentVolume) {
					mode := corev1.PersistentVolumeBlock
					v.Spec.VolumeMode = &mode
				}),
				volume("slow", available("disk"), at(zone+"=d")),
				volume("attributes", available("disk"), labelled("tier", "fast"), at(zone+"=e"), func(v *corev1.PersistentVolume) {
					v.Spec.VolumeAttributesClassName = &v.Name
				}),
				volume(
					"released", available("disk"), labelled("tier", "fast"), at(zone+"=f"),
					func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased },
				),
				volume(
					"going", available("disk"), labelled("tier", "fast"), at(zone+"=g"),
					func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{} },
				),
				volume("another's", available("disk"), labelled("tier", "fast"), at(zone+"=h"), func(v *corev1.PersistentVolume) {
					v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "other"}
				}),
				volume("right", available("disk"), labelled("tier", "fast"), at(zone+"=i")),
			},
			classes: []storagev1.StorageClass{class("disk", none)},
		}, pod("data"), "zone In [i]", ""},
		{"a volume that names the claim", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("disk"))},
			volumes: []corev1.PersistentVolume{
				volume("1", available("disk"), at(zone+"=a")),
				volume("2", available("disk"), at(zone+"=b"), func(v *corev1.PersistentVolume) {
					v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data"}
				}),
			},
			classes: []storagev1.StorageClass{class("disk", none)},
		}, pod("data"), "zone In [b]", ""},
		{"none stands ready and the class makes none", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass("disk"))},
			classes: []storagev1.StorageClass{class("disk", none, zone+"=a")},
		}, pod("data"), "zone In [a]", ""},
		{"ready or made", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass("gp3"))},
			volumes: []corev1.PersistentVolume{volume("1", available("gp3"), ebs("vol-1"), at(zone+"=a"))},
			classes: []storagev1.StorageClass{class("gp3", csi, zone+"=b")},
		}, pod("data"), "zone In [a b]", ""},
		{"two volumes", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv")), claim("logs", ofClass("gp3"))},
			volumes: []corev1.PersistentVolume{volume("pv", at(zone+"=a"), at(zone+"=b"))},
			classes: []storagev1.StorageClass{class("gp3", csi, zone+"=b", zone+"=c")},
		}, pod("data", "logs"), "zone In [b]", ""},
		{"a claim mounted twice takes one volume", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass("disk"))},
			volumes: []corev1.PersistentVolume{volume("1", available("disk"), at(zone+"=a"))},
			classes: []storagev1.StorageClass{class("disk", none)},
		}, pod("data", "data"), "zone In [a]", ""},
		{"two claims need two volumes", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("one", ofClass("disk")), claim("two", ofClass("disk"))},
			volumes: []corev1.PersistentVolume{
				volume("1", available("disk"), at(zone+"=a")), volume("2", available("disk"), at(zone+"=b")),
				volume("3", available("disk"), at(zone+"=b")),
			},
			classes: []storagev1.StorageClass{class("disk", none)},
		}, pod("one", "two"), "zone In [b]", ""},
		{"a local volume and a zone's", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("cache", boundTo("disk")), claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("disk", local, at(hostname+"=h1")), volume("pv", at(zone+"=a"))},
		}, pod("cache", "data"), "zone In [a]", "host In [h1], zone In [a]"},
		{
			"ephemeral, not made yet", cluster{classes: []storagev1.StorageClass{class("gp3", csi, zone+"=a")}},
			pod("~scratch:gp3"), "zone In [a]", "",
		},
		{"ephemeral, made", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("web-scratch", boundTo("pv"), func(c *corev1.PersistentVolumeClaim) {
				c.OwnerReferences = []metav1.OwnerReference{
					*metav1.NewControllerRef(pod(), corev1.SchemeGroupVersion.WithKind("Pod")),
				}
			})},
			volumes: []corev1.PersistentVolume{volume("pv", at(zone+"=b"))},
			classes: []storagev1.StorageClass{class("gp3", csi, zone+"=a")},
		}, pod("~scratch:gp3"), "zone In [b]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			need, err := test.cluster.index().Of(test.pod)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(need.Alternatives); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			got := ""
			if need.ExistingAlternatives != nil {
				got = text(need.ExistingAlternatives)
			}
			if got != test.existing {
				t.Errorf("on existing nodes: got %q, want %q", got, test.existing)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name    string
		cluster cluster
		pod     *corev1.Pod
		want    string
	}{
		{
			"missing claim", cluster{}, pod("data"),
			`volume "data": PersistentVolumeClaim "default/data" does not exist: create it, or correct spec.volumes[0].persistentVolumeClaim.claimName`,
		},
		{
			"claim of another namespace",
			cluster{
				claims: []corev1.PersistentVolumeClaim{
					claim("data", func(c *corev1.PersistentVolumeClaim) { c.Namespace = "other" }),
				},
			},
			pod("data"), `"default/data" does not exist`,
		},
		{"claim being deleted", cluster{
			claims: []corev1.PersistentVolumeClaim{
				claim("data", func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }),
			},
		}, pod("data"),
			`PersistentVolumeClaim "default/data" is being deleted (metadata.deletionTimestamp): create it anew once it is gone`},
		{
			"lost claim",
			cluster{
				claims: []corev1.PersistentVolumeClaim{
					claim("data", boundTo("pv"), func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost }),
				},
			},
			pod("data"), `has lost its PersistentVolume "pv"`,
		},
		{
			"missing volume", cluster{claims: []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))}},
			pod("data"),
			`PersistentVolumeClaim "default/data": PersistentVolume "pv", which spec.volumeName names, does not exist`,
		},
		{"volume being deleted", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{
				volume("pv", func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{} }),
			},
		}, pod("data"), `PersistentVolume "pv" is being deleted`},
		{"binding not finished", cluster{
			claims: []corev1.PersistentVolumeClaim{
				claim("data", boundTo("pv"), func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil }),
			},
			volumes: []corev1.PersistentVolume{volume("pv")},
		}, pod("data"), `its binding to PersistentVolume "pv" is not finished (annotation pv.kubernetes.io/bind-completed is missing)`},
		{
			"no class, no default", cluster{claims: []corev1.PersistentVolumeClaim{claim("data")}}, pod("data"),
			"names no StorageClass, and none is the default",
		},
		{"class explicitly none", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass(""))},
			classes: []storagev1.StorageClass{byDefault(class("gp3", csi))},
		}, pod("data"), "spec.storageClassName is empty"},
		{
			"missing class", cluster{claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("gp4"))}},
			pod("data"), `StorageClass "gp4", which spec.storageClassName names, does not exist`,
		},
		{"immediate binding", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass("gp2"))},
			classes: []storagev1.StorageClass{immediate(class("gp2", csi))},
		}, pod("data"), `StorageClass "gp2" binds at once (volumeBindingMode Immediate): wait until the provisioner ebs.csi.aws.com has bound it`},
		{"no binding mode is immediate", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("gp2"))},
			classes: []storagev1.StorageClass{func() storagev1.StorageClass {
				s := class("gp2", none)
				s.VolumeBindingMode = nil
				return s
			}()},
		}, pod("data"), "wait until a PersistentVolume that fits has bound it"},
		{
			"ephemeral claim of another",
			cluster{claims: []corev1.PersistentVolumeClaim{claim("web-scratch", boundTo("pv"))}}, pod("~scratch:gp3"),
			"was not made for the pod",
		},
		{"ephemeral without template", cluster{}, &corev1.Pod{
			Spec: corev1.PodSpec{
				Volumes: []corev1.Volume{
					{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
				},
			},
		},
			"spec.volumes[0].ephemeral.volumeClaimTemplate is missing"},
		{"affinity that nothing meets", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", at())},
		}, pod("data"), `PersistentVolume "pv": no node can meet spec.nodeAffinity.required`},
		{"affinity with a wrong operator", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", boundTo("pv"))},
			volumes: []corev1.PersistentVolume{volume("pv", at(zone+"=a"), func(v *corev1.PersistentVolume) {
				v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Near"
			})},
		}, pod("data"), `PersistentVolume "pv": spec.nodeAffinity.required.nodeSelectorTerms[0]: requirement on "topology.kubernetes.io/zone": operator "Near"`},
		{"topologies that nothing meets", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", ofClass("gp3"))},
			classes: []storagev1.StorageClass{class("gp3", csi, "")},
		}, pod("data"), `StorageClass "gp3": no node can meet allowedTopologies`},
		{"a selector that cannot be read", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("disk"), func(c *corev1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
				}
			})},
			volumes: []corev1.PersistentVolume{volume("1", available("disk"))},
			classes: []storagev1.StorageClass{class("disk", none)},
		}, pod("data"), `PersistentVolumeClaim "default/data": spec.selector: `},
		{"volumes apart", cluster{
			claims:  []corev1.PersistentVolumeClaim{claim("data", boundTo("pv")), claim("logs", boundTo("pv2"))},
			volumes: []corev1.PersistentVolume{volume("pv", at(zone+"=a")), volume("pv2", at(zone+"=b"))},
		}, pod(
			"data", "logs",
		), `volume "logs" can be on no node where volume "data" can be (topology.kubernetes.io/zone In [b], but topology.kubernetes.io/zone In [a])`},
		{"local volumes apart", cluster{
			claims: []corev1.PersistentVolumeClaim{claim("data", boundTo("pv")), claim("logs", boundTo("pv2"))},
			volumes: []corev1.PersistentVolume{
				volume("pv", local, at(hostname+"=h1")), volume("pv2", local, at(hostname+"=h2")),
			},
		}, pod("data", "logs"), `volume "logs" can be on no node where volume "data" can be`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.cluster.index().Of(test.pod)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestReadWriteOncePod(t *testing.T) {
	c := cluster{
		claims: []corev1.PersistentVolumeClaim{claim("data", ofClass("gp3"), func(c *corev1.PersistentVolumeClaim) {
			c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		}), claim("logs", ofClass("gp3"))},
		classes: []storagev1.StorageClass{class("gp3", csi)},
	}
	need, err := c.index().Of(pod("data", "logs"))
	if err != nil || strings.Join(need.ReadWriteOncePod, " ") != "default/data" {
		t.Errorf("got %q (%v), want the claim data alone", need.ReadWriteOncePod, err)
	}
}
