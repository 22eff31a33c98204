package sqs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

func newClient(t *testing.T) (*Service, *awssqs.Client) {
	t.Helper()
	server := wire.NewServer()
	s := New(Options{AccountID: account, Region: "us-east-1", Endpoint: server.URL})
	t.Cleanup(func() { _ = s.Close() })
	return s, awssqs.NewFromConfig(wiretest.Listen(t, server, s))
}

// TestSDK covers a queue's life with AWS's own client, which checks the MD5 sums.
func TestSDK(t *testing.T) {
	_, client := newClient(t)
	ctx := t.Context()
	created, err := client.CreateQueue(ctx,
		&awssqs.CreateQueueInput{QueueName: aws.String("work"), Attributes: map[string]string{"VisibilityTimeout": "60"}})
	if err != nil {
		t.Fatal(err)
	}
	url := created.QueueUrl
	if found, err := client.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("work")}); err != nil ||
		*found.QueueUrl != *url {
		t.Fatalf("GetQueueUrl: %+v, %v", found, err)
	}
	sent, err := client.SendMessage(ctx,
		&awssqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("größer")})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := client.SendMessageBatch(ctx,
		&awssqs.SendMessageBatchInput{QueueUrl: url, Entries: []types.SendMessageBatchRequestEntry{
			{Id: aws.String("1"), MessageBody: aws.String("one")},
			{Id: aws.String("2"), MessageBody: aws.String("later"), DelaySeconds: 900},
			{Id: aws.String("3"), MessageBody: aws.String("never"), DelaySeconds: 901},
		}})
	if err != nil || len(batch.Successful) != 2 || len(batch.Failed) != 1 || *batch.Failed[0].Id != "3" ||
		*batch.Failed[0].Code != "InvalidParameterValue" {
		t.Fatalf("SendMessageBatch: %+v, %v", batch, err)
	}
	received, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil || len(received.Messages) != 2 {
		t.Fatalf("ReceiveMessage: %+v, %v", received, err)
	}
	m := received.Messages[0]
	if *m.MessageId != *sent.MessageId || *m.Body != "größer" {
		t.Errorf("message %+v differs from what was sent: %+v", m, sent)
	}
	for _, name := range []string{
		"ApproximateReceiveCount", "SentTimestamp", "ApproximateFirstReceiveTimestamp", "SenderId",
	} {
		if _, ok := m.Attributes[name]; !ok {
			t.Errorf("the message has no %s: %v", name, m.Attributes)
		}
	}
	attributes, err := client.GetQueueAttributes(ctx,
		&awssqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
		})
	if err != nil || attributes.Attributes["ApproximateNumberOfMessagesNotVisible"] != "2" ||
		attributes.Attributes["ApproximateNumberOfMessagesDelayed"] != "1" {
		t.Errorf("GetQueueAttributes: %+v, %v", attributes, err)
	}
	hidden, err := client.ChangeMessageVisibilityBatch(ctx,
		&awssqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("1"), ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 0},
				{Id: aws.String("2"), ReceiptHandle: aws.String("nonsense")},
			}})
	if err != nil || len(hidden.Successful) != 1 || len(hidden.Failed) != 1 ||
		*hidden.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("ChangeMessageVisibilityBatch: %+v, %v", hidden, err)
	}
	again, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: url})
	if err != nil || len(again.Messages) != 1 {
		t.Fatalf("receiving again: %+v, %v", again, err)
	}
	if _, err := client.DeleteMessage(ctx,
		&awssqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: again.Messages[0].ReceiptHandle}); err != nil {
		t.Error(err)
	}
	if _, err := client.SetQueueAttributes(ctx,
		&awssqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{"DelaySeconds": "3"}}); err != nil {
		t.Error(err)
	}
	if _, err := client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: url}); err == nil ||
		!strings.Contains(err.Error(), "PurgeQueue") {
		t.Errorf("PurgeQueue gives %v, want a refusal that names it", err)
	}
	if _, err := client.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: url}); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	_, client := newClient(t)
	ctx := t.Context()
	created, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("work")})
	if err != nil {
		t.Fatal(err)
	}
	entries := func(n int, body string) []types.SendMessageBatchRequestEntry {
		var all []types.SendMessageBatchRequestEntry
		for i := range n {
			all = append(all, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), MessageBody: aws.String(body)})
		}
		return all
	}
	batch := func(entries []types.SendMessageBatchRequestEntry) error {
		_, err := client.SendMessageBatch(ctx, &awssqs.SendMessageBatchInput{QueueUrl: created.QueueUrl, Entries: entries})
		return err
	}
	single := func(body string) error {
		_, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: created.QueueUrl, MessageBody: aws.String(body)})
		return err
	}
	for _, test := range []struct {
		name string
		do   func() error
		code string
	}{
		{"no such queue", func() error {
			_, err := client.SendMessage(ctx,
				&awssqs.SendMessageInput{QueueUrl: aws.String(*created.QueueUrl + "2"), MessageBody: aws.String("x")})
			var typed *types.QueueDoesNotExist
			if !errors.As(err, &typed) {
				t.Errorf("%v is not the SDK's QueueDoesNotExist", err)
			}
			return err
		}, "AWS.SimpleQueueService.NonExistentQueue"},
		{"queue of another account", func() error {
			_, err := client.SendMessage(ctx,
				&awssqs.SendMessageInput{
					QueueUrl: aws.String("https://sqs.us-east-1.amazonaws.com/999999999999/work"), MessageBody: aws.String("x"),
				})
			return err
		}, "AWS.SimpleQueueService.NonExistentQueue"},
		{"other attributes", func() error {
			_, err := client.CreateQueue(ctx,
				&awssqs.CreateQueueInput{QueueName: aws.String("work"), Attributes: map[string]string{"DelaySeconds": "9"}})
			return err
		}, "QueueAlreadyExists"},
		{"FIFO", func() error {
			_, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String("work.fifo")})
			return err
		}, "InvalidParameterValue"},
		{"too many entries", func() error {
			return batch(entries(11, "x"))
		}, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"},
		{"no entries", func() error {
			return batch([]types.SendMessageBatchRequestEntry{})
		}, "AWS.SimpleQueueService.EmptyBatchRequest"},
		{"batch too long", func() error {
			return batch(entries(2, strings.Repeat("x", 600_000)))
		}, "AWS.SimpleQueueService.BatchRequestTooLong"},
		{"same ids", func() error {
			return batch(append(entries(1, "x"), entries(1, "y")...))
		}, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"},
		{"message too long", func() error { return single(strings.Repeat("x", 1<<20+1)) }, "InvalidParameterValue"},
		{"longest message", func() error { return single(strings.Repeat("x", 1<<20)) }, ""},
		{"empty message", func() error { return single("") }, "MissingParameter"},
		{"control character", func() error { return single("a\x01b") }, "InvalidMessageContents"},
		{"eleven messages", func() error {
			_, err := client.ReceiveMessage(ctx,
				&awssqs.ReceiveMessageInput{QueueUrl: created.QueueUrl, MaxNumberOfMessages: 11})
			return err
		}, "InvalidParameterValue"},
		{"waiting too long", func() error {
			_, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: created.QueueUrl, WaitTimeSeconds: 21})
			return err
		}, "InvalidParameterValue"},
		{"unknown attribute", func() error {
			_, err := client.SetQueueAttributes(ctx,
				&awssqs.SetQueueAttributesInput{QueueUrl: created.QueueUrl, Attributes: map[string]string{"Color": "red"}})
			return err
		}, "InvalidAttributeValue"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.do()
			var answer smithy.APIError
			switch {
			case test.code == "":
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
			case !errors.As(err, &answer) || answer.ErrorCode() != test.code:
				t.Errorf("error %v, want code %s", err, test.code)
			}
		})
	}
}

func TestQueueResource(t *testing.T) {
	s := newService(t)
	queues, policies := queueType{s}, queuePolicyType{s}
	if _, err := s.CreateQueue("dead", nil); err != nil {
		t.Fatal(err)
	}
	first := map[string]any{
		"QueueName": "work", "VisibilityTimeout": 360, "MessageRetentionPeriod": "300",
		"RedrivePolicy": map[string]any{"deadLetterTargetArn": s.arn("dead"), "maxReceiveCount": 5},
	}
	made, err := queues.Create(t.Context(), cloudformation.Request{GeneratedName: "stack-work-1", Properties: first})
	if err != nil {
		t.Fatal(err)
	}
	if made.PhysicalID != "http://127.0.0.1:1/123456789012/work" || made.Attributes["Arn"] != s.arn("work") ||
		made.Attributes["QueueName"] != "work" {
		t.Errorf("result %+v", made)
	}
	policy := map[string]any{"Queues": []any{made.PhysicalID},
		"PolicyDocument": map[string]any{"Statement": []any{map[string]any{
			"Effect": "Allow", "Principal": map[string]any{"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
			"Resource": s.arn("work"),
		}}}}
	if _, err := policies.Create(t.Context(),
		cloudformation.Request{GeneratedName: "policy", Properties: policy}); err != nil {
		t.Fatal(err)
	}
	second := map[string]any{"QueueName": "work", "VisibilityTimeout": 60}
	if again, err := queues.Update(t.Context(),
		cloudformation.Request{PhysicalID: made.PhysicalID, Properties: second, OldProperties: first}); err != nil ||
		again.PhysicalID != made.PhysicalID {
		t.Fatalf("update: %+v, %v", again, err)
	}
	if visibility, err := s.VisibilityTimeout("work"); err != nil || visibility != time.Minute {
		t.Errorf("visibility timeout %v, %v; want a minute", visibility, err)
	}
	if err := s.SendFrom(t.Context(), "events.amazonaws.com", "arn:x", "work", "x", nil); err != nil {
		t.Errorf("the update took the queue's policy away: %v", err)
	}
	if _, err := queues.Create(t.Context(),
		cloudformation.Request{
			Properties: map[string]any{"QueueName": "x", "ContentBasedDeduplication": true},
		}); err == nil || !strings.Contains(err.Error(), "ContentBasedDeduplication") {
		t.Errorf("an unknown property gave %v", err)
	}
	for range 2 {
		if err := queues.Delete(t.Context(), cloudformation.Request{PhysicalID: made.PhysicalID}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
}

// TestTheQueuesPolicyRefusesCallers sends as two roles whose own policies allow it, to a queue that
// excepts one of them from its deny.
func TestTheQueuesPolicyRefusesCallers(t *testing.T) {
	const ours = "arn:aws:iam::" + account + ":role/ours"
	caller := wire.Caller{AccountID: account, RoleARN: ours}
	server := wire.NewServer()
	server.Identify(func(string, string) (wire.Caller, error) { return caller, nil })
	s := New(Options{AccountID: account, Region: "us-east-1", Endpoint: server.URL})
	t.Cleanup(func() { _ = s.Close() })
	client := awssqs.NewFromConfig(wiretest.Listen(t, server, s))
	url, err := s.CreateQueue("work", map[string]string{"Policy": `{"Statement":[{"Effect":"Deny","Principal":"*",` +
		`"Action":"sqs:SendMessage","Resource":"*","Condition":{"ArnNotEquals":{"aws:PrincipalArn":"` + ours + `"}}}]}`})
	if err != nil {
		t.Fatal(err)
	}
	single := func() error {
		_, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("a")})
		return err
	}
	several := func() error {
		_, err := client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{
			QueueUrl: &url,
			Entries:  []types.SendMessageBatchRequestEntry{{Id: aws.String("1"), MessageBody: aws.String("a")}},
		})
		return err
	}
	for _, send := range []func() error{single, several} {
		caller = wire.Caller{AccountID: account, RoleARN: ours}
		if err := send(); err != nil {
			t.Errorf("the excepted role: %v", err)
		}
		for _, other := range []wire.Caller{
			{AccountID: account, RoleARN: ours + "2"}, {AccountID: account, ARN: "arn:aws:iam::" + account + ":root"},
		} {
			caller = other
			var refused smithy.APIError
			if err := send(); !errors.As(err, &refused) || !strings.HasPrefix(refused.ErrorCode(), "AccessDenied") {
				t.Errorf("%+v: %v, want a refusal", other, err)
			}
		}
	}
	if got := receive(t, s, "work", 0); len(got) != 2 {
		t.Errorf("the queue has %d messages, want those of the excepted role", len(got))
	}
}
