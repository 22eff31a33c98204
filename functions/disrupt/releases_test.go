package disrupt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/release"
)

var oldNodes = []string{"old-a", "old-b", "old-c"}

// outdated has three nodes with pods in the pool "default", which have drifted.
func outdated(t *testing.T) *harness {
	t.Helper()
	pool(t, "100%")
	offers(t)
	initialized(t, oldNodes...)
	for _, name := range oldNodes {
		settle(t, name)
		server.Pod(t, "guest-"+name, "node-"+name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}
		})
		t.Cleanup(func() {
			server.Delete(t, functiontest.PodsPath+"/guest-"+name)
			server.EndPods(t, "node-"+name)
		})
		drift(t, name)
	}
	t.Cleanup(func() { forget(t) })
	return newHarness(t, nil)
}

// replaced are the old nodes that are being replaced or ending.
func replaced(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, name := range oldNodes {
		claim := readClaim(t, name)
		if _, begun := claim.Annotations[disruption.ReplacedByAnnotationKey]; begun || claim.DeletionTimestamp != nil {
			names = append(names, name)
		}
	}
	return names
}

// record is what is remembered of the release of the pool "default".
func record(t *testing.T) release.Record {
	t.Helper()
	records, err := inventory.Releases(t.Context(), server.Everything(t))
	if err != nil {
		t.Fatal(err)
	}
	return records["default"]
}

// boot gives the replacement its instance, as provision does. It does not join.
func boot(t *testing.T, claim *api.NodeClaim) {
	t.Helper()
	conditions := claim.Status.Conditions
	launched := metav1.Condition{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue}
	api.SetCondition(&conditions, launched, time.Now())
	server.Patch(t, api.NodeClaimsPath+"/"+claim.Name, map[string]any{"metadata": map[string]any{
		"labels": map[string]string{corev1.LabelTopologyZone: "us-east-1a"}}})
	server.Patch(t, api.NodeClaimsPath+"/"+claim.Name+"/status", map[string]any{"status": map[string]any{
		"providerID": api.ProviderID("us-east-1a", "i-"+claim.Name), "conditions": conditions}})
}

// beginOne begins the release, and returns the node that goes first and what replaces it.
func (l *harness) beginOne(t *testing.T) (string, *api.NodeClaim) {
	t.Helper()
	for range 2 { // the second pass finds one under way
		l.mustTick(t)
		if names := replaced(t); len(names) != 1 {
			t.Fatalf("%v are replaced", names)
		}
	}
	first := replaced(t)[0]
	boot(t, replacement(t, first))
	return first, replacement(t, first)
}

func TestAnImageThatDoesNotJoinReachesOneNode(t *testing.T) {
	l := outdated(t)
	first, _ := l.beginOne(t)
	began := record(t)
	if began.Release == "" || began.Since.IsZero() || !began.Halted.IsZero() {
		t.Fatalf("%+v", began)
	}
	l.ahead = 9 * time.Minute
	l.mustTick(t)
	if names := replaced(t); len(names) != 1 {
		t.Fatalf("after nine minutes %v are replaced", names)
	}
	l.ahead = 11 * time.Minute
	l.mustTick(t)
	halted := record(t)
	if halted.Halted.IsZero() || !strings.Contains(halted.Why, "it has not joined the cluster within 10m0s") ||
		halted.Since != began.Since {
		t.Fatalf("%+v", halted)
	}
	if len(replaced(t)) != 0 || isTainted(t, first) || replacement(t, first) != nil {
		t.Errorf("%v are replaced, tainted %t, by %v", replaced(t), isTainted(t, first), replacement(t, first))
	}
	if reasons := server.Reasons(t, "default"); !reasons[api.EventReasonReleaseHalted] {
		t.Errorf("events about the pool: %v", reasons)
	}
	// Another container, much later, knows of it.
	l = newHarness(t, nil)
	for _, ahead := range []time.Duration{30 * time.Minute, 25 * time.Hour} {
		l.ahead = ahead
		l.mustTick(t)
		if names := replaced(t); len(names) != 0 || record(t) != halted {
			t.Errorf("%v are replaced, %+v", names, record(t))
		}
	}
	control(t, map[string]string{release.KeyOf("default"): "order: continue\nrelease: " + halted.Release + "\nwho: alice"})
	l.mustTick(t)
	if names := replaced(t); len(names) != 3 {
		t.Errorf("a person continues it, and %v are replaced", names)
	}
}

func TestAGoodImageBakesAndGoesOn(t *testing.T) {
	l := outdated(t)
	first, fresh := l.beginOne(t)
	arrive(t, fresh)
	l.mustTick(t)
	if !isEnding(t, first) {
		t.Fatal("the first node stays")
	}
	l.ahead = 9 * time.Minute
	l.mustTick(t)
	if names := replaced(t); len(names) != 1 {
		t.Fatalf("while it bakes %v are replaced", names)
	}
	l.ahead = 11 * time.Minute
	l.mustTick(t)
	if names := replaced(t); len(names) != 3 {
		t.Errorf("it has baked, and %v are replaced: %+v", names, record(t))
	}
}

func TestPodsThatBreakOnTheFirstNodeHaltTheRelease(t *testing.T) {
	l := outdated(t)
	_, fresh := l.beginOne(t)
	arrive(t, fresh)
	l.mustTick(t)
	server.Pod(t, "moved", "node-"+fresh.Name)
	t.Cleanup(func() { server.Delete(t, functiontest.PodsPath+"/moved"); server.EndPods(t, "node-"+fresh.Name) })
	server.Patch(t, functiontest.PodsPath+"/moved/status", map[string]any{"status": map[string]any{
		"phase": "Running", "containerStatuses": []corev1.ContainerStatus{{Name: "main", RestartCount: 4,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}},
	}})
	l.ahead = 2 * time.Minute
	l.mustTick(t)
	if halted := record(t); !strings.Contains(halted.Why, "its pod default/moved is in CrashLoopBackOff") {
		t.Errorf("%+v", halted)
	}
	l.ahead = 20 * time.Minute
	l.mustTick(t)
	if names := replaced(t); len(names) != 1 {
		t.Errorf("%v are replaced", names)
	}
}

func TestAnAbortThatComesAfterTheDecisionHoldsIt(t *testing.T) {
	l := outdated(t)
	l.use(t, during{beforeCheck: func() { control(t, map[string]string{release.KeyOf("default"): "order: abort"}) }})
	l.mustTick(t)
	for _, name := range oldNodes {
		if isTainted(t, name) || replacement(t, name) != nil {
			t.Errorf("%s: tainted %t, replaced by %v", name, isTainted(t, name), replacement(t, name))
		}
	}
	l.use(t, during{})
	l.mustTick(t)
	if names := replaced(t); len(names) != 0 {
		t.Errorf("%v are replaced", names)
	}
	control(t, map[string]string{release.KeyOf("default"): ""})
	l.mustTick(t)
	if names := replaced(t); len(names) != 1 {
		t.Errorf("without the order %v are replaced", names)
	}
}

func TestAnAbortTakesBackTheFirstNode(t *testing.T) {
	l := outdated(t)
	first, _ := l.beginOne(t)
	control(t, map[string]string{release.KeyOf("default"): "order: abort"})
	l.mustTick(t)
	if len(replaced(t)) != 0 || isTainted(t, first) || replacement(t, first) != nil {
		t.Errorf("%v are replaced, tainted %t, by %v", replaced(t), isTainted(t, first), replacement(t, first))
	}
}

// forgetful cannot write what it has to remember, or cannot read it.
type forgetful struct {
	edge
	unread bool
}

func (f forgetful) Releases(ctx context.Context) (map[string]release.Record, error) {
	if f.unread {
		return nil, errors.New("no answer")
	}
	return f.edge.Releases(ctx)
}

func (forgetful) RememberReleases(context.Context, map[string]release.Record) error {
	return errors.New("no room")
}

func TestNoDriftWithoutAMemory(t *testing.T) {
	l := outdated(t)
	first, fresh := l.beginOne(t)
	arrive(t, fresh)
	for _, unread := range []bool{true, false} {
		l.connect = func(context.Context) (kubernetes, error) {
			return forgetful{edge{Client: server.Client(t, nil)}, unread}, nil
		}
		if err := l.tick(t); err == nil {
			t.Error("the pass returns no error")
		}
		if names := replaced(t); len(names) != 1 || isEnding(t, first) {
			t.Errorf("%v are replaced, and the first ends: %t", names, isEnding(t, first))
		}
		server.Delete(t, releasesPath) // somebody deletes the memory, so that the next pass has to write it
	}
}

func TestABrokenReleaseAnnotationIsNamed(t *testing.T) {
	l := outdated(t)
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{api.ReleaseAnnotationKey: "never"}}})
	l.toReport()
	l.mustTick(t)
	if reasons := server.Reasons(t, "default"); !reasons["DisruptionBlocked"] || len(replaced(t)) != 1 {
		t.Errorf("events %v, %v are replaced", reasons, replaced(t))
	}
}
