package lifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/queue"
)

// drainsOnce reports whether a pass has evicted the pod.
func (l *life) drainsOnce(t *testing.T, pod string, wake queue.Message) bool {
	t.Helper()
	if _, err := l.handle(t.Context(), wakes(t, wake)); err != nil {
		t.Fatal(err)
	}
	stored := functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/"+pod)
	return stored == nil || stored.DeletionTimestamp != nil
}

// leaving creates a node with a pod and deletes its claim.
func (l *life) leaving(t *testing.T, name string) {
	t.Helper()
	l.join(t, name)
	server.Pod(t, "on-"+name, "node-"+name)
	server.Delete(t, api.NodeClaimsPath+"/"+name)
	delete(l.mail.sent, "l")
}

// leave brings the claim to its end.
func (l *life) leave(t *testing.T, name string) {
	t.Helper()
	l.until(t, "node-"+name, func() bool { return readClaim(t, name) == nil })
}

func (l *life) interruption(hop int) queue.Message {
	return queue.Message{Cluster: "test", At: l.now(), Reason: queue.ReasonInterruption, Hop: hop}
}

func TestAPassThatMeetsAnotherTriesLater(t *testing.T) {
	l := newLife(t)
	l.leaving(t, "met")
	other, err := server.Client(t, nil).AcquireLease(t.Context(), leaseName, "another", l.now(), l.now().Add(leaseFor))
	if err != nil || other == nil {
		t.Fatalf("the other's lease is %v, %v", other, err)
	}
	for _, hop := range []int{0, 3, queue.MaximumHops} {
		l.asked = queue.Asked{} // another container
		delete(l.mail.sent, "l")
		if l.drainsOnce(t, "on-met", l.interruption(hop)) {
			t.Fatal("it worked beside the other")
		}
		sent := l.mail.sent["l"]
		if hop == queue.MaximumHops {
			if len(sent) != 0 {
				t.Errorf("the last of a chain sent %+v", sent)
			}
			continue
		}
		if len(sent) != 1 || sent[0].Hop != hop+1 || sent[0].Reason != queue.ReasonInterruption {
			t.Fatalf("hop %d: sent %+v", hop, sent)
		}
		if wait := sent[0].At.Sub(l.now()); wait <= 0 || wait > time.Duration(hop+1)*leasePause {
			t.Errorf("hop %d: looks again in %s", hop, wait)
		}
	}
	// The other pass has died. Its Lease ends long before EC2 takes the instance.
	l.clock.ahead += leaseFor + 7*time.Second
	if !l.drainsOnce(t, "on-met", l.interruption(1)) {
		t.Error("the pod stays though the other's time is over")
	}
	// The pass releases the Lease, so that another one need not wait.
	next, err := server.Client(t, nil).AcquireLease(t.Context(), leaseName, "next", l.now(), l.now().Add(leaseFor))
	if err != nil || next == nil {
		t.Fatalf("after the pass the lease is %v, %v", next, err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
	l.leave(t, "met")
}

// A tick that meets another pass does the work of ticks, and asks for a pass over the drains.
func TestATickThatMeetsAnotherLeavesItTheDrains(t *testing.T) {
	l := newLife(t)
	l.leaving(t, "ticked")
	l.ec2.launch("i-beside-it", map[string]string{api.NodeClaimTagKey: "beside-it"})
	server.Claim(t, "beside-it", "i-beside-it")
	server.Node(t, "node-beside-it", "i-beside-it")
	server.Settle(t, "node-beside-it")
	other, err := server.Client(t, nil).AcquireLease(t.Context(), leaseName, "another", l.now(), l.now().Add(leaseFor))
	if err != nil || other == nil {
		t.Fatalf("the other's lease is %v, %v", other, err)
	}
	l.asked = queue.Asked{} // another container
	if l.drainsOnce(t, "on-ticked", l.tick()) {
		t.Error("the tick drained beside the other")
	}
	if readClaim(t, "beside-it").Status.NodeName == "" {
		t.Error("the tick waited for the other with a node that joins")
	}
	if sent := l.mail.sent["l"]; len(sent) != 1 || sent[0].Reason != queue.ReasonContinue ||
		sent[0].At.Sub(l.now()) > 2*afterConflict {
		t.Errorf("for the drains was sent %+v", sent)
	}
	if err := other.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if !l.drainsOnce(t, "on-ticked", l.tick()) {
		t.Error("a tick that meets nobody does not drain")
	}
	l.leave(t, "ticked")
	server.Delete(t, api.NodeClaimsPath+"/beside-it")
	l.leave(t, "beside-it")
}

// The pass that a tick meets may die during its drains. The pass that the tick asks for continues
// them.
func TestWhatATickLeavesIsDrainedWhenTheOtherHasDied(t *testing.T) {
	l := newLife(t)
	l.leaving(t, "orphaned")
	if _, err := server.Client(t, nil).AcquireLease(t.Context(), leaseName, "dead", l.now(),
		l.now().Add(leaseFor)); err != nil {
		t.Fatal(err)
	}
	l.asked = queue.Asked{} // another container
	next := l.tick()
	for range queue.MaximumHops {
		if l.drainsOnce(t, "on-orphaned", next) {
			l.leave(t, "orphaned")
			return
		}
		sent := l.mail.sent["l"]
		delete(l.mail.sent, "l")
		if len(sent) != 1 {
			t.Fatalf("after %s sent %+v", next.Reason, sent)
		}
		next = sent[0]
		l.clock.ahead += max(next.At.Sub(l.now()), 0)
	}
	t.Error("the pod stays though the other's time is over")
}
