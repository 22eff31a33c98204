package snapshot_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// tenantSet is an old DaemonSet of a tenant that has pods on so many of the nodes that it wants.
func tenantSet(cpu string, current, desired int32, change ...func(*appsv1.DaemonSet)) appsv1.DaemonSet {
	made := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "tenant", Name: "set", CreationTimestamp: metav1.NewTime(catalogtest.Now.Add(-time.Hour)),
	}}
	made.Spec.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}}
	made.Status.CurrentNumberScheduled, made.Status.DesiredNumberScheduled = current, desired
	for _, f := range change {
		f(&made)
	}
	return made
}

// A tenant's DaemonSet counts as far as its controller could create its pods, and leaves room for others.
func TestADaemonSetCountsAsFarAsItHasPods(t *testing.T) {
	old, young := metav1.NewTime(catalogtest.Now.Add(-time.Hour)), metav1.NewTime(catalogtest.Now.Add(-time.Second))
	for _, test := range []struct {
		name    string
		set     appsv1.DaemonSet
		young   int // of the four nodes
		counts  bool
		message string
	}{
		{name: "pods on all nodes", set: tenantSet("1", 4, 4), counts: true},
		{name: "a quota admits none", set: tenantSet("1", 0, 4), message: "0 of 4 nodes"},
		{name: "a quota admits one", set: tenantSet("1", 1, 4), message: "1 of 4 nodes"},
		{name: "the controller has half of them", set: tenantSet("1", 2, 4), counts: true},
		{name: "no node that it wants", set: tenantSet("1", 0, 0), counts: true},
		{
			name: "a new DaemonSet", counts: true,
			set: tenantSet("1", 0, 4, func(d *appsv1.DaemonSet) { d.CreationTimestamp = young }),
		},
		{
			name: "a change that its controller has not seen", counts: true,
			set: tenantSet("1", 0, 4, func(d *appsv1.DaemonSet) { d.Generation = 2 }),
		},
		{name: "its only nodes are new", set: tenantSet("1", 0, 2), young: 2, counts: true},
		{name: "nearly all of the largest type", set: tenantSet("1000", 4, 4), message: "nearly all"},
		{
			name: "of the cluster's own namespace", counts: true,
			set: tenantSet("1000", 4, 4, func(d *appsv1.DaemonSet) { d.Namespace = metav1.NamespaceSystem }),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := atLimit("100")
			for i := range o.Nodes {
				o.Nodes[i].CreationTimestamp = old
				if i < test.young {
					o.Nodes[i].CreationTimestamp = young
				}
			}
			o.DaemonSets = []appsv1.DaemonSet{test.set}
			made := snapshot.NewOffer(o, catalogtest.Catalog(t), catalog.Observed{}, catalogtest.Now).
				Assemble(o, catalogtest.Now)
			if len(made.DaemonSets) == 1 != test.counts {
				t.Errorf("the plan has %d daemon sets", len(made.DaemonSets))
			}
			uncounted := snapshot.Uncounted(o, made.InstanceTypes, catalogtest.Now)
			if len(uncounted) == 0 != test.counts {
				t.Fatalf("uncounted are %+v", uncounted)
			}
			if !test.counts && !strings.Contains(uncounted[0].Message, test.message) {
				t.Errorf("message %q", uncounted[0].Message)
			}
		})
	}
}
