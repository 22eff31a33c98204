package install

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// bus is a fake of EventBridge, of interrupt behind it, and of the queue of undelivered events.
type bus struct {
	t *testing.T
	// arrive says by which queues the event of a number arrives; refused has EventBridge's reason for others.
	arrive  func(number int) []string
	refused string
	// answer, if set, is the status and the error code of PutEvents.
	status int
	code   string

	sent        int
	sentOne     func()            // called after each event, if set
	undelivered map[string]string // bodies by receipt
}

func (b *bus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	var in struct {
		Entries       []struct{ Source, DetailType, Detail string }
		ReceiptHandle string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		b.t.Error(err)
	}
	out := map[string]any{}
	switch action {
	case "PutEvents":
		if b.status != 0 {
			w.Header().Set("X-Amzn-Errortype", b.code)
			w.WriteHeader(b.status)
			return
		}
		out["Entries"] = []any{map[string]any{"EventId": "e"}}
		b.deliver(in.Entries[0].Source, in.Entries[0].DetailType, in.Entries[0].Detail)
	case "ReceiveMessage":
		var messages []any
		for receipt, body := range b.undelivered {
			messages = append(messages, map[string]any{
				"MessageId": receipt, "ReceiptHandle": receipt, "Body": body, "MessageAttributes": map[string]any{
					"ERROR_CODE":    map[string]any{"DataType": "String", "StringValue": "NO_PERMISSIONS"},
					"ERROR_MESSAGE": map[string]any{"DataType": "String", "StringValue": b.refused},
				},
			})
		}
		out["Messages"] = messages
	case "DeleteMessage":
		delete(b.undelivered, in.ReceiptHandle)
	default:
		b.t.Errorf("install asks for %q", action)
	}
	_ = json.NewEncoder(w).Encode(out)
}

// deliver answers for interrupt.
func (b *bus) deliver(source, detailType, detail string) {
	var test events.DeliveryTest
	if err := json.Unmarshal([]byte(detail), &test); err != nil || source != events.SourceInstall ||
		detailType != test.DetailType() || test.Cluster != "prod" {
		b.t.Errorf("sent %s from %s: %s", detailType, source, detail)
	}
	open := &line{}
	open.cut.Store(-1)
	client, err := open.Client(b.t.Context())
	if err != nil {
		b.t.Error(err)
		return
	}
	for _, queue := range b.arrive(b.sent) {
		if err := client.Record(context.Background(), cluster.EventArrived(test.ID, queue), time.Now()); err != nil {
			b.t.Error(err)
		}
	}
	if b.refused != "" {
		b.undelivered[test.ID] = `{"detail":` + detail + `}`
	}
	b.sent++
	if b.sentOne != nil {
		b.sentOne()
	}
}

// handler returns install over the bus, and CloudFormation's request. Its clock runs ahead, so that nobody
// waits for minutes.
func (b *bus) handler(t *testing.T) (*Handler, cfn.Event) {
	t.Helper()
	b.t, b.undelivered = t, map[string]string{"other": `{"detail":{}}`}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	h := newInstallation(t).Handler
	began, looks := time.Now(), 0
	h.now = func() time.Time {
		looks++
		return began.Add(time.Duration(looks) * 7 * time.Second)
	}
	signer := credentials.NewStaticCredentialsProvider("AKIATEST", "secret", "")
	h.events = eventbridge.New(eventbridge.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1, Credentials: signer,
	})
	h.sqs = sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1, Credentials: signer})
	return h, cfn.Event{
		RequestType: cfn.RequestCreate, ResourceType: "Custom::WhittleDelivery", RequestID: t.Name() + began.String(),
		ResourceProperties: map[string]any{
			"Queues": []any{"prod-interrupt", "prod-warnings"}, "UndeliveredQueue": server.URL + "/123456789012/undelivered",
		},
	}
}

// run runs a test of delivery over the bus.
func (b *bus) run(t *testing.T, inVPC bool) (map[string]any, error) {
	t.Helper()
	h, event := b.handler(t)
	h.inVPC = inVPC
	id, data, err := h.handle(t.Context(), event)
	if id != "whittle-delivery-prod" {
		t.Errorf("the resource is %q", id)
	}
	if _, kept := b.undelivered["other"]; !kept || len(b.undelivered) != 1 {
		t.Errorf("in the queue of undelivered events are %v, want the other event alone", b.undelivered)
	}
	return data, err
}

// TestTestEventsArrive has a queue whose policy works from the second event on.
func TestTestEventsArrive(t *testing.T) {
	late := &bus{refused: "no right yet", arrive: func(number int) []string {
		if number == 0 {
			return []string{"prod-warnings"}
		}
		return []string{"prod-interrupt", "prod-warnings"}
	}}
	data, err := late.run(t, false)
	if err != nil || data["Outcome"] != "arrived by prod-interrupt, prod-warnings" || late.sent < 2 {
		t.Errorf("%v, %v after %d events", data, err, late.sent)
	}
}

// TestALostEventFailsTheInstallation names the queue, and EventBridge's reason where there is one.
func TestALostEventFailsTheInstallation(t *testing.T) {
	half := func(int) []string { return []string{"prod-interrupt"} }
	for reason, want := range map[string]string{
		"key is not accessible": "key is not accessible: check the queues' policies",
		"":                      "came by prod-warnings to the function interrupt: check that its event source mappings",
	} {
		lost := &bus{refused: reason, arrive: half}
		if _, err := lost.run(t, false); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "prod-warnings") {
			t.Errorf("with the reason %q the error is %v", reason, err)
		}
	}
}

// TestAnUnsentEventIsTold holds that a VPC without a way to EventBridge is no reason to roll back, and that
// a refusal is one.
func TestAnUnsentEventIsTold(t *testing.T) {
	denied := &bus{status: http.StatusBadRequest, code: "AccessDeniedException"}
	if _, err := denied.run(t, true); err == nil || !strings.Contains(err.Error(), "AccessDeniedException") {
		t.Errorf("a refusal gives %v", err)
	}
	h := newInstallation(t).Handler
	h.inVPC = true
	nowhere := "http://127.0.0.1:1"
	signer := credentials.NewStaticCredentialsProvider("AKIATEST", "secret", "")
	h.events = eventbridge.New(eventbridge.Options{
		Region: "us-east-1", BaseEndpoint: &nowhere, RetryMaxAttempts: 1, Credentials: signer,
	})
	h.sqs = sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &nowhere, RetryMaxAttempts: 1, Credentials: signer})
	event := cfn.Event{
		RequestType: cfn.RequestCreate, ResourceType: deliveryType, RequestID: "r", ResourceProperties: map[string]any{
			"Queues": []any{"q"}, "UndeliveredQueue": nowhere,
		},
	}
	_, data, err := h.handle(t.Context(), event)
	if text, _ := data["Outcome"].(string); err != nil || !strings.HasPrefix(text, "not tested") {
		t.Errorf("%v, %v", data, err)
	}
	h.inVPC = false
	var unsent *unsentError
	if _, _, err := h.handle(t.Context(), event); !errors.As(err, &unsent) {
		t.Errorf("outside a VPC it gives %v", err)
	}
	event.RequestType, event.PhysicalResourceID = cfn.RequestDelete, "whittle-delivery-prod"
	if id, _, err := h.handle(t.Context(), event); err != nil || id != "whittle-delivery-prod" {
		t.Errorf("its removal gives %q, %v", id, err)
	}
}

// TestAKilledTestOfEventsIsRunAgain kills install after it has sent an event that EventBridge could not
// deliver. Lambda repeats the request, whose id is the same, and the event does not stay to ring an alarm.
func TestAKilledTestOfEventsIsRunAgain(t *testing.T) {
	late := &bus{refused: "no right yet", arrive: func(number int) []string {
		if number == 0 {
			return nil
		}
		return []string{"prod-interrupt", "prod-warnings"}
	}}
	h, event := late.handler(t)
	killed, kill := context.WithCancel(t.Context())
	late.sentOne = kill
	if _, _, err := h.handle(killed, event); err == nil || late.sent != 1 {
		t.Fatalf("%d events were sent before the end, and the error is %v", late.sent, err)
	}
	late.undelivered["left"] = `{"detail":{"id":"` + event.RequestID + `-0"}}` // as if it had died before it cleared
	late.sentOne = nil
	if _, data, err := h.handle(t.Context(), event); err != nil || data["Outcome"] == nil {
		t.Errorf("the repetition gives %v, %v", data, err)
	}
	if len(late.undelivered) != 1 || late.undelivered["other"] == "" {
		t.Errorf("in the queue of undelivered events are %v", late.undelivered)
	}
}
