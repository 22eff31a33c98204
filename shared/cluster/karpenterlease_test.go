package cluster_test

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// TestKarpenterLeads gives the Lease of Karpenter's replicas every possible state, in a namespace
// of its chart, and asks with a function's rights.
func TestKarpenterLeads(t *testing.T) {
	const namespace = "autoscaling"
	resource := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	create(t, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace},
	})
	function, err := controlPlane.ClientOf("whittle:interrupt")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if leader, err := function.KarpenterLeader(t.Context(), noon); err != nil || leader != nil {
		t.Errorf("without a lease %v leads, %v", leader, err)
	}
	holder, nobody, lasts := "karpenter-7d9f_1", "", int32(15)
	ago := func(passed time.Duration) *metav1.MicroTime {
		renewed := metav1.NewMicroTime(noon.Add(-passed))
		return &renewed
	}
	for _, test := range []struct {
		name string
		spec coordinationv1.LeaseSpec
		want bool
	}{
		{"renewed", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(2 * time.Second)}, true},
		{"by a clock that is ahead", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(-time.Minute)}, true},
		{"by a clock that is behind", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(18 * time.Second)}, true},
		{"without a duration", coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: ago(2 * time.Second)}, true},
		{"not renewed any more", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(21 * time.Second)}, false},
		{"released", coordinationv1.LeaseSpec{HolderIdentity: &nobody, LeaseDurationSeconds: &lasts,
			RenewTime: ago(time.Second)}, false},
		{"never renewed", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			create(t, resource, &coordinationv1.Lease{
				TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster.KarpenterLease}, Spec: test.spec,
			})
			leader, err := function.KarpenterLeader(t.Context(), noon)
			if err != nil || (leader != nil) != test.want {
				t.Errorf("%v leads, %v, want one: %t", leader, err, test.want)
			}
			if leader != nil && (leader.Identity != holder || !strings.Contains(leader.String(),
				namespace+"/"+cluster.KarpenterLease)) {
				t.Errorf("it is said that %s", leader)
			}
			if err := objects.Resource(resource).Namespace(namespace).Delete(t.Context(), cluster.KarpenterLease,
				metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
