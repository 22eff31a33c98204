package lifecycle

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/queue"
)

func (l *life) goOn(hop int) queue.Message {
	return queue.Message{Cluster: "test", At: l.now(), Reason: queue.ReasonContinue, Hop: hop}
}

func TestChains(t *testing.T) {
	tests := []struct {
		name     string
		inFlight bool
		batch    func(*life) []queue.Message
		hop      int // of the message that is sent; -1 for none
	}{
		{"a pass with nothing in flight sends nothing", false,
			func(l *life) []queue.Message { return []queue.Message{l.tick()} }, -1},
		{"a tick with something in flight begins a chain", true,
			func(l *life) []queue.Message { return []queue.Message{l.tick()} }, 1},
		{"a chain goes on", true, func(l *life) []queue.Message { return []queue.Message{l.goOn(4)} }, 5},
		{"a chain ends", true, func(l *life) []queue.Message { return []queue.Message{l.goOn(queue.MaximumHops)} }, -1},
		{"chains that meet become one", true, func(l *life) []queue.Message {
			return []queue.Message{l.goOn(4), l.goOn(2),
				l.goOn(7)}
		}, 3},
		{"a chain that meets a tick starts again", true, func(l *life) []queue.Message {
			return []queue.Message{l.goOn(4),
				l.tick(), l.goOn(7)}
		}, 1},
		{"a stale tick is dropped", true, func(l *life) []queue.Message {
			stale := l.tick()
			stale.At = stale.At.Add(-2 * time.Minute)
			return []queue.Message{stale}
		}, -1},
		{"a hop below zero is harmless", true,
			func(l *life) []queue.Message { return []queue.Message{l.goOn(-3)} }, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.inFlight {
				server.Claim(t, "chain", "")
			}
			l := newLife(t)
			response, err := l.handle(t.Context(), wakes(t, test.batch(l)...))
			if err != nil || len(response.BatchItemFailures) != 0 {
				t.Fatal(response, err)
			}
			sent := l.mail.sent["l"]
			if test.hop == -1 {
				if len(sent) != 0 {
					t.Errorf("sent %+v", sent)
				}
				return
			}
			if len(sent) != 1 || sent[0].Hop != test.hop || sent[0].Cluster != "test" || sent[0].Reason != queue.ReasonContinue {
				t.Fatalf("sent %+v, want one with hop %d", sent, test.hop)
			}
			if wait := sent[0].At.Sub(l.now()); wait < time.Second || wait > 20*time.Second {
				t.Errorf("due in %s", wait)
			}
		})
	}
}

func TestChainsBesideEachOtherBecomeOne(t *testing.T) {
	server.Claim(t, "beside", "")
	l := newLife(t)
	start := l.now()
	l.Handler.now = func() time.Time { return start.Add(l.clock.ahead) }
	for _, step := range []struct {
		wake  queue.Message
		after time.Duration // since the step before
		sends int           // messages in all
		why   string
	}{
		{l.goOn(3), 0, 1, "the first asks"},
		{l.goOn(5), 0, 1, "one that would end sooner leaves it to the first"},
		{l.goOn(0), 0, 2, "a new one asks: it may go on for longer"},
		{l.goOn(4), time.Second, 2, "the first one's message finds that the new one goes on"},
		{l.goOn(1), 3 * time.Second, 3, "the new one's message asks again"},
	} {
		l.clock.ahead += step.after
		if _, err := l.handle(t.Context(), wakes(t, step.wake)); err != nil {
			t.Fatal(err)
		}
		if len(l.mail.sent["l"]) != step.sends {
			t.Fatalf("%s: sent %+v", step.why, l.mail.sent["l"])
		}
	}
}

func TestAChainLastsUntilTheNextTick(t *testing.T) {
	var total time.Duration
	for hop := range queue.MaximumHops {
		total += pauseAfter(queue.Message{Hop: hop})
	}
	if total < 55*time.Second || total > 65*time.Second {
		t.Errorf("a chain lasts %s", total)
	}
}

// TestStandbyLooksAgain holds that a node that joins during standby is found soon after it, not by
// the tick of the next minute.
func TestStandbyLooksAgain(t *testing.T) {
	server.Claim(t, "aside", "")
	l := newLife(t)
	l.connect = func(context.Context) (kubernetes, error) {
		t.Error("standby reads the cluster")
		return nil, errors.New("standby")
	}
	next, chain := l.tick(), time.Duration(0)
	for range queue.MaximumHops {
		l.asked = queue.Asked{} // another container
		delete(l.mail.sent, "l")
		if response, err := l.aside(t.Context(), wakes(t, next)); err != nil || len(response.BatchItemFailures) != 0 {
			t.Fatal(response, err)
		}
		sent := l.mail.sent["l"]
		if len(sent) != 1 || sent[0].Hop != next.Hop+1 {
			t.Fatalf("after hop %d sent %+v", next.Hop, sent)
		}
		if wait := sent[0].At.Sub(l.now()); wait <= 0 || wait > 15*time.Second {
			t.Errorf("after hop %d looks again in %s", next.Hop, wait)
		}
		chain += sent[0].At.Sub(l.now())
		next = sent[0]
	}
	if chain < 55*time.Second {
		t.Errorf("looks for %s, not until the next tick", chain)
	}
	delete(l.mail.sent, "l")
	if _, err := l.aside(t.Context(), wakes(t, next)); err != nil || len(l.mail.sent["l"]) != 0 {
		t.Errorf("the end of the chain sent %+v, %v", l.mail.sent["l"], err)
	}
}

// TestMessagesToProvisionContinueTheChain holds that lifecycle and provision wake each other a
// limited number of times.
func TestMessagesToProvisionContinueTheChain(t *testing.T) {
	for hop, want := range map[int]int{0: 1, 4: 5, queue.MaximumHops: -1} {
		l := newLife(t)
		if err := l.rearm(t.Context(), l.goOn(hop), result{wantsCapacity: true, again: time.Second}); err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"p", "l"} {
			sent := l.mail.sent[url]
			if want < 0 && len(sent) > 0 || want >= 0 && (len(sent) != 1 || sent[0].Hop != want) {
				t.Errorf("hop %d: %s was sent %+v", hop, url, sent)
			}
		}
	}
}

func TestAMessageThatCannotBeReadKeepsNoOtherWaiting(t *testing.T) {
	server.Claim(t, "readable", "")
	l := newLife(t)
	batch := wakes(t, l.tick())
	batch.Records = append(batch.Records, events.SQSMessage{MessageId: "bad", Body: "{"},
		events.SQSMessage{MessageId: "nameless", Body: "{}"})
	response, err := l.handle(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if failed := response.BatchItemFailures; len(failed) != 2 || failed[0].ItemIdentifier != "bad" ||
		failed[1].ItemIdentifier != "nameless" {
		t.Errorf("failed %+v", failed)
	}
	if len(l.mail.sent["l"]) != 1 {
		t.Error("the readable message was not acted on")
	}
}

func TestAFailedPassReturnsItsError(t *testing.T) {
	t.Run("without a cluster", func(t *testing.T) {
		l := newLife(t)
		l.connect = func(context.Context) (kubernetes, error) { return nil, errors.New("no endpoint") }
		if _, err := l.handle(t.Context(), wakes(t, l.tick())); err == nil {
			t.Error("no error")
		}
	})
	t.Run("without a queue", func(t *testing.T) {
		server.Claim(t, "mute", "")
		l := newLife(t)
		l.mail.refuse = "l"
		if _, err := l.handle(t.Context(), wakes(t, l.tick())); err == nil {
			t.Error("no error")
		}
	})
	t.Run("without EC2 a node waits for its registration, and the error comes back", func(t *testing.T) {
		l := newLife(t)
		l.ec2.refuse = errors.New("RequestLimitExceeded")
		server.Claim(t, "throttled", "i-throttled")
		server.Node(t, "node-throttled", "i-throttled")
		server.Settle(t, "node-throttled")
		if _, err := l.handle(t.Context(), wakes(t, l.tick())); !errors.Is(err, l.ec2.refuse) {
			t.Errorf("error %v", err)
		}
		if name := readClaim(t, "throttled").Status.NodeName; name != "" {
			t.Errorf("%s is registered, though EC2 has not told whose name that is", name)
		}
		l.ec2.refuse = nil
		l.ec2.launch("i-throttled", nil)
		l.until(t, "node-throttled", func() bool { return isReady(t, "throttled") })
		server.Delete(t, api.NodeClaimsPath+"/throttled")
		l.until(t, "node-throttled", func() bool { return readClaim(t, "throttled") == nil })
	})
}

func TestGarbageIsCollected(t *testing.T) {
	l := newLife(t)
	l.ec2.launch("i-stray", map[string]string{api.NodeClaimTagKey: "long-gone"})
	server.Node(t, "node-stray", "i-stray")
	l.until(t, "node-stray", func() bool { return readNode(t, "node-stray") == nil })
	if len(l.ec2.running()) != 0 {
		t.Errorf("running %v", l.ec2.running())
	}

	// A claim whose instance somebody else terminated, with a node that is not ready.
	l.ec2.launch("i-lost", map[string]string{api.NodeClaimTagKey: "lost"})
	server.Claim(t, "lost", "i-lost")
	server.Node(t, "node-lost", "i-lost")
	l.until(t, "node-lost", func() bool { return isReady(t, "lost") })
	l.ec2.instances = nil
	server.Patch(t, functiontest.NodesPath+"/node-lost/status", map[string]any{"status": map[string]any{
		"conditions": []map[string]any{{"type": "Ready", "status": "Unknown"}},
	}})
	l.clock.ahead += time.Hour
	l.until(t, "node-lost", func() bool { return readClaim(t, "lost") == nil && readNode(t, "node-lost") == nil })
}

func TestAPoolShowsItsNodesAndWhetherItMayLaunch(t *testing.T) {
	l := newLife(t)
	pool := &api.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind,
		Name: "default"}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{{Key: "kubernetes.io/arch",
		Operator: "In", Values: []string{"amd64"}}}
	pool.Default()
	functiontest.Create(t, server, api.NodePoolsPath, pool)
	t.Cleanup(func() { server.Delete(t, api.NodePoolsPath+"/default") })
	server.Claim(t, "counted", "i-counted")
	l.ec2.launch("i-counted", map[string]string{api.NodeClaimTagKey: "counted"})
	t.Cleanup(func() {
		server.Delete(t, api.NodeClaimsPath+"/counted")
		server.Patch(t, api.NodeClaimsPath+"/counted", map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
	})

	l.until(t, "none", func() bool {
		pool = functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/default")
		return api.GetCondition(pool.Status.Conditions, api.ConditionReady) != nil
	})
	if pool.Status.Nodes == nil || *pool.Status.Nodes != 1 {
		t.Errorf("nodes %v", pool.Status.Nodes)
	}
	class := api.GetCondition(pool.Status.Conditions, api.ConditionTypeNodeClassReady)
	if class.Status != metav1.ConditionFalse || class.Reason != api.ReasonNodeClassNotFound ||
		api.ConditionTrue(pool.Status.Conditions, api.ConditionReady) {
		t.Errorf("conditions %+v", pool.Status.Conditions)
	}
	version := pool.ResourceVersion
	if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
		t.Fatal(err)
	}
	if pool = functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/default"); pool.ResourceVersion != version {
		t.Error("a status that is up to date was written again")
	}
}
