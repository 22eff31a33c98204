package watch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
)

// server is shared by the tests of this package, because a start takes seconds.
var server *functiontest.Cluster

func TestMain(m *testing.M) {
	os.Exit(functiontest.Main(m, "watch", func(c *functiontest.Cluster) { server = c }))
}

// soon bounds the waits for something that a watch does at once. A busy machine takes long.
const soon = time.Minute

// mailbox keeps the messages that were sent.
type mailbox struct {
	mutex sync.Mutex
	sent  map[string][]queue.Message
	fails int // sends that fail before one succeeds
	err   error
}

// refuse makes all further sends fail.
func (m *mailbox) refuse(err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.err = err
}

func (m *mailbox) Send(_ context.Context, url string, messages ...queue.Message) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.fails > 0 {
		m.fails--
		return errors.New("the queue is gone")
	}
	if m.sent == nil {
		m.sent = map[string][]queue.Message{}
	}
	m.sent[url] = append(m.sent[url], messages...)
	return nil
}

// clear forgets the messages.
func (m *mailbox) clear() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.sent = nil
}

func (m *mailbox) has(url string, reason queue.Reason) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.ContainsFunc(m.sent[url], func(message queue.Message) bool {
		return message.Reason == reason && message.Cluster == "test" && message.Hop == 0
	})
}

// eventually waits until the message was sent.
func (m *mailbox) eventually(t *testing.T, url string, reason queue.Reason) {
	t.Helper()
	until(t, func() bool { return m.has(url, reason) }, "no message with the reason "+string(reason)+" to "+url)
}

func until(t *testing.T, done func() bool, otherwise string) {
	t.Helper()
	for deadline := time.Now().Add(soon); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}

// watcher is a handler with its queues and its clock.
type watcher struct {
	*Handler
	mail *mailbox

	mutex   sync.Mutex
	ahead   time.Duration
	standby bool
}

func (w *watcher) clock() time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return time.Now().Add(w.ahead)
}

// later moves the clock.
func (w *watcher) later(by time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.ahead += by
}

func newWatcher(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) *watcher {
	t.Helper()
	client := server.Client(t, wrap)
	w := &watcher{mail: &mailbox{}}
	w.Handler = &Handler{
		cluster: "test", queues: queues{provision: "p", lifecycle: "l", disrupt: "d"}, sender: w.mail, now: w.clock,
		settings: reaction.Settings{Function: "watch", Mode: reaction.Adaptive, QuietAfter: time.Hour},
		connect:  func(context.Context) (*cluster.Client, error) { return client, nil },
		isStandby: func(context.Context) (bool, error) {
			w.mutex.Lock()
			defer w.mutex.Unlock()
			return w.standby, nil
		},
		succeed: func(context.Context, string) error { return nil },
	}
	return w
}

// begin starts a watch with the time that an invocation has, and returns when it watches. Done is
// closed at its end.
func (w *watcher) begin(t *testing.T, lasts time.Duration, request reaction.Request) (done chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	done = make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		if _, err := w.handle(ctx, request); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	w.mail.eventually(t, "l", queue.ReasonTick) // the first wake
	w.mail.eventually(t, "p", queue.ReasonChange)
	w.mail.clear()
	return done
}

func ended(t *testing.T, done chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatal("the watch goes on")
	}
}

func TestChangesWakeFunctions(t *testing.T) {
	w := newWatcher(t, nil)
	w.begin(t, 10*time.Minute, reaction.Request{})

	pod := functiontest.Create(t, server, functiontest.PodsPath, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"no": "such-node"}, Containers: []corev1.Container{{Name: "main", Image: "image"}},
		},
	})
	w.mail.eventually(t, "p", queue.ReasonChange)
	server.Delete(t, functiontest.PodsPath+"/"+pod.Name+"?gracePeriodSeconds=0")

	w.mail.clear()
	server.Node(t, "joins", "i-joins")
	w.mail.eventually(t, "l", queue.ReasonChange)
	w.mail.clear()
	server.Patch(t, functiontest.NodesPath+"/joins", map[string]any{"metadata": map[string]any{
		"labels":     map[string]string{api.NodeInitializedLabelKey: "true"},
		"finalizers": []string{api.TerminationFinalizer},
	}})
	server.Delete(t, functiontest.NodesPath+"/joins")
	w.mail.eventually(t, "l", queue.ReasonTick)
	server.Patch(t, functiontest.NodesPath+"/joins", map[string]any{"metadata": map[string]any{"finalizers": nil}})

	w.mail.clear()
	server.Claim(t, "by-hand", "")
	w.mail.eventually(t, "p", queue.ReasonInterruption)
	w.mail.clear()
	server.Delete(t, api.NodeClaimsPath+"/by-hand")
	w.mail.eventually(t, "l", queue.ReasonChange)
	server.Patch(t, api.NodeClaimsPath+"/by-hand", map[string]any{"metadata": map[string]any{"finalizers": nil}})
}

func TestOneWatchRuns(t *testing.T) {
	first, second := newWatcher(t, nil), newWatcher(t, nil)
	done := first.begin(t, 10*time.Minute, reaction.Request{})
	if _, err := second.handle(t.Context(), reaction.Request{}); err != nil {
		t.Fatal(err)
	}
	if len(second.mail.sent) > 0 {
		t.Errorf("the second watch sent %v", second.mail.sent)
	}
	// A request that names another predecessor comes late, and ends nothing.
	if _, err := second.handle(t.Context(), reaction.Request{Predecessor: "somebody"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
		t.Error("the first watch ended")
	default:
	}
}

// A watch whose time is nearly up invokes its successor. The successor watches before the
// predecessor ends.
func TestAWatchHandsOver(t *testing.T) {
	first, second := newWatcher(t, nil), newWatcher(t, nil)
	var next sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer next.Wait()
	defer cancel()
	var once sync.Once
	first.succeed = func(_ context.Context, holder string) error {
		once.Do(func() {
			next.Go(func() {
				if _, err := second.handle(ctx, reaction.Request{Predecessor: holder}); err != nil {
					t.Error(err)
				}
			})
		})
		return nil
	}
	done := first.begin(t, handOver, reaction.Request{})
	ended(t, done)
	if !second.mail.has("l", queue.ReasonTick) {
		second.mail.eventually(t, "l", queue.ReasonTick)
	}
	second.mail.clear()
	server.Node(t, "joins-the-second", "i-second")
	second.mail.eventually(t, "l", queue.ReasonChange)
	server.Delete(t, functiontest.NodesPath+"/joins-the-second")
}

func TestADeadWatchKeepsNobodyAway(t *testing.T) {
	dead, next := newWatcher(t, nil), newWatcher(t, nil)
	client, err := dead.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	lease, err := client.AcquireLease(t.Context(), reaction.LeaseName, "dead", now, now.Add(leaseFor))
	if err != nil || lease == nil {
		t.Fatalf("%v, %v", lease, err)
	}
	if _, err := next.handle(t.Context(), reaction.Request{}); err != nil || len(next.mail.sent) > 0 {
		t.Fatalf("beside the other: %v, sent %v", err, next.mail.sent)
	}
	next.later(leaseFor + 7*time.Second)
	next.begin(t, 10*time.Minute, reaction.Request{})
}

func TestAWatchEndsWithoutWork(t *testing.T) {
	w := newWatcher(t, nil)
	done := w.begin(t, 10*time.Minute, reaction.Request{})
	w.later(59 * time.Minute)
	server.Node(t, "keeps-it", "i-keeps") // work, for which the watch goes on
	w.mail.eventually(t, "l", queue.ReasonChange)
	server.Delete(t, functiontest.NodesPath+"/keeps-it")
	w.later(2 * time.Minute)
	select {
	case <-done:
		t.Fatal("the watch ended during work")
	case <-time.After(2 * renewEvery):
	}
	w.later(time.Hour)
	ended(t, done)
	client, err := w.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if held, err := client.LeaseHeld(t.Context(), reaction.LeaseName, time.Now()); err != nil || held {
		t.Errorf("after its end somebody has the Lease: %t, %v", held, err)
	}
}

func TestAWatchEndsWhenKarpenterLeads(t *testing.T) {
	w := newWatcher(t, nil)
	done := w.begin(t, 10*time.Minute, reaction.Request{})
	w.mutex.Lock()
	w.standby = true
	w.mutex.Unlock()
	w.later(askEvery)
	ended(t, done)
}

func TestAnAlwaysRunningWatchEndsForNoQuiet(t *testing.T) {
	w := newWatcher(t, nil)
	w.settings.Mode = reaction.Always
	done := w.begin(t, 10*time.Minute, reaction.Request{})
	w.later(10 * time.Hour)
	select {
	case <-done:
		t.Error("the watch ended")
	case <-time.After(renewEvery + time.Second):
	}
}

func TestAWakeThatFailsIsSentAgain(t *testing.T) {
	w := newWatcher(t, nil)
	w.mail.fails = 2
	w.begin(t, 10*time.Minute, reaction.Request{}) // waits for both first wakes
}

func TestAWatchWithoutRightsEnds(t *testing.T) {
	w := newWatcher(t, nil)
	done := w.begin(t, 10*time.Minute, reaction.Request{})
	w.mail.refuse(&smithy.GenericAPIError{Code: "AccessDenied"})
	server.Node(t, "too-late", "i-late")
	ended(t, done)
	server.Delete(t, functiontest.NodesPath+"/too-late")
}

// forbidding refuses every write after it was told to, as after the removal of the function's rights.
type forbidding struct {
	next http.RoundTripper
	on   *atomic.Bool
}

func (f forbidding) RoundTrip(request *http.Request) (*http.Response, error) {
	if !f.on.Load() || request.Method != http.MethodPut {
		return f.next.RoundTrip(request)
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func TestAWatchThatMayNotRenewItsLeaseEnds(t *testing.T) {
	var on atomic.Bool
	w := newWatcher(t, func(next http.RoundTripper) http.RoundTripper { return forbidding{next, &on} })
	done := w.begin(t, 10*time.Minute, reaction.Request{})
	on.Store(true)
	ended(t, done)
	on.Store(false)
	client, err := w.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The next test must not wait for the end of the Lease.
	now := time.Now().Add(time.Minute)
	lease, err := client.AcquireLease(t.Context(), reaction.LeaseName, "cleaner", now, now)
	if err != nil || lease == nil {
		t.Fatalf("%v, %v", lease, err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// expiring answers some watches as an API server does that no longer knows their versions.
type expiring struct {
	next  http.RoundTripper
	mutex sync.Mutex
	left  int
}

func (e *expiring) RoundTrip(request *http.Request) (*http.Response, error) {
	e.mutex.Lock()
	if request.URL.Query().Get("watch") == "true" && e.left > 0 {
		e.left--
		query := request.URL.Query()
		query.Set("resourceVersion", "1") // compacted long ago
		request = request.Clone(request.Context())
		request.URL.RawQuery = query.Encode()
	}
	e.mutex.Unlock()
	return e.next.RoundTrip(request)
}

func TestAWatchThatTheServerForgotBeginsAnew(t *testing.T) {
	const sources = 6
	w := newWatcher(t, func(next http.RoundTripper) http.RoundTripper { return &expiring{next: next, left: sources} })
	w.begin(t, 10*time.Minute, reaction.Request{})
	server.Node(t, "after-all", "i-after")
	w.mail.eventually(t, "l", queue.ReasonChange)
	server.Delete(t, functiontest.NodesPath+"/after-all")
}

// breaking ends the body of each watch after a while, as a proxy or a dying API server does.
type breaking struct{ next http.RoundTripper }

func (b breaking) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") != "true" {
		return b.next.RoundTrip(request)
	}
	ctx, cancel := context.WithTimeout(request.Context(), 300*time.Millisecond)
	context.AfterFunc(ctx, cancel)
	return b.next.RoundTrip(request.WithContext(ctx))
}

func TestABrokenWatchMissesNothing(t *testing.T) {
	w := newWatcher(t, func(next http.RoundTripper) http.RoundTripper { return breaking{next} })
	w.begin(t, 10*time.Minute, reaction.Request{})
	for _, name := range []string{"one", "two", "three"} {
		time.Sleep(700 * time.Millisecond) // between two watches or within one
		w.mail.clear()
		server.Node(t, "breaks-"+name, "i-"+name)
		w.mail.eventually(t, "l", queue.ReasonChange)
		server.Delete(t, functiontest.NodesPath+"/breaks-"+name)
	}
}
