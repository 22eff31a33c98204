package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
)

// waiting creates a pod that its scheduler has found no node for. No scheduler runs for it, so that
// its nomination stays.
func waiting(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod := server.Pod(t, name, "", func(pod *corev1.Pod) { pod.Spec.SchedulerName = "nobody" })
	server.Patch(t, functiontest.PodsPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"phase": "Pending", "startTime": nil, "conditions": []map[string]any{
			{"type": "PodScheduled", "status": "False", "reason": corev1.PodReasonUnschedulable},
		},
	}})
	return pod
}

// launchFor creates the claim of the name for the pods, and lets its node join.
func (l *life) launchFor(t *testing.T, name string, pods ...*corev1.Pod) {
	t.Helper()
	l.ec2.launch("i-"+name, map[string]string{api.NodeClaimTagKey: name})
	var uids []string
	for _, pod := range pods {
		uids = append(uids, string(pod.UID))
	}
	server.Claim(t, name, "i-"+name, func(claim *api.NodeClaim) {
		claim.Annotations = map[string]string{api.NominatedPodsAnnotationKey: strings.Join(uids, ",")}
	})
	server.Node(t, "node-"+name, "i-"+name)
}

// look is a tick's pass, which needs no Lease. It returns an error where tickOnce fails.
func (l *life) look(t *testing.T) error {
	t.Helper()
	_, err := l.handle(t.Context(), wakes(t, l.tick()))
	return err
}

func nominationOf(t *testing.T, name string) string {
	t.Helper()
	return functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/"+name).Status.NominatedNodeName
}

func expectNominations(t *testing.T, want map[string]string) {
	t.Helper()
	for pod, node := range want {
		if got := nominationOf(t, pod); got != node {
			t.Errorf("pod %s is nominated for %q, not for %q", pod, got, node)
		}
	}
}

func isRegistered(t *testing.T, node string) bool {
	t.Helper()
	return readNode(t, node).Labels[api.NodeRegisteredLabelKey] == "true"
}

func TestPodsAreNominatedForTheNodeOfTheirPlan(t *testing.T) {
	l := newLife(t)
	mine, elsewhere, again, other := waiting(t, "mine"), waiting(t, "elsewhere"), waiting(t, "again"), waiting(t, "other")
	preempt := map[string]any{"status": map[string]any{"nominatedNodeName": "full"}}
	server.Patch(t, functiontest.PodsPath+"/"+elsewhere.Name+"/status", preempt)
	l.launchFor(t, "plan", mine, elsewhere, again)
	server.Claim(t, "replan", "", func(claim *api.NodeClaim) { // a later plan, whose node has not joined
		claim.Annotations = map[string]string{api.NominatedPodsAnnotationKey: string(again.UID)}
	})
	want := map[string]string{mine.Name: "node-plan", elsewhere.Name: "full", again.Name: "", other.Name: ""}
	for range 2 { // a pass that runs twice changes nothing
		if err := l.look(t); err != nil {
			t.Fatal(err)
		}
		expectNominations(t, want)
	}
	if !isRegistered(t, "node-plan") {
		t.Error("the node is not registered")
	}
}

// TestNominationsOfAPassThatDies cuts passes off after each of their writes. The next pass nominates
// the pods that are left, before the node takes any.
func TestNominationsOfAPassThatDies(t *testing.T) {
	for writes := 0; ; writes++ {
		l := newLife(t)
		name := fmt.Sprintf("dies-%d", writes)
		pods := []*corev1.Pod{waiting(t, name+"-a"), waiting(t, name+"-b")}
		l.launchFor(t, name, pods...)
		cut := functiontest.After(writes)
		whole := l.connect
		l.connectTo(server.Client(t, cut.Wrap).Consistent())
		_ = l.look(t) // an invocation that dies returns nothing
		l.connect = whole
		l.until(t, "node-"+name, func() bool { return isRegistered(t, "node-"+name) })
		expectNominations(t, map[string]string{pods[0].Name: "node-" + name, pods[1].Name: "node-" + name})
		if !cut.Over() {
			return
		}
		if writes > 20 {
			t.Fatal("a pass makes more than 20 writes")
		}
	}
}

// TestNominationsBesideAnotherPass lets two ticks work at the same time, which no Lease separates.
func TestNominationsBesideAnotherPass(t *testing.T) {
	l := newLife(t)
	var pods []*corev1.Pod
	want := map[string]string{}
	for i := range 20 {
		pods = append(pods, waiting(t, fmt.Sprintf("beside-%d", i)))
		want[pods[i].Name] = "node-beside"
	}
	l.launchFor(t, "beside", pods...)
	var both sync.WaitGroup
	for range 2 {
		other := newLife(t)
		other.ec2 = l.ec2
		other.fleet = l.ec2
		both.Go(func() { _, _ = other.handle(t.Context(), wakes(t, other.tick())) }) // conflicts are no errors to count
	}
	both.Wait()
	expectNominations(t, want)
}

// TestANodeJoinsWithoutNominations refuses the calls that nominations need.
func TestANodeJoinsWithoutNominations(t *testing.T) {
	for name, refused := range map[string]func(*http.Request) bool{
		"list": func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "status.phase")
		},
		"patch": func(r *http.Request) bool {
			return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/pods/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			pod := waiting(t, "refused-"+name)
			l.launchFor(t, "refused-"+name, pod)
			calls := 0
			l.connectTo(server.Client(t, func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(request *http.Request) (*http.Response, error) {
					if refused(request) {
						calls++
						return nil, errors.New("refused")
					}
					return next.RoundTrip(request)
				})
			}).Consistent())
			if err := l.look(t); err != nil {
				t.Fatal(err)
			}
			if calls == 0 || !isRegistered(t, "node-refused-"+name) {
				t.Errorf("after %d refused calls, registered is %t", calls, isRegistered(t, "node-refused-"+name))
			}
			expectNominations(t, map[string]string{pod.Name: ""})
		})
	}
}

// TestALateNominationChangesNothing nominates by a reading after which the pod has changed.
func TestALateNominationChangesNothing(t *testing.T) {
	l := newLife(t)
	client, err := l.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*corev1.Pod){
		"preempting": func(pod *corev1.Pod) {
			server.Patch(t, functiontest.PodsPath+"/"+pod.Name+"/status",
				map[string]any{"status": map[string]any{"nominatedNodeName": "full"}})
		},
		"recreated": func(pod *corev1.Pod) {
			server.Delete(t, functiontest.PodsPath+"/"+pod.Name+"?gracePeriodSeconds=0")
			waiting(t, pod.Name)
		},
		"deleted": func(pod *corev1.Pod) { server.Delete(t, functiontest.PodsPath+"/"+pod.Name+"?gracePeriodSeconds=0") },
	} {
		t.Run(name, func(t *testing.T) {
			pod := waiting(t, "late-"+name)
			read := functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/"+pod.Name)
			change(read)
			if err := client.Nominate(context.WithoutCancel(t.Context()), read, "node"); err == nil {
				t.Error("the nomination is written")
			}
			if now := functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/"+pod.Name); now != nil &&
				now.Status.NominatedNodeName == "node" {
				t.Error("the pod is nominated")
			}
		})
	}
}
