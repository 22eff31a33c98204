package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

const (
	// MaximumDelay is the longest that SQS delays a single message.
	MaximumDelay = 900 * time.Second
	// MaximumHops is how many messages may follow from one that came from outside: from the ticker
	// or from an event. All functions of a chain count together, so that no chain invokes a
	// function more than MaximumHops+1 times. Lambda's own limit is about 16:
	// https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html. The ticker starts a
	// new chain each minute.
	MaximumHops = 10
	// batchSize is how many messages SQS takes in one call.
	batchSize = 10
)

// Reason says why a function is woken.
type Reason string

const (
	ReasonTick         Reason = "tick"         // the ticker wakes the function at intervals
	ReasonLaunch       Reason = "launch"       // instances were launched and will join
	ReasonInterruption Reason = "interruption" // an event ends a node early
	ReasonContinue     Reason = "continue"     // work that was begun goes on
	ReasonChange       Reason = "change"       // the watch saw a change in the cluster
	ReasonRequest      Reason = "request"      // a user asks for a plan, by the event Provision Now
	ReasonAlarm        Reason = "alarm"        // a CloudWatch alarm has changed its state
)

// Message wakes a function for a cluster.
type Message struct {
	Cluster string    `json:"cluster"`
	At      time.Time `json:"at"` // the moment at which it is due
	Reason  Reason    `json:"reason"`
	Hop     int       `json:"hop"` // how many messages led to this one
}

// Parse reads a message's body. Its error names what is wrong with the body. Another attempt would
// fail in the same way.
func Parse(body string) (Message, error) {
	var message Message
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		return Message{}, fmt.Errorf("message body is not a wake-up: %w", err)
	}
	if message.Cluster == "" {
		return Message{}, fmt.Errorf("message body lacks the field cluster: %.100q", body)
	}
	message.Hop = max(message.Hop, 0) // less would make its chain longer
	return message, nil
}

// Next is the message that continues this one's work, in any function. It is false at the end of
// the chain, where nothing is to be sent: a tick goes on with the work. A message that is made anew
// would begin another chain, and a loop of such chains has no end.
func (m Message) Next(reason Reason, at time.Time) (next Message, ok bool) {
	if m.Hop >= MaximumHops {
		return Message{}, false
	}
	return Message{Cluster: m.Cluster, At: at, Reason: reason, Hop: m.Hop + 1}, true
}

// Sender sends messages to queues.
type Sender struct {
	client *sqs.Client
	now    func() time.Time
}

// NewSender returns a sender through the client. Now is the clock by which messages become due.
func NewSender(client *sqs.Client, now func() time.Time) *Sender {
	return &Sender{client: client, now: now}
}

// Send puts the messages into the queue, each to be delivered when it is due. A message that is due
// later than MaximumDelay is delivered early. After an error some of the messages may have been
// sent. The caller may send all of them again, because a repeated message costs one pass.
func (s *Sender) Send(ctx context.Context, url string, messages ...Message) error {
	for start := 0; start < len(messages); start += batchSize {
		batch := messages[start:min(start+batchSize, len(messages))]
		entries := make([]types.SendMessageBatchRequestEntry, len(batch))
		for i, message := range batch {
			body, err := json.Marshal(message)
			if err != nil {
				return fmt.Errorf("encoding a message: %w", err)
			}
			entries[i] = types.SendMessageBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(string(body)), DelaySeconds: s.delay(message.At),
			}
		}
		output, err := s.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries})
		if err != nil {
			return fmt.Errorf("sending %d messages to %s: %w", len(batch), url, err)
		}
		if len(output.Failed) > 0 {
			failed := output.Failed[0]
			return fmt.Errorf("sending to %s: %d of %d messages were refused, the first with %s: %s",
				url, len(output.Failed), len(batch), aws.ToString(failed.Code), aws.ToString(failed.Message))
		}
	}
	return nil
}

// IsRefused reports whether the error says that the role lacks the right to a call, or has lost it.
func IsRefused(err error) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && slices.Contains(
		[]string{"AccessDenied", "AccessDeniedException", "InvalidClientTokenId", "UnrecognizedClientException"},
		answer.ErrorCode())
}

// Received is a message that a function has received and not deleted.
type Received struct {
	ID string
	// Receipt is the receipt handle of this delivery. It is empty in a run by hand.
	Receipt string
}

// ShowAgain makes received messages visible again after the time, in whole seconds, instead of the
// queue's visibility timeout. It skips messages without a receipt. After an error the time of some
// messages may have been set. The others come back after the timeout.
func (s *Sender) ShowAgain(ctx context.Context, url string, after time.Duration, messages ...Received) error {
	var entries []types.ChangeMessageVisibilityBatchRequestEntry
	for i, message := range messages {
		if message.Receipt != "" {
			entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{
				Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(message.Receipt),
				VisibilityTimeout: int32(after / time.Second),
			})
		}
	}
	for some := range slices.Chunk(entries, batchSize) {
		output, err := s.client.ChangeMessageVisibilityBatch(
			ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url, Entries: some})
		if err != nil {
			return fmt.Errorf("setting when %d messages of %s come back: %w", len(some), url, err)
		}
		if len(output.Failed) > 0 {
			failed := output.Failed[0]
			return fmt.Errorf("setting when messages of %s come back: %d of %d were refused, the first with %s: %s",
				url, len(output.Failed), len(some), aws.ToString(failed.Code), aws.ToString(failed.Message))
		}
	}
	return nil
}

// delay is the time until a moment in whole seconds, the unit of SQS.
func (s *Sender) delay(at time.Time) int32 {
	wait := min(max(at.Sub(s.now()), 0), MaximumDelay)
	return int32((wait + time.Second/2) / time.Second)
}
