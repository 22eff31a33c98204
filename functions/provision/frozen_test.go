package provision

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/sight"
)

// freezes writes freezes into the ConfigMap of the whole cluster until the test is over.
func (e *environment) freezes(freezes ...freeze.Freeze) {
	e.t.Helper()
	data := map[string]string{}
	for i := range freezes {
		data[freeze.KeyOf(freezes[i].Pool)] = freezes[i].Text()
	}
	e.order(data)
}

var alice = freeze.Freeze{Who: "alice", Reason: "INC-12", Launches: true}

func TestAFreezeOfLaunchesLaunchesNothing(t *testing.T) {
	e := newEnvironment(t)
	e.freezes(alice)
	e.pod("one", "1", nil)
	e.pass()
	if claims := e.claims(); len(claims) > 0 {
		t.Fatalf("a frozen cluster has %d claims", len(claims))
	}
	told := strings.Join(e.events("one", "FailedScheduling"), "; ")
	if !strings.Contains(told, "the cluster is frozen by alice until somebody thaws it (INC-12)") {
		t.Errorf("the pod is told %q", told)
	}
	ended := alice
	ended.Until = time.Now().Add(-time.Minute)
	e.freezes(ended)
	e.pass()
	if claims := e.claims(); len(claims) != 1 {
		t.Errorf("after the freeze there are %d claims, want one", len(claims))
	}
}

func TestOnlyAFreezeOfLaunchesHoldsThem(t *testing.T) {
	e := newEnvironment(t)
	e.freezes(freeze.Freeze{Who: "alice"}, freeze.Freeze{Pool: "other", Launches: true},
		freeze.Freeze{Pool: "default", Drains: true})
	e.pod("one", "1", nil)
	e.pass()
	if claims := e.claims(); len(claims) != 1 {
		t.Errorf("%d claims, want one", len(claims))
	}
}

func TestABrokenFreezeHoldsNoLaunchAndIsReported(t *testing.T) {
	e := newEnvironment(t)
	e.order(map[string]string{"freeze": "until: soon"})
	e.pod("one", "1", nil)
	e.pass()
	if claims := e.claims(); len(claims) != 1 {
		t.Errorf("%d claims, want one", len(claims))
	}
	if told := strings.Join(e.events("default", api.EventReasonInvalidClusterOrder), "; "); !strings.Contains(
		told, `the cluster is frozen by an order that cannot be read: data.freeze: until: "soon" is not a time`) {
		t.Errorf("the pool is told %q", told)
	}
}

func TestAFreezeThatComesAfterThePlanHoldsTheClaims(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	handler := e.handler(alive())
	handler.observe = func(*sight.View, *plan.Plan) { e.freezes(alice) }
	if _, err := handler.handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	if claims, instances := e.claims(), e.instances(); len(claims)+len(instances) > 0 {
		t.Errorf("%d claims and %d instances", len(claims), len(instances))
	}
}

func TestAFreezeThatComesAfterTheClaimHoldsTheLaunch(t *testing.T) {
	e := newEnvironment(t)
	e.pod("one", "1", nil)
	handler := e.handler(alive())
	now := handler.now
	var late atomic.Bool // by the second for which a reading counts
	handler.now = func() time.Time {
		if late.Load() {
			return now().Add(inventory.FreezesLast)
		}
		return now()
	}
	handler.connection = fixed{e.connectThrough(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(request)
			if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/nodeclaims") {
				e.freezes(alice)
				late.Store(true)
			}
			return answer, err
		})
	}, "whittle:provision")}
	for range 2 {
		if _, err := handler.handle(t.Context(), tick("1")); err != nil {
			t.Fatal(err)
		}
		if claims, instances := e.claims(), e.instances(); len(claims) != 1 || len(instances) > 0 {
			t.Fatalf("%d claims and %d instances", len(claims), len(instances))
		}
	}
	e.order(nil)
	e.pass()
	if claims, instances := e.claims(), e.instances(); len(claims) != 1 || len(instances) != 1 {
		t.Errorf("after the thaw: %d claims and %d instances", len(claims), len(instances))
	}
}

func TestAFrozenPoolKeepsItsSurplusReplicas(t *testing.T) {
	e := newEnvironment(t)
	e.replicas(static(2, nil))
	e.pass()
	if claims := e.claims(); len(claims) != 2 {
		t.Fatalf("%d claims", len(claims))
	}
	e.freezes(freeze.Freeze{Who: "alice"})
	e.apply(static(1, nil))
	count := func() (left int) {
		for _, claim := range e.claims() {
			if claim.DeletionTimestamp == nil {
				left++
			}
		}
		return left
	}
	e.pass()
	if left := count(); left != 2 {
		t.Errorf("%d replicas are left of a frozen pool", left)
	}
	e.order(nil)
	e.pass()
	if left := count(); left != 1 {
		t.Errorf("%d replicas are left after the thaw", left)
	}
}

// bus keeps the events that are sent to EventBridge.
type bus struct{ sent []string }

func (b *bus) PutEvents(
	_ context.Context, input *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options),
) (*eventbridge.PutEventsOutput, error) {
	for _, entry := range input.Entries {
		b.sent = append(b.sent, *entry.DetailType+": "+*entry.Detail)
	}
	return &eventbridge.PutEventsOutput{}, nil
}

func TestABeginningAndAnEndAreToldOnce(t *testing.T) {
	e := newEnvironment(t)
	e.apply(nodePool("batch", "default", nil))
	sent := &bus{}
	tickOf := func() {
		t.Helper()
		handler := e.handler(alive()) // each tick comes to a new container
		handler.publisher = publish.NewFor(sent, "default", time.Now, func() {})
		if _, err := handler.handle(t.Context(), tick("1")); err != nil {
			t.Fatal(err)
		}
	}
	tickOf()
	if len(sent.sent) > 0 {
		t.Fatalf("nothing is frozen, and %q", sent.sent)
	}
	e.freezes(alice, freeze.Freeze{Pool: "batch", Who: "bob"})
	for range 3 {
		tickOf()
	}
	if all := strings.Join(sent.sent, "\n"); len(sent.sent) != 2 || !strings.Contains(all,
		`Freeze Began: {"version":1,"cluster":"test","who":"alice","reason":"INC-12","launches":true,"drains":false}`) ||
		!strings.Contains(all, `Freeze Began: {"version":1,"cluster":"test","nodePool":"batch","who":"bob"`) {
		t.Errorf("the bus has\n%s", all)
	}
	if told := e.events("default", api.EventReasonFrozen); len(told) != 1 ||
		told[0] != "the cluster is frozen by alice until somebody thaws it (INC-12); it holds disruption, launches" {
		t.Errorf("the pool default is told %q", told)
	}
	if told := e.events("batch", api.EventReasonFrozen); len(told) != 2 {
		t.Errorf("the pool batch is told %q", told)
	}
	e.freezes(freeze.Freeze{Pool: "batch", Who: "bob"})
	for range 2 {
		tickOf()
	}
	const ended = `Freeze Ended: {"version":1,"cluster":"test","who":"alice"`
	if len(sent.sent) != 3 || !strings.HasPrefix(sent.sent[2], ended) {
		t.Errorf("the bus has %q", sent.sent)
	}
	e.order(nil)
	tickOf() // for the tests that follow
	if told := e.events("default", api.EventReasonThawed); len(told) != 1 ||
		!strings.HasPrefix(told[0], "A freeze has ended: the cluster is frozen by alice") {
		t.Errorf("the pool default is told %q", told)
	}
}
