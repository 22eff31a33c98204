package disrupt

import (
	"context"
	"slices"
	"strings"
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
	"github.com/whittle-dev/whittle/shared/disruption"
)

// mayRestart gives the function the right to restart Deployments of a namespace.
func mayRestart(t *testing.T) {
	t.Helper()
	const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
	functiontest.Create(t, server, path, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "whittle-restart"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "whittle:restart"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "whittle:disrupt"}},
	})
	t.Cleanup(func() { server.Delete(t, path+"/whittle-restart") })
}

// single has one drifted node with the only pod of a Deployment that asks to be moved by a restart.
func single(t *testing.T) *world {
	t.Helper()
	w := whole(t, 1)
	server.Delete(t, budgetsPath+"/web")
	return w
}

// whole has one drifted node with all pods of a Deployment that asks to be moved by a restart. Its disruption
// budget allows no eviction.
func whole(t *testing.T, replicas int32) *world {
	t.Helper()
	pool(t, "100%")
	offers(t)
	w := newWorld(t)
	w.image = "ami-0"
	w.fill("single", 1)
	w.image = "ami-1"
	w.workload(replicas, replicas, "500m")
	server.Patch(t, deploymentsPath+"/web",
		map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
			"annotations": map[string]string{disruption.MoveByRestartAnnotationKey: "true"},
		}}}})
	w.await("pods with the annotation run alone", func() bool {
		w.step()
		pods := w.pods()
		return len(pods) == int(replicas) && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return pod.Annotations[disruption.MoveByRestartAnnotationKey] != "true" ||
				pod.Status.Phase != corev1.PodRunning || pod.Spec.NodeName == ""
		})
	})
	w.most, w.leastReady = 0, int(replicas)
	drift(t, "single-000")
	return w
}

// drift marks the claim as drifted a while ago.
func drift(t *testing.T, name string) {
	t.Helper()
	conditions := readClaim(t, name).Status.Conditions
	api.SetCondition(&conditions, metav1.Condition{Type: api.ConditionTypeDrifted, Status: metav1.ConditionTrue,
		Reason: api.ReasonAMIDrift}, time.Now().Add(-time.Minute))
	server.Patch(t, api.NodeClaimsPath+"/"+name+"/status",
		map[string]any{"status": map[string]any{"conditions": conditions}})
}

func TestASingleReplicaIsMovedByARestart(t *testing.T) {
	mayRestart(t)
	w := single(t)
	l := newHarness(t, nil)
	w.await("the node is gone", func() bool {
		l.mustTick(t)
		l.ahead += 5 * time.Second
		w.step()
		return functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/single-000") == nil
	})
	if w.leastReady < 1 {
		t.Error("no pod was ready for a while")
	}
	stored := functiontest.Get[appsv1.Deployment](t, server, deploymentsPath+"/web")
	if stored.Generation != 3 || stored.Spec.Template.Annotations[disruption.RestartedAtAnnotationKey] == "" {
		t.Errorf("generation %d, annotations %v: restarted once?", stored.Generation, stored.Spec.Template.Annotations)
	}
}

// TestReplicasOfOneNodeAreMovedByARestart has a budget that would keep their node for ever.
func TestReplicasOfOneNodeAreMovedByARestart(t *testing.T) {
	mayRestart(t)
	w := whole(t, 2)
	l := newHarness(t, nil)
	w.await("the node is gone", func() bool {
		l.mustTick(t)
		l.ahead += 5 * time.Second
		w.step()
		return functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/single-000") == nil
	})
	if w.leastReady < 2 {
		t.Errorf("at one time %d pods were ready", w.leastReady)
	}
	if stored := functiontest.Get[appsv1.Deployment](t, server, deploymentsPath+"/web"); stored.Generation != 3 {
		t.Errorf("generation %d: restarted once?", stored.Generation)
	}
}

// TestARestartThatDoesNotEndKeepsTheNode has a new pod that never becomes ready.
func TestARestartThatDoesNotEndKeepsTheNode(t *testing.T) {
	mayRestart(t)
	w := single(t)
	l := newHarness(t, nil)
	w.await("the restart is begun", func() bool {
		l.mustTick(t)
		l.ahead += 5 * time.Second
		if readClaim(t, "single-000").Annotations[disruption.RestartingSinceAnnotationKey] != "" {
			return true
		}
		w.step()
		return false
	})
	l.ahead += 11 * time.Minute
	l.mustTick(t)
	claim := readClaim(t, "single-000")
	if claim.DeletionTimestamp != nil || isTainted(t, "single-000") || isBeingReplaced(t, "single-000") ||
		claim.Annotations[disruption.RestartingSinceAnnotationKey] != "" {
		t.Errorf("annotations %v, ending %v, tainted %t", claim.Annotations, claim.DeletionTimestamp,
			isTainted(t, "single-000"))
	}
}

// forbids denies the right to restart Deployments.
type forbids struct{ edge }

func (forbids) DeploymentOf(context.Context, *corev1.Pod) (*appsv1.Deployment, error) {
	return nil, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "web", nil)
}

func TestWithoutTheRightToRestartTheNodeStays(t *testing.T) {
	w := single(t)
	l := newHarness(t, nil)
	client := edge{Client: server.Client(t, nil)}
	l.connect = func(context.Context) (kubernetes, error) { return forbids{client}, nil }
	w.await("it is told", func() bool {
		l.mustTick(t)
		l.ahead += 5 * time.Second
		w.step()
		for _, event := range functiontest.Get[corev1.EventList](t, server,
			functiontest.EventsPath+"?fieldSelector=involvedObject.name=single-000").Items {
			if strings.Contains(event.Message, "kubectl create rolebinding") {
				return true
			}
		}
		return false
	})
	if isEnding(t, "single-000") || isTainted(t, "single-000") || len(w.claims()) != 1 {
		t.Error("the node was disrupted, or another one was launched")
	}
}
