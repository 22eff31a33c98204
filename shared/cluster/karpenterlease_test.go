package cluster_test

import (
	"slices"
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

const (
	karpenterNamespace = "autoscaling"
	leaderPod          = "karpenter-7d9f"
	leaderIdentity     = leaderPod + "_9a1c"
)

var leaseResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// namespaceWithPods creates a namespace with service accounts and pods.
func namespaceWithPods(t *testing.T, name string, pods ...corev1.Pod) {
	t.Helper()
	create(t, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name},
	})
	for _, account := range []string{"karpenter", "other"} {
		create(t, schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, &corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: account},
		})
	}
	for _, pod := range pods {
		pod.TypeMeta, pod.Namespace = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, name
		pod.Spec.Containers = []corev1.Container{{Name: "controller", Image: "image"}}
		create(t, podResource, &pod)
	}
}

func ofAccount(name, account string, change func(*corev1.PodSpec)) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Spec.ServiceAccountName, made.Spec.NodeName = account, "ip-10-0-1-2.ec2.internal"
	if change != nil {
		change(&made.Spec)
	}
	return made
}

// leads writes a Lease of Karpenter's name until the subtest is over, and asks for the leader with
// a function's rights.
func leads(t *testing.T, namespace string, spec coordinationv1.LeaseSpec) cluster.Leadership {
	t.Helper()
	objects, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	create(t, leaseResource, &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster.KarpenterLease}, Spec: spec,
	})
	defer func() {
		if err := objects.Resource(leaseResource).Namespace(namespace).Delete(t.Context(), cluster.KarpenterLease,
			metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	function, err := controlPlane.ClientOf("whittle:interrupt")
	if err != nil {
		t.Fatal(err)
	}
	accounts := []cluster.ServiceAccount{{Namespace: "kube-system", Name: "karpenter"},
		{Namespace: karpenterNamespace, Name: "karpenter"}}
	leadership, err := function.KarpenterLeadership(t.Context(), accounts, noon)
	if err != nil {
		t.Fatal(err)
	}
	return leadership
}

func ago(passed time.Duration) *metav1.MicroTime {
	renewed := metav1.NewMicroTime(noon.Add(-passed))
	return &renewed
}

// TestKarpenterLeads gives the Lease of Karpenter's replicas every possible state, in a namespace
// of its chart.
func TestKarpenterLeads(t *testing.T) {
	namespaceWithPods(t, karpenterNamespace, ofAccount(leaderPod, "karpenter", nil))
	holder, nobody := leaderIdentity, ""
	lasts, forYears := int32(15), int32(1<<31-1)
	for _, test := range []struct {
		name string
		spec coordinationv1.LeaseSpec
		want bool
	}{
		{"renewed", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(2 * time.Second)}, true},
		{"by a clock that is ahead", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(-29 * time.Second)}, true},
		{"in a far future", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(-31 * time.Second)}, false},
		{"by a clock that is behind", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(18 * time.Second)}, true},
		{"without a duration", coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: ago(2 * time.Second)}, true},
		{"not renewed any more", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts,
			RenewTime: ago(21 * time.Second)}, false},
		{"for 68 years, renewed", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &forYears,
			RenewTime: ago(59 * time.Second)}, true},
		{"for 68 years, not renewed any more", coordinationv1.LeaseSpec{HolderIdentity: &holder,
			LeaseDurationSeconds: &forYears, RenewTime: ago(66 * time.Second)}, false},
		{"released", coordinationv1.LeaseSpec{HolderIdentity: &nobody, LeaseDurationSeconds: &lasts,
			RenewTime: ago(time.Second)}, false},
		{"never renewed", coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &lasts}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := leads(t, karpenterNamespace, test.spec)
			if (found.Leader != nil) != test.want || len(found.Ignored) > 0 {
				t.Errorf("%+v, want a leader: %t", found, test.want)
			}
			if found.Leader != nil && (found.Leader.Identity != holder || !strings.Contains(found.Leader.String(),
				karpenterNamespace+"/"+cluster.KarpenterLease)) {
				t.Errorf("it is said that %s", found.Leader)
			}
		})
	}
}

// TestOnlyKarpentersPodLeads gives the Lease to holders that anyone can name who may write Leases in
// one namespace.
func TestOnlyKarpentersPodLeads(t *testing.T) {
	const tenant = "tenant"
	long := "karpenter-" + strings.Repeat("a", 52) + "-rest-of-a-long-name"
	namespaceWithPods(t, tenant, ofAccount("karpenter-1", "karpenter", nil))
	for _, pod := range []corev1.Pod{
		ofAccount("other", "other", nil),
		ofAccount(long, "karpenter", nil),
		ofAccount("on-the-host", "karpenter", func(spec *corev1.PodSpec) { spec.HostNetwork = true }),
		ofAccount("named", "karpenter", func(spec *corev1.PodSpec) { spec.Hostname = "another" }),
	} {
		pod.TypeMeta, pod.Namespace = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, karpenterNamespace
		pod.Spec.Containers = []corev1.Container{{Name: "controller", Image: "image"}}
		create(t, podResource, &pod)
	}
	lasts := int32(15)
	for _, test := range []struct {
		name, namespace, holder string
		want                    bool
	}{
		{"a pod of Karpenter's name in another namespace", tenant, "karpenter-1_9a1c", false},
		{"no pod", karpenterNamespace, "karpenter-gone_9a1c", false},
		{"a pod of another service account", karpenterNamespace, "other_9a1c", false},
		{"an empty hostname", karpenterNamespace, "_9a1c", false},
		{"an identity without a random part", karpenterNamespace, leaderPod, true},
		{"a long name, which the kubelet cuts", karpenterNamespace, long[:62] + "_9a1c", true},
		{"a pod in its node's network", karpenterNamespace, "ip-10-0-1-2.ec2.internal_9a1c", true},
		{"a pod in its node's network, by the short name", karpenterNamespace, "ip-10-0-1-2_9a1c", true},
		{"a pod with a hostname of its own", karpenterNamespace, "another_9a1c", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := leads(t, test.namespace, coordinationv1.LeaseSpec{
				HolderIdentity: &test.holder, LeaseDurationSeconds: &lasts, RenewTime: ago(time.Second),
			})
			if (found.Leader != nil) != test.want {
				t.Errorf("%+v, want a leader: %t", found, test.want)
			}
			says := slices.ContainsFunc(found.Ignored, func(why string) bool {
				return strings.Contains(why, test.namespace+"/"+cluster.KarpenterLease) && strings.Contains(why, "karpenter]")
			})
			if says == test.want {
				t.Errorf("said to be ignored: %q", found.Ignored)
			}
		})
	}
}

func TestParseServiceAccounts(t *testing.T) {
	got, err := cluster.ParseServiceAccounts("kube-system/karpenter, autoscaling/karpenter-prod")
	want := []cluster.ServiceAccount{{"kube-system", "karpenter"}, {"autoscaling", "karpenter-prod"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "karpenter", "kube-system/", "/karpenter", "a/b,", "a/b/c", "A/b"} {
		if got, err := cluster.ParseServiceAccounts(text); err == nil || !strings.Contains(err.Error(), "NAMESPACE/NAME") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
