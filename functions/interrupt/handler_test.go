package interrupt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
)

// server is what the tests of this package share: starting one takes seconds.
var server *functiontest.Cluster

func TestMain(m *testing.M) {
	os.Exit(functiontest.Main(m, "interrupt", func(c *functiontest.Cluster) { server = c }))
}

// mailbox keeps the messages that are sent.
type mailbox struct {
	sent   map[string][]queue.Message
	refuse string
	// shown is when received messages come back, by their receipts.
	shown map[string]time.Duration
	// shownIn is the queue in which messages came back last.
	shownIn string
}

func (m *mailbox) ShowAgain(_ context.Context, url string, after time.Duration, messages ...queue.Received) error {
	if url != "i" && url != "https://sqs/123456789012/w" {
		return errors.New("another function's queue")
	}
	m.shownIn = url
	for _, message := range messages {
		m.shown[message.Receipt] = after
	}
	return nil
}

func (m *mailbox) Send(_ context.Context, url string, messages ...queue.Message) error {
	if url == m.refuse {
		return errors.New("queue is gone")
	}
	if m.sent == nil {
		m.sent = map[string][]queue.Message{}
	}
	m.sent[url] = append(m.sent[url], messages...)
	return nil
}

func newHandler(t *testing.T, cut *functiontest.Cut) (*Handler, *mailbox) {
	t.Helper()
	var wrap func(http.RoundTripper) http.RoundTripper
	if cut != nil {
		wrap = cut.Wrap
	}
	client := server.Client(t, wrap)
	mail := &mailbox{shown: map[string]time.Duration{}}
	return &Handler{
		account: "123456789012", region: "us-east-1", fleet: silentFleet{},
		cluster: "test", interrupt: "i", warnings: "https://sqs/123456789012/w",
		provision: "p", lifecycle: "l", sender: mail, now: time.Now,
		connect: func(context.Context) (kubernetes, error) { return edge{client}, nil },
	}, mail
}

// ours makes a claim with its node, until the test is over.
func ours(t *testing.T, name string) (instance string) {
	t.Helper()
	instance = "i-" + name
	server.Claim(t, name, instance)
	server.Node(t, "node-"+name, instance)
	server.Settle(t, "node-"+name)
	server.Patch(
		t, api.NodeClaimsPath+"/"+name+"/status", map[string]any{"status": map[string]any{"nodeName": "node-" + name}})
	t.Cleanup(func() {
		server.Delete(t, api.NodeClaimsPath+"/"+name)
		server.Patch(t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
		server.Delete(t, functiontest.NodesPath+"/node-"+name)
	})
	return instance
}

func batch(t *testing.T, details ...events.Detail) lambdaevents.SQSEvent {
	t.Helper()
	var made lambdaevents.SQSEvent
	for i, detail := range details {
		body, err := json.Marshal(
			events.Event{
				ID:      fmt.Sprint("event-", i),
				Time:    time.Now(),
				Account: "123456789012",
				Region:  "us-east-1",
				Detail:  detail,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		made.Records = append(made.Records, lambdaevents.SQSMessage{MessageId: fmt.Sprint(i), Body: string(body)})
	}
	return made
}

// failed runs the handler and lists the messages that come back.
func failed(t *testing.T, h *Handler, event lambdaevents.SQSEvent) []string {
	t.Helper()
	response, err := h.handle(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, item := range response.BatchItemFailures {
		ids = append(ids, item.ItemIdentifier)
	}
	return ids
}

func isEnding(t *testing.T, name string) bool {
	return functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/"+name).DeletionTimestamp != nil
}

func isTainted(t *testing.T, name string) bool {
	return disruption.IsTainted(functiontest.Get[corev1.Node](t, server, functiontest.NodesPath+"/node-"+name))
}

func isShort(t *testing.T, instanceType string) bool {
	short, err := inventory.Unavailable(t.Context(), server.Client(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return short.Has(api.CapacityTypeSpot, instanceType, "us-east-1a", time.Now())
}

func spot(id string) events.Detail {
	return &events.SpotInterruption{InstanceID: id, Action: events.ActionTerminate}
}

func TestASpotInterruptionTakesTheNodeOutOfUse(t *testing.T) {
	h, mail := newHandler(t, nil)
	id := ours(t, "spot")
	for round := range 2 { // delivered twice, which is harmless
		if ids := failed(t, h, batch(t, spot(id))); len(ids) != 0 {
			t.Fatalf("round %d: failed %v", round, ids)
		}
		if !isEnding(t, "spot") || !isTainted(t, "spot") || !isShort(t, "m5.large") {
			t.Fatalf("round %d: ending %t, tainted %t, short %t", round, isEnding(t, "spot"), isTainted(t, "spot"),
				isShort(t, "m5.large"))
		}
	}
	for _, about := range []string{"spot", "node-spot"} {
		if reasons := server.Reasons(t, about); !reasons["SpotInterrupted"] || !reasons["TerminatingOnInterruption"] {
			t.Errorf("events about %s: %v", about, reasons)
		}
	}
	if len(mail.sent["p"]) != 1 || mail.sent["p"][0].Reason != queue.ReasonInterruption ||
		mail.sent["p"][0].Cluster != "test" {
		t.Errorf("provision was sent %+v", mail.sent["p"])
	}
	if len(mail.sent["l"]) != 2 {
		t.Errorf("lifecycle was sent %+v", mail.sent["l"])
	}
}

// EventBridge retries an event for a day, so that an earlier event may come after a later one.
func TestAnEventMayComeADayLateAndOutOfOrder(t *testing.T) {
	h, _ := newHandler(t, nil)
	id := ours(t, "late")
	ended := &events.StateChange{InstanceID: id, State: events.StateTerminated}
	warning := batch(t, spot(id))
	var event map[string]any
	if err := json.Unmarshal([]byte(warning.Records[0].Body), &event); err != nil {
		t.Fatal(err)
	}
	event["time"] = time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	body, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	warning.Records[0].Body = string(body)
	if ids := failed(t, h, batch(t, ended)); len(ids) != 0 || !isEnding(t, "late") {
		t.Fatalf("failed %v, ending %t", ids, isEnding(t, "late"))
	}
	ending := functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/late")
	if ids := failed(t, h, warning); len(ids) != 0 {
		t.Errorf("failed %v", ids)
	}
	again := functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/late")
	if !again.DeletionTimestamp.Equal(ending.DeletionTimestamp) {
		t.Errorf("the claim was deleted at %s, and again at %s", ending.DeletionTimestamp, again.DeletionTimestamp)
	}
}

func TestABatchWakesTheOthersOnce(t *testing.T) {
	h, mail := newHandler(t, nil)
	var details []events.Detail
	for _, name := range []string{"manya", "manyb", "manyc"} {
		details = append(details, spot(ours(t, name)), spot("i-"+name))
	}
	if ids := failed(t, h, batch(t, details...)); len(ids) != 0 {
		t.Fatalf("failed %v", ids)
	}
	if len(mail.sent["p"]) != 1 || len(mail.sent["l"]) != 1 {
		t.Errorf("sent %+v", mail.sent)
	}
	for _, name := range []string{"manya", "manyb", "manyc"} {
		if !isEnding(t, name) {
			t.Errorf("%s is not ending", name)
		}
	}
}

func TestAMessageThatCannotBeReadComesBackAlone(t *testing.T) {
	h, _ := newHandler(t, nil)
	event := batch(t, spot(ours(t, "read")), spot("i-somebodyelse"))
	empty := `{"detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":{}}`
	for i, body := range []string{"not JSON", empty} {
		event.Records = append(event.Records, lambdaevents.SQSMessage{MessageId: fmt.Sprint("bad", i), Body: body})
	}
	event.Records = append(
		event.Records, lambdaevents.SQSMessage{MessageId: "unknown", Body: `{"detail-type":"EC2 Coffee Break","detail":{}}`})
	if ids := failed(t, h, event); !slices.Equal(ids, []string{"bad0", "bad1"}) {
		t.Errorf("failed %v", ids)
	}
	if !isEnding(t, "read") {
		t.Error("the event that can be read had no effect")
	}
}

func TestAnUnknownEventCostsNothing(t *testing.T) {
	h, _ := newHandler(t, nil)
	h.connect = func(context.Context) (kubernetes, error) { return nil, errors.New("no endpoint") }
	unknown := lambdaevents.SQSEvent{
		Records: []lambdaevents.SQSMessage{{MessageId: "unknown", Body: `{"detail-type":"EC2 Coffee Break","detail":{}}`}},
	}
	if ids := failed(t, h, unknown); len(ids) != 0 {
		t.Errorf("failed %v", ids)
	}
}

func TestForeignInstancesCostOneList(t *testing.T) {
	cut := functiontest.After(0)
	h, mail := newHandler(t, cut)
	ended := &events.StateChange{InstanceID: "i-elsewhere", State: events.StateTerminated}
	if ids := failed(t, h, batch(t, spot("i-elsewhere"), ended)); len(ids) != 0 {
		t.Errorf("failed %v", ids)
	}
	if cut.Over() || len(mail.sent) != 0 {
		t.Errorf("something was written, or sent: %v", mail.sent)
	}
}

func annotation(t *testing.T, name, key string) string {
	return functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/"+name).Annotations[key]
}

func change(id string, status events.HealthStatus, ahead time.Duration) *events.ScheduledChange {
	return &events.ScheduledChange{
		InstanceIDs: []string{id}, Status: status, Code: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", EventARN: "arn:" + id,
		StartTime: time.Now().Add(ahead), Page: 1, TotalPages: 1,
	}
}

func TestADepartureWeeksAheadIsOnlyRemembered(t *testing.T) {
	h, mail := newHandler(t, nil)
	id := ours(t, "later")
	upcoming := change(id, events.HealthStatusUpcoming, 14*24*time.Hour)
	if ids := failed(t, h, batch(t, &events.RebalanceRecommendation{InstanceID: id}, upcoming)); len(ids) != 0 {
		t.Fatalf("failed %v", ids)
	}
	if annotation(t, "later", disruption.RebalanceRecommendedAnnotationKey) == "" ||
		annotation(t, "later", disruption.DepartsAtAnnotationKey) == "" {
		t.Error("the claim does not say the departure")
	}
	if reasons := server.Reasons(t, "later"); !reasons["SpotRebalanceRecommendation"] || !reasons["InstanceUnhealthy"] ||
		reasons["TerminatingOnInterruption"] {
		t.Errorf("events %v", reasons)
	}
	if reasons := server.Reasons(t, "node-later"); !reasons["SpotRebalanceRecommendation"] || !reasons["InstanceUnhealthy"] {
		t.Errorf("events %v about the node, which stays for now", reasons)
	}
	if ids := failed(t, h, batch(t, change(id, events.HealthStatusClosed, 14*24*time.Hour))); len(ids) != 0 ||
		annotation(t, "later", disruption.DepartsAtAnnotationKey) != "" {
		t.Errorf("failed %v; a change that is over is still ahead", ids)
	}
	if isEnding(t, "later") || isTainted(t, "later") || len(mail.sent) != 0 {
		t.Errorf("ending %t, tainted %t, sent %v", isEnding(t, "later"), isTainted(t, "later"), mail.sent)
	}
	if ids := failed(t, h, batch(t, &events.StateChange{InstanceID: id, State: events.StateRunning})); len(ids) != 0 ||
		len(mail.sent) != 0 {
		t.Errorf("failed %v, sent %v", ids, mail.sent)
	}
}

func TestANodeWhoseDepartureIsNearEndsByThen(t *testing.T) {
	h, mail := newHandler(t, nil)
	id := ours(t, "near")
	event := change(id, events.HealthStatusOpen, 30*time.Minute)
	for range 2 { // from the backup region once more
		if ids := failed(t, h, batch(t, event)); len(ids) != 0 {
			t.Fatalf("failed %v", ids)
		}
		event.Backup = true
	}
	start := event.StartTime.UTC().Format(time.RFC3339)
	if by := annotation(t, "near", api.NodeClaimTerminationTimestampAnnotationKey); by != start {
		t.Errorf("ends by %q, want %s", by, event.StartTime)
	}
	if !isEnding(t, "near") || !isTainted(t, "near") || len(mail.sent["p"]) != 1 {
		t.Errorf("ending %t, tainted %t, sent %v", isEnding(t, "near"), isTainted(t, "near"), mail.sent)
	}
}

func TestAFailureComesBack(t *testing.T) {
	t.Run("without a cluster nothing is taken for done", func(t *testing.T) {
		h, _ := newHandler(t, nil)
		h.connect = func(context.Context) (kubernetes, error) { return nil, errors.New("no endpoint") }
		if ids := failed(t, h, batch(t, spot("i-1"), spot("i-2"))); !slices.Equal(ids, []string{"0", "1"}) {
			t.Errorf("failed %v", ids)
		}
	})
	t.Run("without a queue those come back that somebody had to hear of", func(t *testing.T) {
		h, mail := newHandler(t, nil)
		mail.refuse = "p"
		id := ours(t, "unheard")
		if ids := failed(t, h, batch(t, spot("i-elsewhere"), spot(id))); !slices.Equal(ids, []string{"1"}) {
			t.Errorf("failed %v", ids)
		}
	})
	t.Run("a node is taken out of use even where its offering cannot be marked", func(t *testing.T) {
		h, mail := newHandler(t, nil)
		client := edge{server.Client(t, nil)}
		h.connect = func(context.Context) (kubernetes, error) { return markless{client}, nil }
		id := ours(t, "unmarked")
		if ids := failed(t, h, batch(t, spot(id))); !slices.Equal(ids, []string{"0"}) {
			t.Errorf("failed %v", ids)
		}
		if !isEnding(t, "unmarked") || len(mail.sent["p"]) != 1 {
			t.Errorf("ending %t, sent %v", isEnding(t, "unmarked"), mail.sent)
		}
		h.connect = func(context.Context) (kubernetes, error) { return client, nil }
		if ids := failed(t, h, batch(t, spot(id))); len(ids) != 0 || !isShort(t, "m5.large") {
			t.Errorf("failed again %v", ids)
		}
	})
}

func TestClaimsInTheCacheDoNotWaitForTheStore(t *testing.T) {
	h, mail := newHandler(t, nil)
	client := storeless{edge{server.Client(t, nil)}}
	h.connect = func(context.Context) (kubernetes, error) { return client, nil }
	id := ours(t, "remembered")
	server.Patch(t, api.NodeClaimsPath+"/remembered",
		map[string]any{"metadata": map[string]any{"labels": map[string]string{api.LabelInstanceID: id}}})
	unknown := lambdaevents.SQSMessage{MessageId: "unknown", Body: `{"detail-type":"EC2 Coffee Break","detail":{}}`}
	unreadable := lambdaevents.SQSMessage{MessageId: "unreadable", Body: `{`}
	all := batch(t, spot(id), spot("i-elsewhere"), &events.CapacityBlockExpiration{ReservationID: "cr-elsewhere"})
	all.Records = append(all.Records, unknown, unreadable)
	if ids := failed(t, h, all); !slices.Equal(ids, []string{"1", "2", "unreadable"}) {
		t.Errorf("failed %v", ids)
	}
	if !isEnding(t, "remembered") || len(mail.sent["p"]) != 1 {
		t.Errorf("ending %t, sent %v", isEnding(t, "remembered"), mail.sent)
	}
}

// storeless answers from the API server's memory alone.
type storeless struct{ edge }

func (s storeless) SelectNodeClaims(
	ctx context.Context,
	selector labels.Selector,
	cached bool,
) ([]api.NodeClaim, error) {
	if !cached {
		return nil, errors.New("etcd is away")
	}
	return s.edge.SelectNodeClaims(ctx, selector, cached)
}

// markless can neither read nor mark the offerings that are unavailable.
type markless struct{ edge }

func (markless) Unavailable(context.Context) (*catalog.Unavailable, error) {
	return nil, errors.New("forbidden")
}

func (markless) MarkUnavailable(context.Context, *catalog.Unavailable, time.Time) error {
	return errors.New("forbidden")
}
