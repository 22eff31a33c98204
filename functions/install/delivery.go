package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/events"
)

// deliveryType is the type of the resource that tests whether events arrive. The template has it after
// the rules, which wait for the installation.
const deliveryType = "Custom::WhittleDelivery"

const (
	// deliverTime is how long events may take to arrive. A new policy of a queue works after a minute, and
	// Lambda's first poll of a queue comes about as late.
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-creating-custom-policies.html
	deliverTime = 3 * time.Minute
	// sendAgain is the time between two test events: one that meets a new policy is lost.
	sendAgain = 10 * time.Second
	// look is the time between two looks at what has arrived.
	look = 500 * time.Millisecond
	// putLimit bounds the time of one request to EventBridge. A VPC without a way there answers nothing.
	putLimit = 10 * time.Second
	// clearLimit bounds the time in which the test's own events are taken away. It is less than the reserve
	// of an invocation.
	clearLimit = 2 * time.Second
)

// delivery is one test of whether events arrive.
type delivery struct {
	cluster string
	// id begins the ids of its events.
	id string
	// queues are the names of the queues in which they have to arrive. undelivered is the URL of the queue
	// for those that EventBridge could not deliver.
	queues      []string
	undelivered string

	events *eventbridge.Client
	sqs    *sqs.Client
	sent   int
	// refusals are the reasons that EventBridge gave for not delivering them, the newest last.
	refusals []string
}

// testDelivery sends test events through a rule, until interrupt has answered one from each queue. It
// fails where they do not arrive: no warning of a spot interruption would.
func (h *Handler) testDelivery(
	ctx context.Context, event cfn.Event,
) (physicalID string, data map[string]any, err error) {
	physicalID = "whittle-delivery-" + h.cluster
	if event.RequestType == cfn.RequestDelete {
		return event.PhysicalResourceID, nil, nil
	}
	d, err := h.newDelivery(event)
	if err != nil {
		return physicalID, nil, err
	}
	client := newSettling(h.now)
	if err := client.connect(ctx, h.connection); err != nil {
		return physicalID, nil, err
	}
	missing, err := d.run(ctx, client, h.now)
	// Messages that stay there would ring an alarm. The time of the test may be up.
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearLimit)
	defer cancel()
	d.clear(clearing)
	if len(missing) > 0 {
		err = errors.Join(d.lost(missing), err)
	}
	var unsent *unsentError
	switch {
	case h.inVPC && errors.As(err, &unsent):
		slog.WarnContext(ctx, "no test event was sent", "error", err)
		return physicalID, map[string]any{"Outcome": "not tested: the functions' subnets do not reach EventBridge"}, nil
	case err != nil:
		return physicalID, nil, err
	}
	slog.InfoContext(ctx, "test events arrived", "queues", d.queues)
	return physicalID, map[string]any{"Outcome": "arrived by " + strings.Join(d.queues, ", ")}, nil
}

func (h *Handler) newDelivery(event cfn.Event) (*delivery, error) {
	d := &delivery{cluster: h.cluster, id: event.RequestID, events: h.events, sqs: h.sqs}
	given, _ := event.ResourceProperties["Queues"].([]any)
	for _, one := range given {
		name, _ := one.(string)
		d.queues = append(d.queues, name)
	}
	d.undelivered, _ = event.ResourceProperties["UndeliveredQueue"].(string)
	if d.id == "" || d.undelivered == "" || len(d.queues) == 0 || slices.Contains(d.queues, "") {
		return nil, fmt.Errorf("%s needs RequestId, and the properties Queues, a list of names, and UndeliveredQueue, a URL",
			deliveryType)
	}
	return d, nil
}

// run sends events until all queues have answered, and returns those that have not in time.
func (d *delivery) run(ctx context.Context, client *settling, now func() time.Time) (missing []string, err error) {
	deadline := now().Add(deliverTime)
	var next time.Time
	for {
		if !now().Before(next) {
			if err := client.settled(ctx, func() error { return d.send(ctx) }); err != nil {
				return nil, err
			}
			d.sent++
			next = now().Add(sendAgain)
		}
		arrived, err := client.arrived(ctx, d.id)
		if err != nil {
			return nil, err
		}
		missing = slices.DeleteFunc(slices.Clone(d.queues), func(name string) bool { return arrived[name] })
		if len(missing) == 0 || now().After(deadline) {
			return missing, nil
		}
		if err := wait(ctx, look); err != nil {
			return missing, err
		}
	}
}

// lost says that events do not arrive, and why, where EventBridge has told.
func (d *delivery) lost(queues []string) error {
	if len(d.refusals) > 0 {
		return fmt.Errorf("EventBridge cannot deliver events to %s: %s: check the queues' policies and the policy of the "+
			"setting kmsKey, which has to let events.amazonaws.com use the key", strings.Join(queues, " and "),
			d.refusals[len(d.refusals)-1])
	}
	return fmt.Errorf("none of %d test events came by %s to the function interrupt: check that its event source mappings "+
		"are on, that its role may read the queues and use the key of the setting kmsKey, and that the account has "+
		"concurrency left", d.sent, strings.Join(queues, " and "))
}

// unsentError says that EventBridge could not be reached.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// send puts one test event on the default bus.
func (d *delivery) send(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, putLimit)
	defer cancel()
	test := &events.DeliveryTest{Cluster: d.cluster, ID: fmt.Sprintf("%s-%d", d.id, d.sent)}
	detail, err := json.Marshal(test)
	if err != nil {
		return err
	}
	out, err := d.events.PutEvents(bounded, &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{
		Source: aws.String(events.SourceInstall), DetailType: aws.String(test.DetailType()),
		Detail: aws.String(string(detail)),
	}}})
	var answer smithy.APIError
	switch {
	case err != nil && !errors.As(err, &answer):
		return &unsentError{fmt.Errorf("sending a test event to EventBridge: %w", err)}
	case err != nil:
		return fmt.Errorf("sending a test event to EventBridge: %w", err)
	}
	for _, entry := range out.Entries {
		if entry.ErrorCode != nil {
			return fmt.Errorf("EventBridge refuses a test event: %s: %s", *entry.ErrorCode, aws.ToString(entry.ErrorMessage))
		}
	}
	return nil
}

// clear takes this test's events from the queue of undelivered ones, and keeps EventBridge's reasons. What
// cannot be read remains, and an alarm tells of it.
func (d *delivery) clear(ctx context.Context) {
	for range 10 { // some more than test events
		out, err := d.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &d.undelivered, MaxNumberOfMessages: 10, VisibilityTimeout: 5, MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			slog.WarnContext(ctx, "the queue of undelivered events cannot be read", "error", err)
			return
		}
		mine := slices.DeleteFunc(out.Messages, func(m sqstypes.Message) bool {
			return !strings.Contains(aws.ToString(m.Body), d.id)
		})
		if len(mine) == 0 {
			return
		}
		for i := range mine {
			code, text := mine[i].MessageAttributes["ERROR_CODE"], mine[i].MessageAttributes["ERROR_MESSAGE"]
			d.refusals = append(d.refusals, aws.ToString(code.StringValue)+": "+aws.ToString(text.StringValue))
			if _, err := d.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{
				QueueUrl: &d.undelivered, ReceiptHandle: mine[i].ReceiptHandle,
			}); err != nil {
				slog.WarnContext(ctx, "an undelivered test event remains", "error", err)
			}
		}
	}
}
