package world_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// listener is a user's own queue, to which a rule of the user's sends Whittle's events.
type listener struct {
	queues *sqs.Client
	events *eventbridge.Client
	url    string
}

func listen(t *testing.T, w *world.World) *listener {
	t.Helper()
	at := map[string]string{}
	for _, setting := range w.Environment() {
		key, value, _ := strings.Cut(setting, "=")
		at[key] = value
	}
	config := aws.Config{
		Region: world.Region, BaseEndpoint: aws.String(at["AWS_ENDPOINT_URL"]),
		Credentials: credentials.NewStaticCredentialsProvider(at["AWS_ACCESS_KEY_ID"], at["AWS_SECRET_ACCESS_KEY"], ""),
	}
	l := &listener{queues: sqs.NewFromConfig(config), events: eventbridge.NewFromConfig(config)}
	const name = "automation"
	queue, err := l.queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(name), Attributes: map[string]string{"Policy": `{"Version":"2012-10-17","Statement":[{` +
			`"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}]}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.url = aws.ToString(queue.QueueUrl)
	if _, err := l.events.PutRule(t.Context(), &eventbridge.PutRuleInput{
		Name: aws.String(name), EventPattern: aws.String(`{"source":["whittle"]}`),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.events.PutTargets(t.Context(), &eventbridge.PutTargetsInput{
		Rule: aws.String(name), Targets: []ebtypes.Target{{
			Id: aws.String("queue"), Arn: aws.String("arn:aws:sqs:" + world.Region + ":" + world.AccountID + ":" + name),
		}},
	}); err != nil {
		t.Fatal(err)
	}
	return l
}

// heard checks the events that have come so far, by detail-type.
func (l *listener) heard(t *testing.T, cluster string) {
	count := map[string]int{}
	for empty := 0; empty < 2; {
		out, err := l.queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &l.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 600,
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			empty++
		}
		for _, message := range out.Messages {
			var event struct {
				DetailType string `json:"detail-type"`
				Detail     own.NodeLaunched
			}
			if err := json.Unmarshal([]byte(aws.ToString(message.Body)), &event); err != nil {
				t.Fatalf("%v in %s", err, *message.Body)
			}
			count[event.DetailType]++
			if event.Detail.Cluster != cluster || event.Detail.Version != own.Version {
				t.Errorf("%s", *message.Body)
			}
			if event.DetailType == (own.NodeLaunched{}).DetailType() && (event.Detail.InstanceID == "" ||
				event.Detail.PricePerHour == 0 || event.Detail.NodePool == "") {
				t.Errorf("a launch of %+v", event.Detail)
			}
		}
	}
	for _, wanted := range []own.Detail{own.NodeLaunched{}, own.NodeReady{}, own.NodeDrained{}, own.SavingsFound{}} {
		if count[wanted.DetailType()] == 0 {
			t.Errorf("no event %s came: %v", wanted.DetailType(), count)
		}
	}
}

// asks sends the event by which users wake provision.
func (l *listener) asks(t *testing.T, w *world.World, cluster string) {
	if _, err := l.events.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []ebtypes.PutEventsRequestEntry{{
		Source: aws.String("my.pipeline"), DetailType: aws.String("Provision Now"),
		Detail: aws.String(`{"cluster":"` + cluster + `"}`),
	}}}); err != nil {
		t.Fatal(err)
	}
	asked := func() bool {
		return strings.Contains(strings.Join(w.FunctionLog("provision"), "\n"), "a plan is asked for by an event")
	}
	for deadline := time.Now().Add(time.Minute); !asked(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("provision was not woken")
		}
	}
}
