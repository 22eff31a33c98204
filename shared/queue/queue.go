// Package queue holds the messages that Whittle's functions send each other
// through SQS, and sends them.
package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	// MaximumDelay is the longest that SQS delays a single message.
	MaximumDelay = 900 * time.Second
	// MaximumHops is how often a message may lead to another of its kind. Lambda
	// ends a chain of queue and function after about 16 invocations; the ticker
	// starts a new chain each minute.
	MaximumHops = 10
	// batchSize is how many messages SQS takes in one call.
	batchSize = 10
)

// Reason says why a function is woken.
type Reason string

const (
	ReasonTick         Reason = "tick"         // the ticker's clock
	ReasonLaunch       Reason = "launch"       // instances were asked for and will join
	ReasonInterruption Reason = "interruption" // an event ends a node early
	ReasonContinue     Reason = "continue"     // what was begun is not done
)

// Message wakes a function for a cluster.
type Message struct {
	Cluster string    `json:"cluster"`
	At      time.Time `json:"at"` // when it is due
	Reason  Reason    `json:"reason"`
	Hop     int       `json:"hop"` // how many messages led to this one
}

// Parse reads a message's body and names what is wrong with it.
func Parse(body string) (Message, error) {
	var message Message
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		return Message{}, fmt.Errorf("message body is not a wake-up: %w", err)
	}
	if message.Cluster == "" {
		return Message{}, fmt.Errorf("message body lacks the field cluster: %.100q", body)
	}
	return message, nil
}

// Next is the message that goes on with what this one began.
func (m Message) Next(reason Reason, at time.Time) Message {
	return Message{Cluster: m.Cluster, At: at, Reason: reason, Hop: m.Hop + 1}
}

// Sender sends messages to queues.
type Sender struct {
	client *sqs.Client
	now    func() time.Time
}

// NewSender returns a sender through the client.
func NewSender(client *sqs.Client) *Sender {
	return &Sender{client: client, now: time.Now}
}

// Send puts the messages into the queue, each to be delivered when it is due.
// One that is due later than SQS can delay is delivered early.
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

// delay is the whole seconds until a moment, as SQS counts them.
func (s *Sender) delay(at time.Time) int32 {
	wait := min(max(at.Sub(s.now()), 0), MaximumDelay)
	return int32((wait + time.Second/2) / time.Second)
}
