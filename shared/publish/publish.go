package publish

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/events/own"
)

const (
	// batch is the most events of one request.
	// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
	batch = 10
	// sendLimit bounds the time of one request. A VPC without a way to EventBridge answers nothing.
	sendLimit = 2 * time.Second
)

// Sender sends events to EventBridge.
type Sender interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput,
		error)
}

// Publisher publishes a cluster's events. A nil Publisher publishes nothing. It is safe for
// concurrent use.
type Publisher struct {
	client Sender
	bus    string
	now    func() time.Time
	// denied is called for each request that IAM refuses.
	denied func()
}

// New returns a Publisher for the bus, a name or an ARN. It is nil without one. denied is called for each
// request that IAM refuses: nothing else would tell of a missing right.
func New(config aws.Config, bus string, now func() time.Time, denied func()) *Publisher {
	if bus == "" {
		return nil
	}
	return NewFor(eventbridge.NewFromConfig(config), bus, now, denied)
}

// NewFor returns a Publisher that sends by the client.
func NewFor(client Sender, bus string, now func() time.Time, denied func()) *Publisher {
	return &Publisher{client: client, bus: bus, now: now, denied: denied}
}

// Publish sends the events, and logs those that EventBridge does not take.
func (p *Publisher) Publish(ctx context.Context, details ...own.Detail) {
	if p == nil {
		return
	}
	for some := range slices.Chunk(details, batch) {
		err := p.send(ctx, some)
		var refusal smithy.APIError
		switch {
		case errors.As(err, &refusal) && strings.HasPrefix(refusal.ErrorCode(), "AccessDenied"):
			slog.ErrorContext(ctx, "the bus refuses events", "bus", p.bus, "events", len(some), "error", err)
			p.denied()
		case err != nil:
			slog.WarnContext(ctx, "events not published", "bus", p.bus, "events", len(some), "error", err)
		}
	}
}

func (p *Publisher) send(ctx context.Context, details []own.Detail) error {
	bounded, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	input := &eventbridge.PutEventsInput{}
	for _, detail := range details {
		text, err := json.Marshal(detail)
		if err != nil {
			return err
		}
		input.Entries = append(input.Entries, types.PutEventsRequestEntry{
			EventBusName: &p.bus, Source: aws.String(own.Source), DetailType: aws.String(detail.DetailType()),
			Detail: aws.String(string(text)), Time: aws.Time(p.now()),
		})
	}
	out, err := p.client.PutEvents(bounded, input)
	if err != nil {
		return err
	}
	for i, entry := range out.Entries {
		if entry.ErrorCode != nil {
			slog.WarnContext(ctx, "event not published", "bus", p.bus, "event", details[i].DetailType(),
				"error", aws.ToString(entry.ErrorCode)+": "+aws.ToString(entry.ErrorMessage))
		}
	}
	return nil
}
