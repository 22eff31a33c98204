package eventbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsevents "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

const (
	account = "123456789012"
	queue   = "arn:aws:sqs:us-east-1:123456789012:interrupt"
)

// recorder stands for queues and records what they receive.
type recorder struct {
	mu     sync.Mutex
	refuse error
	got    []string
	times  []time.Time
}

func (r *recorder) SendFrom(
	_ context.Context, service, source, queue, body string, attributes map[string]string,
) error {
	if code := attributes["ERROR_CODE"]; code != "" {
		queue += " " + code
	}
	return r.take(service + " " + source + " " + queue + " " + body)
}

func (r *recorder) take(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return r.refuse
	}
	r.got = append(r.got, text)
	r.times = append(r.times, time.Now())
	return nil
}

func newBus(t *testing.T) (*Service, *recorder) {
	r := &recorder{}
	s := New(Options{AccountID: account, Region: "us-east-1", Queues: r})
	t.Cleanup(func() { _ = s.Close() })
	return s, r
}

func spotProperties() map[string]any {
	return map[string]any{
		"EventPattern": map[string]any{
			"source": []any{"aws.ec2"}, "detail-type": []any{"EC2 Spot Instance Interruption Warning"},
		},
		"State": "ENABLED",
		"Targets": []any{
			map[string]any{"Id": "Target0", "Arn": queue},
		},
	}
}

func TestPutDeliversTheEnvelope(t *testing.T) {
	s, r := newBus(t)
	made, err := (ruleType{s}).Create(t.Context(),
		cloudformation.Request{GeneratedName: "stack-Spot-1", Properties: spotProperties()})
	if err != nil || made.PhysicalID != "stack-Spot-1" ||
		made.Attributes["Arn"] != "arn:aws:events:us-east-1:123456789012:rule/stack-Spot-1" {
		t.Fatalf("%+v, %v", made, err)
	}
	warning := Event{
		ID: "6a7e8feb", Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
		Time:      time.Date(2026, 11, 21, 10, 0, 0, 5, time.UTC),
		Resources: []string{"arn:aws:ec2:us-east-1b:instance/i-1"},
		Detail:    json.RawMessage(`{"instance-id":"i-1","instance-action":"terminate"}`),
	}
	if matched := s.Put(t.Context(), warning); len(matched) != 1 || matched[0] != "stack-Spot-1" {
		t.Errorf("matched %v", matched)
	}
	want := `events.amazonaws.com arn:aws:events:us-east-1:123456789012:rule/stack-Spot-1 ` + queue +
		` {"version":"0","id":"6a7e8feb",` +
		`"detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","account":"123456789012",` +
		`"time":"2026-11-21T10:00:00Z","region":"us-east-1",` +
		`"resources":["arn:aws:ec2:us-east-1b:instance/i-1"],"detail":{"instance-id":"i-1","instance-action":"terminate"}}`
	if len(r.got) != 1 || r.got[0] != want {
		t.Errorf("delivered %q\nwant %q", r.got, want)
	}
	if matched := s.Put(t.Context(),
		Event{Source: "aws.ec2", DetailType: "EC2 Instance Rebalance Recommendation"}); len(matched) != 0 {
		t.Errorf("another event matched %v", matched)
	}
	r.refuse = errors.New("no right")
	s.Put(t.Context(), warning)
	if len(r.got) != 1 {
		t.Errorf("delivered %q, although the queue refused", r.got)
	}
	r.refuse = nil
	own := spotProperties()
	own["Targets"] = []any{map[string]any{"Id": "Target0", "Arn": queue, "Input": `{"reason":"spot"}`}}
	if _, err := (ruleType{s}).Update(t.Context(),
		cloudformation.Request{
			PhysicalID: made.PhysicalID, Properties: own, OldProperties: spotProperties(),
		}); err != nil {
		t.Fatal(err)
	}
	s.Put(t.Context(), warning)
	if len(r.got) != 2 || !strings.HasSuffix(r.got[1], ` {"reason":"spot"}`) {
		t.Errorf("delivered %q, want the target's own input", r.got)
	}
	if err := (ruleType{s}).Delete(t.Context(), cloudformation.Request{PhysicalID: made.PhysicalID}); err != nil {
		t.Fatal(err)
	}
	if matched := s.Put(t.Context(), warning); len(matched) != 0 {
		t.Errorf("a deleted rule matched: %v", matched)
	}
}

// refusing takes messages for one queue alone.
type refusing struct {
	*recorder
	open string
}

func (r refusing) SendFrom(
	ctx context.Context, service, source, queue, body string, attributes map[string]string,
) error {
	if queue != r.open {
		return errors.New("no right")
	}
	return r.recorder.SendFrom(ctx, service, source, queue, body, attributes)
}

// TestARefusedEventIsADeadLetter holds that the event comes as it is, and not as the target's own input.
func TestARefusedEventIsADeadLetter(t *testing.T) {
	const dead = queue + "-undelivered"
	r := &recorder{}
	s := New(Options{AccountID: account, Region: "us-east-1", Queues: refusing{r, dead}})
	t.Cleanup(func() { _ = s.Close() })
	properties := spotProperties()
	target := properties["Targets"].([]any)[0].(map[string]any)
	target["Input"] = `{"reason":"spot"}`
	target["DeadLetterConfig"] = map[string]any{"Arn": dead}
	target["RetryPolicy"] = map[string]any{"MaximumEventAgeInSeconds": 900.0}
	made := cloudformation.Request{GeneratedName: "stack-Spot-1", Properties: properties}
	if _, err := (ruleType{s}).Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	s.Put(t.Context(), Event{
		ID: "1", Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning", Detail: json.RawMessage(`{}`),
	})
	if len(r.got) != 1 || !strings.Contains(r.got[0], dead+" NO_PERMISSIONS") || !strings.Contains(r.got[0], `"id":"1"`) {
		t.Errorf("came %q", r.got)
	}
	target["DeadLetterConfig"] = map[string]any{"Arn": "arn:aws:sns:us-east-1:123456789012:topic"}
	made.GeneratedName = "stack-Spot-2"
	if _, err := (ruleType{s}).Create(t.Context(), made); err == nil {
		t.Error("a topic passes for a dead-letter queue")
	}
}

func TestRuleRefusals(t *testing.T) {
	s, _ := newBus(t)
	for _, test := range []struct {
		name   string
		change map[string]any
		says   string
	}{
		{"bad pattern", map[string]any{"EventPattern": map[string]any{"source": "aws.ec2"}}, `["aws.ec2"]`},
		{"no pattern", map[string]any{"EventPattern": nil}, "needs EventPattern"},
		{
			"other target",
			map[string]any{"Targets": []any{map[string]any{"Id": "a", "Arn": "arn:aws:sns:us-east-1:123456789012:t"}}},
			"SQS queues",
		},
		{"other bus", map[string]any{"EventBusName": "mine"}, "default bus"},
		{"schedule", map[string]any{"ScheduleExpression": "rate(1 minute)"}, "property ScheduleExpression is not simulated"},
		{"disabled", map[string]any{"State": "DISABLED"}, "rule r: the State DISABLED is not simulated"},
		{
			"operator", map[string]any{"EventPattern": map[string]any{"source": []any{map[string]any{"prefix": "aws"}}}},
			`rule r: event pattern at source: the operator {"prefix":"aws"} is not simulated`,
		},
		{"unknown property", map[string]any{"Color": "red"}, "Color"},
		{
			"part of the event",
			map[string]any{"Targets": []any{map[string]any{"Id": "a", "Arn": queue, "InputPath": "$.detail"}}},
			"rule r, target a: property InputPath is not simulated",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := spotProperties()
			for name, value := range test.change {
				p[name] = value
			}
			_, err := (ruleType{s}).Create(t.Context(), cloudformation.Request{GeneratedName: "r", Properties: p})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestSDK(t *testing.T) {
	s, r := newBus(t)
	client := awsevents.NewFromConfig(wiretest.Listen(t, wire.NewServer(), s))
	ctx := t.Context()
	if _, err := client.PutRule(ctx,
		&awsevents.PutRuleInput{
			Name:         aws.String("orders"),
			EventPattern: aws.String(`{"source":["shop"],"detail":{"total":[101]}}`),
		}); err != nil {
		t.Fatal(err)
	}
	if put, err := client.PutTargets(ctx,
		&awsevents.PutTargetsInput{
			Rule: aws.String("orders"), Targets: []types.Target{{Id: aws.String("1"), Arn: aws.String(queue)}},
		}); err != nil || put.FailedEntryCount != 0 {
		t.Fatalf("%+v, %v", put, err)
	}
	entry := func(source, detail string) types.PutEventsRequestEntry {
		return types.PutEventsRequestEntry{
			Source: aws.String(source), DetailType: aws.String("order"), Detail: aws.String(detail), Time: aws.Time(time.Now()),
		}
	}
	put, err := client.PutEvents(ctx, &awsevents.PutEventsInput{Entries: []types.PutEventsRequestEntry{
		entry("shop", `{"total":101}`), entry("shop", `{"total":99}`), entry("aws.ec2", `{}`), entry("shop", `{`),
	}})
	if err != nil || put.FailedEntryCount != 2 ||
		aws.ToString(put.Entries[2].ErrorCode) != "NotAuthorizedForSourceException" ||
		aws.ToString(put.Entries[3].ErrorCode) != "MalformedDetail" {
		t.Fatalf("PutEvents: %+v, %v", put, err)
	}
	if len(r.got) != 1 || !strings.Contains(r.got[0], `"detail":{"total":101}`) {
		t.Errorf("delivered %v, want the order of 101", r.got)
	}
	var badPattern *types.InvalidEventPatternException
	if _, err := client.PutRule(ctx,
		&awsevents.PutRuleInput{
			Name: aws.String("bad"), EventPattern: aws.String(`{"source":"x"}`),
		}); !errors.As(err, &badPattern) {
		t.Errorf("a bad pattern gave %v", err)
	}
	if _, err := client.PutTargets(ctx, &awsevents.PutTargetsInput{
		Rule: aws.String("orders"), Targets: []types.Target{{
			Id: aws.String("1"), Arn: aws.String(queue), InputPath: aws.String("$.detail"),
		}},
	}); err == nil || !strings.Contains(err.Error(), "target 1: property InputPath is not simulated") {
		t.Errorf("a path gave %v", err)
	}
	if _, err := client.DeleteRule(ctx, &awsevents.DeleteRuleInput{Name: aws.String("orders")}); err == nil {
		t.Error("a rule with targets was deleted")
	}
	remove := &awsevents.RemoveTargetsInput{Rule: aws.String("orders"), Ids: []string{"1"}}
	if _, err := client.RemoveTargets(ctx, remove); err != nil {
		t.Error(err)
	}
	if _, err := client.DeleteRule(ctx, &awsevents.DeleteRuleInput{Name: aws.String("orders")}); err != nil {
		t.Error(err)
	}
	var notFound *types.ResourceNotFoundException
	if _, err := client.RemoveTargets(ctx, remove); !errors.As(err, &notFound) {
		t.Errorf("an unknown rule gave %v", err)
	}
}

func TestEventsMayComeLateAndTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		s := New(Options{
			AccountID: account, Region: "us-east-1", Queues: r,
			Delivery: Delivery{Seed: 1, Twice: 0.5, Late: 0.5, MostLate: 30 * time.Second},
		})
		if err := s.putRule(ruleDefinition{Name: "all", EventPattern: `{"source":["aws.ec2"]}`}, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.putTargets("all", []Target{{ID: "queue", Arn: queue}}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		const events = 100
		for i := range events {
			s.Put(t.Context(), Event{ID: fmt.Sprint(i), Source: "aws.ec2", DetailType: "state"})
		}
		if atOnce := len(r.got); atOnce < 30 || atOnce > 70 {
			t.Errorf("%d of %d events came at once", atOnce, events)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		seen := map[string]int{}
		for _, got := range r.got {
			seen[got]++
		}
		if len(seen) != events {
			t.Errorf("%d of %d events came", len(seen), events)
		}
		if again := len(r.got) - events; again < 30 || again > 70 {
			t.Errorf("%d of %d events came twice", again, events)
		}
		for _, at := range r.times {
			if at.Sub(began) > 30*time.Second {
				t.Errorf("an event came after %s", at.Sub(began))
			}
		}
		s.Put(t.Context(), Event{ID: "last", Source: "aws.ec2", DetailType: "state"})
		if err := s.Close(); err != nil { // does not wait for late events
			t.Error(err)
		}
	})
}
