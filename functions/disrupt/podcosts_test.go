package disrupt

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
)

const (
	lowestCost      = "-2147483648"
	replicaSetsPath = "/apis/apps/v1/namespaces/default/replicasets"
)

// mayCost gives the function the right that the setting gives it.
func mayCost(t *testing.T) {
	t.Helper()
	const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	functiontest.Create(t, server, path, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "disrupt-pod-deletion-cost"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "whittle:pod-deletion-cost"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "whittle:disrupt"}},
	})
	t.Cleanup(func() { server.Delete(t, path+"/disrupt-pod-deletion-cost") })
}

// costed has three nodes with a pod of a ReplicaSet each. The price of "large" is twice that of
// "small", and "ending" is being deleted. The pod on "mine" has a cost that a person wrote.
func costed(t *testing.T) *harness {
	t.Helper()
	offers(t)
	pool(t, "100%")
	names := []string{"small", "large", "ending", "mine"}
	initialized(t, names...)
	for _, name := range names {
		capacityType := api.CapacityTypeSpot
		if name == "large" {
			capacityType = api.CapacityTypeOnDemand
		}
		server.Patch(t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{"labels": map[string]string{
			api.CapacityTypeLabelKey: capacityType, corev1.LabelInstanceTypeStable: "m5.large",
			corev1.LabelTopologyZone: "us-east-1a",
		}}})
		settle(t, name)
		server.Pod(t, "p-"+name, "node-"+name, func(p *corev1.Pod) {
			p.Labels = map[string]string{"app": "costed"}
			if name == "mine" {
				p.Annotations = map[string]string{api.PodDeletionCostAnnotationKey: "5"}
			}
		})
	}
	adopt(t, names)
	server.Delete(t, api.NodeClaimsPath+"/ending")
	l := newHarness(t, nil)
	l.podCosts = &settledFleet{}
	l.toReport()
	return l
}

// adopt makes the pods those of a ReplicaSet of their number, until the test is over.
func adopt(t *testing.T, names []string) {
	t.Helper()
	number := int32(len(names))
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "costed"}}
	set.Spec.Replicas = &number
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "costed"}}
	set.Spec.Template.Labels = map[string]string{"app": "costed"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	functiontest.Create(t, server, replicaSetsPath, set)
	t.Cleanup(func() {
		server.Delete(t, replicaSetsPath+"/costed")
		for _, name := range names {
			server.Delete(t, functiontest.PodsPath+"/p-"+name)
			server.EndPods(t, "node-"+name)
		}
	})
	await(t, "the ReplicaSet has its pods", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			return metav1.GetControllerOf(functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/p-"+name)) == nil
		})
	})
}

// await waits for what the control plane does by itself.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 300 {
		if done() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s: not within 30 s", what)
}

// toReport sets the clock to the beginning of the next minute, in which a pass writes costs.
func (l *harness) toReport() {
	now := l.now()
	l.ahead += now.Truncate(time.Minute).Add(61 * time.Second).Sub(now)
}

// cost is the pod's deletion cost, and whether it is marked as Whittle's.
func cost(t *testing.T, name string) (value string, marked bool) {
	t.Helper()
	annotations := functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/p-"+name).Annotations
	mark, marked := annotations[api.ManagedDeletionCostAnnotationKey]
	value = annotations[api.PodDeletionCostAnnotationKey]
	return value, marked && mark == value
}

func checkCosts(t *testing.T, when string, want map[string]string) {
	t.Helper()
	for name, wanted := range want {
		value, marked := cost(t, name)
		if value != wanted || marked != (value != "" && value != "5") {
			t.Errorf("%s: the pod on %s has the cost %q, marked %t, want %q", when, name, value, marked, wanted)
		}
	}
}

// TestPodsOnNodesThatGoFirstHaveTheLowestDeletionCost has costs written, changed and removed. A
// person's cost stays.
func TestPodsOnNodesThatGoFirstHaveTheLowestDeletionCost(t *testing.T) {
	mayCost(t)
	l := costed(t)
	l.mustTick(t)
	checkCosts(t, "at first", map[string]string{"large": "-3", "small": "-1", "ending": lowestCost, "mine": "5"})

	fewer := map[string]any{"spec": map[string]any{"replicas": 3}}
	server.Patch(t, replicaSetsPath+"/costed", fewer)
	await(t, "the pod on the node that leaves goes first", func() bool {
		pod := functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/p-ending")
		return pod == nil || pod.DeletionTimestamp != nil
	})

	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"spec": map[string]any{"disruption": map[string]any{
		"budgets": []api.Budget{{Nodes: "0"}},
	}}})
	l.mustTick(t)
	checkCosts(t, "with a closed budget", map[string]string{"large": "", "small": "", "mine": "5"})
}

// TestWithoutTheSettingNoPodHasADeletionCost holds that the function does not even try.
func TestWithoutTheSettingNoPodHasADeletionCost(t *testing.T) {
	l := costed(t)
	l.podCosts = nil
	l.mustTick(t)
	checkCosts(t, "without the setting", map[string]string{"large": "", "small": "", "ending": "", "mine": "5"})
}

// racing changes a pod right before its cost is written, and forbids the writes to another one.
type racing struct {
	edge
	t *testing.T
}

func (r racing) AnnotatePod(ctx context.Context, pod *corev1.Pod, annotations map[string]any) error {
	switch pod.Name {
	case "p-large":
		server.Patch(r.t, functiontest.PodsPath+"/p-large", map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{api.PodDeletionCostAnnotationKey: "5"},
		}})
	case "p-small":
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, pod.Name, nil)
	}
	return r.edge.AnnotatePod(ctx, pod, annotations)
}

// TestAPodThatChangesMeanwhileKeepsItsOwnersCost holds that a write which cannot be made fails no
// pass and keeps no other pod waiting. The next minute makes it.
func TestAPodThatChangesMeanwhileKeepsItsOwnersCost(t *testing.T) {
	mayCost(t)
	l := costed(t)
	honest := l.connect
	l.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := honest(ctx)
		return racing{client.(edge), t}, err
	}
	l.mustTick(t)
	checkCosts(t, "in the race", map[string]string{"large": "5", "small": "", "ending": lowestCost, "mine": "5"})
	l.connect = honest
	l.toReport()
	l.mustTick(t)
	checkCosts(t, "a minute later", map[string]string{"large": "5", "small": "-1", "ending": lowestCost, "mine": "5"})
}
