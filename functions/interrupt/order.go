package interrupt

import (
	"context"
	"log/slog"
	"strings"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/function"
)

// ordering makes a handler that carries out the orders to freeze and to thaw, and leaves the other messages
// to the next one. Orders are refused in the log: nobody mends a dead letter of another's event.
func (h *Handler) ordering(
	next function.Handler[lambdaevents.SQSEvent, lambdaevents.SQSEventResponse],
) function.Handler[lambdaevents.SQSEvent, lambdaevents.SQSEventResponse] {
	return func(ctx context.Context, batch lambdaevents.SQSEvent) (lambdaevents.SQSEventResponse, error) {
		var orders []*message
		var rest lambdaevents.SQSEvent
		for _, record := range batch.Records {
			if isOrder(record) {
				orders = append(orders, h.decodeOrder(ctx, record)...)
			} else {
				rest.Records = append(rest.Records, record)
			}
		}
		var response lambdaevents.SQSEventResponse
		if len(rest.Records) > 0 {
			var err error
			if response, err = next(ctx, rest); err != nil {
				return response, err
			}
		}
		h.carryOutOrders(ctx, orders)
		failed := failures(ctx, orders, h.now())
		if len(failed) > 0 {
			h.measure(orders, len(failed))
		}
		again := h.comeBack(ctx, failed)
		response.BatchItemFailures = append(response.BatchItemFailures, again.BatchItemFailures...)
		return response, nil
	}
}

// isOrder reports whether the message is an order, without decoding a storm of warnings twice.
func isOrder(record lambdaevents.SQSMessage) bool {
	for _, detail := range []events.Detail{&events.FreezeOrder{}, &events.ThawOrder{}} {
		if strings.Contains(record.Body, `"`+detail.DetailType()+`"`) {
			return true
		}
	}
	return false
}

// decodeOrder returns the order of the message, or nothing for one that is refused or of another cluster.
func (h *Handler) decodeOrder(ctx context.Context, record lambdaevents.SQSMessage) []*message {
	event, err := events.Decode([]byte(record.Body))
	if err == nil {
		err = event.CheckOrigin(h.account, h.region)
	}
	if err != nil {
		slog.WarnContext(ctx, "an order to freeze or thaw is refused", "message", record.MessageId, "error", err)
		return nil
	}
	switch detail := event.Detail.(type) {
	case *events.FreezeOrder:
		if detail.Cluster != "" && detail.Cluster != h.cluster {
			return nil
		}
	case *events.ThawOrder:
		if detail.Cluster != "" && detail.Cluster != h.cluster {
			return nil
		}
	}
	return []*message{{record: record, event: event}}
}

// carryOutOrders writes the orders, and notes at their messages what failed.
func (h *Handler) carryOutOrders(ctx context.Context, orders []*message) {
	if len(orders) == 0 {
		return
	}
	client, err := h.connect(ctx)
	if err != nil {
		fail(orders, err)
		return
	}
	for _, one := range orders {
		says, err := client.Order(ctx, orderOf(one.event), h.now())
		switch {
		case freeze.IsRefused(err):
			slog.WarnContext(ctx, "an order to freeze or thaw is refused", "message", one.record.MessageId, "error", err)
		case err != nil:
			one.err = err
		default:
			slog.InfoContext(ctx, "an event orders a freeze or a thaw", "message", one.record.MessageId,
				"source", one.event.Source, "outcome", says)
		}
	}
}

// orderOf is the order of an event.
func orderOf(event events.Event) freeze.Order {
	made := freeze.Order{At: event.Time, Source: event.Source}
	switch detail := event.Detail.(type) {
	case *events.FreezeOrder:
		made.Pool, made.Who, made.Reason, made.Until = detail.NodePool, detail.Who, detail.Reason, detail.Until
	case *events.ThawOrder:
		made.Pool, made.Who, made.Thaw = detail.NodePool, detail.Who, true
	}
	return made
}
