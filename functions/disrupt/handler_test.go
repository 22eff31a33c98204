package disrupt

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
)

// server is shared by the tests of this package, because a start takes seconds.
var server *functiontest.Cluster

func TestMain(m *testing.M) {
	os.Exit(functiontest.Main(m, "disrupt", func(c *functiontest.Cluster) { server = c }))
}

// mailbox keeps the messages that are sent.
type mailbox struct {
	mutex  sync.Mutex
	sent   map[string][]queue.Message
	refuse string
}

func (m *mailbox) Send(_ context.Context, url string, messages ...queue.Message) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if url == m.refuse {
		return errors.New("queue is gone")
	}
	if m.sent == nil {
		m.sent = map[string][]queue.Message{}
	}
	m.sent[url] = append(m.sent[url], messages...)
	return nil
}

// harness is a handler with its clock and its queues.
type harness struct {
	*Handler
	mail  *mailbox
	ahead time.Duration // of the clock
}

func newHarness(t *testing.T, cut *functiontest.Cut) *harness {
	t.Helper()
	var wrap func(http.RoundTripper) http.RoundTripper
	if cut != nil {
		wrap = cut.Wrap
	}
	client := server.Client(t, wrap)
	l := &harness{mail: &mailbox{}}
	l.Handler = &Handler{
		cluster: "test", disrupt: "d", lifecycle: "l", provision: "p", sender: l.mail,
		now:     func() time.Time { return time.Now().Add(l.ahead) },
		connect: func(context.Context) (kubernetes, error) { return edge{Client: client}, nil },
	}
	return l
}

// tick handles the message of a tick.
func (l *harness) tick(t *testing.T) error {
	t.Helper()
	server.CatchUp(t)
	body, err := json.Marshal(queue.Message{Cluster: "test", At: l.now(), Reason: queue.ReasonTick})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "tick", Body: string(body)}}})
	return err
}

// mustTick handles the message of a tick. Before a test has written a catalogue, consolidation fails
// in some seconds of each minute.
func (l *harness) mustTick(t *testing.T) {
	t.Helper()
	if err := l.tick(t); err != nil && !errors.Is(err, inventory.ErrNoCatalog) {
		t.Fatal(err)
	}
}

// pool creates the pool "default" until the test is over.
func pool(t *testing.T, nodes string) {
	t.Helper()
	made := &api.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	made.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind,
		Name: "default"}
	made.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{}
	made.Spec.Disruption.Budgets = []api.Budget{{Nodes: nodes}}
	made.Default()
	functiontest.Create(t, server, api.NodePoolsPath, made)
	t.Cleanup(func() {
		server.Delete(t, api.NodePoolsPath+"/default")
		server.Delete(t, releasesPath)
	})
}

// releasesPath is the ConfigMap in which passes remember releases.
const releasesPath = "/api/v1/namespaces/whittle-system/configmaps/whittle-releases"

// withoutStages lets drift of the pool "default" go by the budgets alone.
func withoutStages(t *testing.T) {
	t.Helper()
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{api.ReleaseAnnotationKey: api.ReleaseOff}}})
}

// initialized creates nodes that are ready for pods until the test is over.
func initialized(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		join(t, name)
	}
	for _, name := range names {
		server.Settle(t, "node-"+name)
	}
}

func join(t *testing.T, name string) {
	t.Helper()
	claim := server.Claim(t, name, "i-"+name)
	server.Node(t, "node-"+name, "i-"+name)
	server.Patch(t, functiontest.NodesPath+"/node-"+name, map[string]any{
		"metadata": map[string]any{"labels": map[string]string{api.NodeInitializedLabelKey: "true"}},
		"spec":     map[string]any{"taints": []corev1.Taint{}},
	})
	conditions := claim.Status.Conditions
	api.SetCondition(&conditions, metav1.Condition{Type: api.ConditionTypeInitialized, Status: metav1.ConditionTrue},
		time.Now())
	server.Patch(t, api.NodeClaimsPath+"/"+name+"/status",
		map[string]any{"status": map[string]any{"conditions": conditions}})
	t.Cleanup(func() {
		server.Delete(t, api.NodeClaimsPath+"/"+name)
		server.Patch(t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
		server.Delete(t, functiontest.NodesPath+"/node-"+name)
	})
}

func readClaim(t *testing.T, name string) *api.NodeClaim {
	return functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/"+name)
}

func isEnding(t *testing.T, name string) bool { return readClaim(t, name).DeletionTimestamp != nil }

func isTainted(t *testing.T, name string) bool {
	return disruption.IsTainted(functiontest.Get[corev1.Node](t, server, functiontest.NodesPath+"/node-"+name))
}

func isNoted(t *testing.T, name string) bool {
	return readClaim(t, name).Annotations[disruption.EmptySinceAnnotationKey] != ""
}

func TestAnEmptyNodeIsRemovedInTheSecondPass(t *testing.T) {
	pool(t, "100%")
	initialized(t, "empty")
	l := newHarness(t, nil)
	l.mustTick(t)
	if !isNoted(t, "empty") || isEnding(t, "empty") {
		t.Fatalf("noted %t, ending %t", isNoted(t, "empty"), isEnding(t, "empty"))
	}
	if next := l.mail.sent["d"]; len(next) != 1 || next[0].Hop != 1 || next[0].At.Sub(l.now()) < 4*time.Second {
		t.Fatalf("the second look is asked for by %+v", next)
	}
	l.mustTick(t)
	if isEnding(t, "empty") {
		t.Fatal("removed by a look too soon")
	}
	l.ahead = 7 * time.Second
	for range 2 { // delivered twice, which is harmless
		l.mustTick(t)
		claim := readClaim(t, "empty")
		reason := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason)
		if claim.DeletionTimestamp == nil || !isTainted(t, "empty") || reason == nil || reason.Reason != "Empty" {
			t.Fatalf("ending %v, tainted %t, conditions %+v", claim.DeletionTimestamp, isTainted(t, "empty"),
				claim.Status.Conditions)
		}
	}
	if len(l.mail.sent["l"]) != 1 {
		t.Errorf("lifecycle was sent %+v", l.mail.sent["l"])
	}
	for _, about := range []string{"empty", "node-empty"} {
		if reasons := server.Reasons(t, about); !reasons["DisruptionTerminating"] {
			t.Errorf("events about %s: %v", about, reasons)
		}
	}
}

func TestANodeThatIsUsedAgainStays(t *testing.T) {
	pool(t, "100%")
	initialized(t, "used")
	l := newHarness(t, nil)
	l.mustTick(t)
	server.Pod(t, "guest", "node-used")
	l.ahead = time.Minute
	l.mustTick(t)
	if isNoted(t, "used") || isEnding(t, "used") || isTainted(t, "used") {
		t.Errorf("noted %t, ending %t, tainted %t", isNoted(t, "used"), isEnding(t, "used"), isTainted(t, "used"))
	}
	server.Delete(t, functiontest.PodsPath+"/guest")
	server.EndPods(t, "node-used")
}

// late lists a pod on a node only in the read before its deletion.
type late struct{ edge }

func (late) PodsOnNode(context.Context, string, string) ([]corev1.Pod, error) {
	return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"}}}, nil
}

func TestAPodThatArrivesAtTheLastMomentKeepsItsNode(t *testing.T) {
	pool(t, "100%")
	initialized(t, "late")
	l := newHarness(t, nil)
	l.mustTick(t)
	l.ahead = time.Minute
	client := edge{Client: server.Client(t, nil)}
	l.connect = func(context.Context) (kubernetes, error) { return late{client}, nil }
	l.mustTick(t)
	if isEnding(t, "late") || !isTainted(t, "late") {
		t.Fatalf("ending %t, tainted %t", isEnding(t, "late"), isTainted(t, "late"))
	}
	// The next pass sees the pod, and removes the taint.
	server.Pod(t, "late", "node-late")
	l.mustTick(t)
	if isEnding(t, "late") || isTainted(t, "late") || isNoted(t, "late") {
		t.Errorf("ending %t, tainted %t, noted %t", isEnding(t, "late"), isTainted(t, "late"), isNoted(t, "late"))
	}
	server.Delete(t, functiontest.PodsPath+"/late")
	server.EndPods(t, "node-late")
}

func TestABudgetHoldsForConcurrentPasses(t *testing.T) {
	pool(t, "1")
	names := []string{"budget-a", "budget-b", "budget-c"}
	initialized(t, names...)
	first := newHarness(t, nil)
	first.mustTick(t)
	var group sync.WaitGroup
	for range 6 {
		l := newHarness(t, nil)
		l.ahead = time.Minute
		group.Go(func() {
			if err := l.tick(t); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ending := 0
	for _, name := range names {
		if isEnding(t, name) {
			ending++
		}
	}
	if ending != 1 {
		t.Errorf("%d nodes are ending, the budget allows 1", ending)
	}
}

// TestMessagesContinueTheChain holds that disrupt, lifecycle and provision wake each other a limited
// number of times.
func TestMessagesContinueTheChain(t *testing.T) {
	for hop, want := range map[int]int{0: 1, 4: 5, queue.MaximumHops: -1} {
		l := newHarness(t, nil)
		p := &pass{performer: performer{forLifecycle: true, again: l.now()}, launches: true}
		if err := l.rearm(t.Context(), queue.Message{Cluster: "test", Hop: hop}, p); err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"d", "l", "p"} {
			sent := l.mail.sent[url]
			if want < 0 && len(sent) > 0 || want >= 0 && (len(sent) != 1 || sent[0].Hop != want) {
				t.Errorf("hop %d: %s was sent %+v", hop, url, sent)
			}
		}
	}
}

// tardy gets each Lease when its time is over, as after a pause of its container.
type tardy struct{ edge }

func (l tardy) AcquireLease(ctx context.Context, name, holder string, now, _ time.Time) (lease, error) {
	return l.edge.AcquireLease(ctx, name, holder, now, now)
}

func TestAPassThatOutlivesItsLeaseWritesNothing(t *testing.T) {
	pool(t, "100%")
	initialized(t, "outlived")
	l := newHarness(t, nil)
	l.connect = func(context.Context) (kubernetes, error) { return tardy{edge{Client: server.Client(t, nil)}}, nil }
	if err := l.tick(t); !errors.Is(err, cluster.ErrLeaseEnded) {
		t.Errorf("error is %v", err)
	}
	if isNoted(t, "outlived") {
		t.Error("wrote after the end of its lease")
	}
}

func TestAnotherHoldersLeaseIsLeftAlone(t *testing.T) {
	pool(t, "100%")
	initialized(t, "leased")
	client := server.Client(t, nil)
	held, err := client.AcquireLease(t.Context(), leaseName, "another", time.Now(), time.Now().Add(time.Minute))
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	l := newHarness(t, nil)
	l.mustTick(t)
	if isNoted(t, "leased") {
		t.Error("looked without the lease")
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.ahead = 2 * time.Second
	l.mustTick(t)
	if !isNoted(t, "leased") {
		t.Error("did not look with the lease")
	}
}

func TestAClusterWithoutNodesCostsOneList(t *testing.T) {
	cut := functiontest.After(0)
	l := newHarness(t, cut)
	l.mustTick(t)
	if cut.Over() || len(l.mail.sent) != 0 {
		t.Errorf("something was written, or sent: %v", l.mail.sent)
	}
}

func TestMessages(t *testing.T) {
	l := newHarness(t, nil)
	l.connect = func(context.Context) (kubernetes, error) { return nil, errors.New("no endpoint") }
	if l.tick(t) == nil {
		t.Error("no error without a cluster")
	}
	stale := `{"cluster":"test","at":"2026-01-01T00:00:00Z","reason":"tick"}`
	response, err := l.handle(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "stale", Body: stale},
		{MessageId: "bad", Body: "{"}}})
	if err != nil || len(response.BatchItemFailures) != 1 || response.BatchItemFailures[0].ItemIdentifier != "bad" {
		t.Errorf("response %+v, error %v", response, err)
	}
}

// TestAPodThatComesShowsOnItsClaim: consolidateAfter counts from the time that the claim shows.
func TestAPodThatComesShowsOnItsClaim(t *testing.T) {
	pool(t, "100%")
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"spec": map[string]any{
		"disruption": map[string]any{"consolidateAfter": "1h"},
	}})
	initialized(t, "used")
	came := time.Now().Add(time.Minute).UTC().Truncate(time.Second)
	server.Pod(t, "came", "node-used")
	server.Patch(t, functiontest.PodsPath+"/came/status", map[string]any{"status": map[string]any{
		"conditions": []map[string]any{{"type": "PodScheduled", "status": "True", "lastTransitionTime": came}},
	}})
	t.Cleanup(func() { server.Delete(t, functiontest.PodsPath+"/came") })
	l := newHarness(t, nil)
	l.ahead = 2 * time.Minute
	l.mustTick(t)
	claim := readClaim(t, "used")
	if got := claim.Status.LastPodEventTime; !got.Time.Equal(came) {
		t.Errorf("the last pod event was at %v, want %v", got, came)
	}
	l.mustTick(t)
	if again := readClaim(t, "used"); again.ResourceVersion != claim.ResourceVersion {
		t.Error("the same event was written twice")
	}
}
