package interrupt

import (
	"context"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// ordered gives the messages to the handler, and returns what went on to the next one and what comes back.
func ordered(
	t *testing.T, h *Handler, messages lambdaevents.SQSEvent,
) (passed int, back []lambdaevents.SQSBatchItemFailure) {
	t.Helper()
	response, err := h.ordering(func(
		_ context.Context, rest lambdaevents.SQSEvent,
	) (lambdaevents.SQSEventResponse, error) {
		passed = len(rest.Records)
		return lambdaevents.SQSEventResponse{}, nil
	})(t.Context(), messages)
	if err != nil {
		t.Fatal(err)
	}
	return passed, response.BatchItemFailures
}

// fromPeople gives the events a source of people.
func fromPeople(messages lambdaevents.SQSEvent) lambdaevents.SQSEvent {
	for i := range messages.Records {
		messages.Records[i].Body = strings.Replace(messages.Records[i].Body, `"source":""`, `"source":"my.ci"`, 1)
	}
	return messages
}

func frozenNow(t *testing.T) []freeze.Freeze {
	t.Helper()
	known, err := inventory.Freezes(t.Context(), server.Everything(t))
	if err != nil {
		t.Fatal(err)
	}
	return known.Active(time.Now())
}

func TestAnEventFreezesAndThaws(t *testing.T) {
	t.Cleanup(func() { server.Delete(t, "/api/v1/namespaces/whittle-system/configmaps/"+inventory.ControlName) })
	h, _ := newHandler(t, nil)
	passed, back := ordered(t, h, fromPeople(batch(t, &events.FreezeOrder{NodePool: "batch", Reason: "INC-12"},
		&events.StateChange{InstanceID: "i-0123", State: "stopped"},
		&events.FreezeOrder{Cluster: "other", NodePool: "theirs"})))
	if frozen := frozenNow(t); passed != 1 || len(back) > 0 || len(frozen) != 1 || frozen[0].Pool != "batch" ||
		frozen[0].Who != "my.ci" || frozen[0].Reason != "INC-12" || frozen[0].Until.IsZero() {
		t.Fatalf("%d go on, %v come back, frozen are %+v", passed, back, frozen)
	}
	ordered(t, h, fromPeople(batch(t, &events.ThawOrder{Cluster: "test", NodePool: "batch"})))
	if frozen := frozenNow(t); len(frozen) > 0 {
		t.Errorf("after the thaw frozen are %+v", frozen)
	}
}

// TestAnOrderThatCannotBeFollowedIsRefused holds that such an event freezes nothing, and does not come back.
func TestAnOrderThatCannotBeFollowedIsRefused(t *testing.T) {
	h, _ := newHandler(t, nil)
	messages := fromPeople(batch(t, &events.FreezeOrder{}, &events.FreezeOrder{}, &events.FreezeOrder{},
		&events.FreezeOrder{Until: time.Now().Add(-time.Minute)}))
	body := &messages.Records[0].Body
	*body = strings.Replace(*body, `"detail":{}`, `"detail":{"nodepol":"batch"}`, 1)
	body = &messages.Records[1].Body
	*body = strings.Replace(*body, `"source":"my.ci"`, `"source":"aws.ec2"`, 1)
	body = &messages.Records[2].Body
	*body = strings.Replace(*body, `"account":"123456789012"`, `"account":"210987654321"`, 1)
	passed, back := ordered(t, h, messages)
	if frozen := frozenNow(t); passed != 0 || len(back) > 0 || len(frozen) > 0 {
		t.Errorf("%d go on, %v come back, frozen are %+v", passed, back, frozen)
	}
}

func TestAnOrderThatIsNotWrittenComesBack(t *testing.T) {
	h, _ := newHandler(t, nil)
	h.connect = func(context.Context) (kubernetes, error) { return nil, context.DeadlineExceeded }
	if _, back := ordered(t, h, fromPeople(batch(t, &events.FreezeOrder{}))); len(back) != 1 {
		t.Errorf("%v come back", back)
	}
}
