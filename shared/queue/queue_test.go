package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// local is a queue of the local SQS, and a sender to it.
func local(t *testing.T) (service *sqs.Service, sender *Sender, url string) {
	t.Helper()
	server := wire.NewServer()
	service = sqs.New(sqs.Options{AccountID: "123456789012", Region: "us-east-1", Endpoint: server.URL})
	t.Cleanup(func() { _ = service.Close() })
	service.Register(server)
	endpoint, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	if url, err = service.CreateQueue("provision", nil); err != nil {
		t.Fatal(err)
	}
	return service, NewSender(awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
	}), time.Now), url
}

func TestMessagesArriveWholeAndWhenTheyAreDue(t *testing.T) {
	service, sender, url := local(t)
	now := time.Now()
	var messages []Message
	for i := range 23 { // more than two calls of SQS take
		messages = append(messages, Message{Cluster: "prod", At: now, Reason: ReasonTick, Hop: i})
	}
	messages = append(messages, Message{Cluster: "prod", At: now.Add(time.Hour), Reason: ReasonContinue, Hop: 99})
	if err := sender.Send(t.Context(), url, messages...); err != nil {
		t.Fatal(err)
	}
	attributes, err := service.Attributes("provision")
	if err != nil || attributes["ApproximateNumberOfMessages"] != "23" ||
		attributes["ApproximateNumberOfMessagesDelayed"] != "1" {
		t.Errorf("the queue has %v, %v", attributes, err)
	}
	var hops []int
	for len(hops) < 23 {
		received, err := service.Receive(t.Context(), "provision", sqs.ReceiveOptions{Maximum: 10})
		if err != nil || len(received) == 0 {
			t.Fatalf("after %d messages: %v, %v", len(hops), received, err)
		}
		for _, one := range received {
			message, err := Parse(one.Body)
			if err != nil || message.Cluster != "prod" || message.Reason != ReasonTick || !message.At.Equal(now) {
				t.Errorf("%+v, %v", message, err)
			}
			hops = append(hops, message.Hop)
		}
	}
	slices.Sort(hops)
	if hops[0] != 0 || hops[22] != 22 || len(slices.Compact(hops)) != 23 {
		t.Errorf("hops are %v", hops)
	}
}

func TestSendingToAQueueThatIsGoneIsAnError(t *testing.T) {
	_, sender, url := local(t)
	err := sender.Send(t.Context(), url+"-gone", Message{Cluster: "prod"})
	if err == nil || !strings.Contains(err.Error(), url+"-gone") {
		t.Errorf("error is %v", err)
	}
	if err := sender.Send(t.Context(), url+"-gone"); err != nil {
		t.Errorf("sending nothing: %v", err)
	}
}

func TestARefusedCallIsTold(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("no answer"), false},
		{fmt.Errorf("sending: %w", &smithy.GenericAPIError{Code: "AccessDeniedException"}), true},
		{&smithy.GenericAPIError{Code: "RequestThrottled"}, false},
	} {
		if got := IsRefused(test.err); got != test.want {
			t.Errorf("%v: %t, want %t", test.err, got, test.want)
		}
	}
}

func TestARefusedMessageIsAnError(t *testing.T) {
	_, sender, url := local(t)
	err := sender.Send(t.Context(), url, Message{Cluster: "prod"}, Message{Cluster: strings.Repeat("x", 2<<20)})
	if err == nil || !strings.Contains(err.Error(), url) {
		t.Errorf("error is %v, want that the message is too long", err)
	}
}

func TestDelayIsInWholeSecondsAndBounded(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	sender := &Sender{now: func() time.Time { return now }}
	for _, test := range []struct {
		in   time.Duration
		want int32
	}{
		{-time.Hour, 0}, {0, 0}, {400 * time.Millisecond, 0}, {500 * time.Millisecond, 1}, {10 * time.Second, 10},
		{59*time.Second + 600*time.Millisecond, 60},
		{15 * time.Minute, 900}, {time.Hour, 900},
	} {
		if got := sender.delay(now.Add(test.in)); got != test.want {
			t.Errorf("due in %s: delayed by %d s, want %d", test.in, got, test.want)
		}
	}
	if got := sender.delay(time.Time{}); got != 0 {
		t.Errorf("a message without a time is delayed by %d s", got)
	}
}

func TestParseNamesTheProblem(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{"", "not a wake-up"},
		{"{", "not a wake-up"},
		{"[]", "not a wake-up"},
		{`{"cluster":"prod","at":"yesterday"}`, "not a wake-up"},
		{`{"cluster":7}`, "cluster"},
		{`{}`, "lacks the field cluster"},
		{`{"source":"aws.ec2"}`, "lacks the field cluster"},
	} {
		if _, err := Parse(test.body); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error is %v, want %q", test.body, err, test.want)
		}
	}
	message, err := Parse(`{"cluster":"prod","at":"2026-03-01T12:00:00Z","reason":"launch","hop":3,"new":true}`)
	if err != nil || message.Cluster != "prod" || message.Reason != ReasonLaunch || message.Hop != 3 ||
		message.At.Hour() != 12 {
		t.Errorf("%+v, %v", message, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"cluster":"prod","at":"2026-03-01T12:00:00Z","reason":"tick","hop":0}`)
	f.Add(`{"cluster":""}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, body string) {
		if message, err := Parse(body); err == nil && message.Cluster == "" {
			t.Errorf("%q gives a message for no cluster", body)
		}
	})
}

func TestNextCountsTheHops(t *testing.T) {
	at := time.Date(2026, time.March, 1, 12, 0, 5, 0, time.UTC)
	first := Message{Cluster: "prod", Reason: ReasonTick, At: at.Add(-5 * time.Second)}
	second, _ := first.Next(ReasonLaunch, at)
	next, ok := second.Next(ReasonContinue, at)
	if want := (Message{Cluster: "prod", Reason: ReasonContinue, At: at, Hop: 2}); next != want || !ok {
		t.Errorf("next is %+v, %t, want %+v", next, ok, want)
	}
}

func TestAChainEnds(t *testing.T) {
	message, err := Parse(`{"cluster":"prod","hop":-1000000}`)
	followed := 0
	for more := err == nil; more; followed++ {
		message, more = message.Next(ReasonContinue, time.Time{})
	}
	if followed != MaximumHops+1 || err != nil {
		t.Errorf("a message led to %d more, %v, want %d", followed-1, err, MaximumHops)
	}
}

// TestReceivedMessagesComeBackInTime shows only the message whose time was set, before the queue's
// visibility timeout.
func TestReceivedMessagesComeBackInTime(t *testing.T) {
	service, sender, url := local(t)
	if err := sender.Send(t.Context(), url, Message{Cluster: "prod"}, Message{Cluster: "prod"}); err != nil {
		t.Fatal(err)
	}
	var receipts []Received
	for len(receipts) < 2 {
		some, err := service.Receive(t.Context(), "provision", sqs.ReceiveOptions{Maximum: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range some {
			receipts = append(receipts, Received{ID: one.ID, Receipt: one.ReceiptHandle})
		}
	}
	if err := sender.ShowAgain(t.Context(), url, time.Second, receipts[0], Received{ID: "by hand"}); err != nil {
		t.Fatal(err)
	}
	again, err := service.Receive(t.Context(), "provision", sqs.ReceiveOptions{Maximum: 10, Wait: 10 * time.Second})
	if err != nil || len(again) != 1 || again[0].ID != receipts[0].ID || again[0].ReceiveCount != 2 {
		t.Errorf("came back: %+v, %v", again, err)
	}
	if err := sender.ShowAgain(t.Context(), url, time.Second, Received{ID: "1", Receipt: "no receipt"}); err == nil ||
		!strings.Contains(err.Error(), url) {
		t.Errorf("with a receipt that the queue does not know: %v", err)
	}
}
