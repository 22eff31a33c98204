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

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
	"github.com/whittle-dev/whittle/infra/local/sqs"
	"github.com/whittle-dev/whittle/infra/local/wire"
	"github.com/whittle-dev/whittle/infra/local/wire/wiretest"
)

const (
	account = "123456789012"
	queue   = "arn:aws:sqs:us-east-1:123456789012:interrupt"
)

// recorder stands for queues and functions and records what they receive.
type recorder struct {
	mu     sync.Mutex
	refuse error
	got    []string
	dead   []sqs.Message
	times  []time.Time
}

func (r *recorder) SendFrom(_ context.Context, service, source, queue, body string) error {
	return r.take(service + " " + source + " " + queue + " " + body)
}

func (r *recorder) InvokeFrom(_ context.Context, service, source, function string, payload []byte) error {
	return r.take(service + " " + source + " " + function + " " + string(payload))
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

func (r *recorder) Send(_ string, message sqs.Message, _ *time.Duration) (sqs.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = append(r.dead, message)
	return message, nil
}

func newBus(t *testing.T) (*Service, *recorder) {
	r := &recorder{}
	s := New(Options{AccountID: account, Region: "us-east-1", Queues: r, Functions: r, Archive: 3})
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
			map[string]any{"Id": "Target0", "Arn": queue, "DeadLetterConfig": map[string]any{"Arn": queue + "-dead"}},
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
	if len(r.dead) != 1 || r.dead[0].Attributes["ERROR_MESSAGE"].StringValue != "no right" {
		t.Errorf("dead letters %+v, want the refused event", r.dead)
	}
	s.Put(t.Context(), Event{Source: "mine", DetailType: "x"})
	archived := s.Events()
	if len(archived) != 3 || archived[0].Event.DetailType != "EC2 Instance Rebalance Recommendation" ||
		len(archived[1].Failures) != 1 {
		t.Errorf("archive %+v: want the last three events and the failure of the second of them", archived)
	}
	disabled := spotProperties()
	disabled["State"] = "DISABLED"
	if _, err := (ruleType{s}).Update(t.Context(),
		cloudformation.Request{
			PhysicalID: made.PhysicalID, Properties: disabled, OldProperties: spotProperties(),
		}); err != nil {
		t.Fatal(err)
	}
	if matched := s.Put(t.Context(), warning); len(matched) != 0 {
		t.Errorf("a disabled rule matched: %v", matched)
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
			"SQS queues and Lambda",
		},
		{"other bus", map[string]any{"EventBusName": "mine"}, "default bus"},
		{"one-time schedule", map[string]any{"ScheduleExpression": "at(2026-11-21T10:00:00)"}, "EventBridge Scheduler"},
		{"unknown property", map[string]any{"Color": "red"}, "Color"},
		{
			"two inputs",
			map[string]any{"Targets": []any{map[string]any{"Id": "a", "Arn": queue, "Input": "{}", "InputPath": "$.detail"}}},
			"only one of",
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

func TestTargetInput(t *testing.T) {
	event := []byte(
		`{"id":"1","detail-type":"State","detail":{"state":"running \"now\"","n":5,"list":[1,2]},"resources":["a","b"]}`)
	paths := map[string]string{
		"state": "$.detail.state", "n": "$.detail.n", "type": "$['detail-type']", "second": "$.resources[1]",
		"none": "$.detail.none", "detail": "$.detail.list",
	}
	for _, test := range []struct {
		name   string
		target Target
		want   string
	}{
		{"as it is", Target{}, string(event)},
		{"constant", Target{Input: `{"a":1}`}, `{"a":1}`},
		{"path", Target{InputPath: "$.detail.list"}, `[1,2]`},
		{"path to text", Target{InputPath: "$.detail-type"}, `"State"`},
		{"path to nothing", Target{InputPath: "$.detail.x"}, `{}`},
		{
			"template of JSON",
			Target{InputTransformer: &InputTransformer{paths, `{"s":<state>,"n":<n>,"x":<none>,"l":<detail>}`}},
			`{"s":"running \"now\"","n":5,"x":null,"l":[1,2]}`,
		},
		{
			"template of text", Target{InputTransformer: &InputTransformer{paths, `"<type> of <second>: <n><none>, <unknown>"`}},
			`"State of b: 5, <unknown>"`,
		},
		{
			"text in a JSON string", Target{InputTransformer: &InputTransformer{paths, `{"s":"it is <state>"}`}},
			`{"s":"it is running \"now\""}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.target.input(event)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestScheduledRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newBus(t)
		started := time.Now()
		err := s.putRule(ruleDefinition{Name: "tick", ScheduleExpression: "rate(5 minutes)"},
			&[]Target{{ID: "a", Arn: "arn:aws:lambda:us-east-1:123456789012:function:f"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.times) != 2 || r.times[0].Sub(started) != 5*time.Minute || r.times[1].Sub(started) != 10*time.Minute {
			t.Errorf("ran at %v from %v, want after 5 and 10 minutes", r.times, started)
		}
		if !strings.Contains(r.got[0], `"detail-type":"Scheduled Event","source":"aws.events"`) {
			t.Errorf("the event was %s", r.got[0])
		}
		_ = s.Close()
	})
}

func TestSDK(t *testing.T) {
	s, r := newBus(t)
	client := awsevents.NewFromConfig(wiretest.Listen(t, wire.NewServer(), s))
	ctx := t.Context()
	if _, err := client.PutRule(ctx,
		&awsevents.PutRuleInput{
			Name:         aws.String("orders"),
			EventPattern: aws.String(`{"source":["shop"],"detail":{"total":[{"numeric":[">",100]}]}}`),
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
	if rules, err := client.ListRules(ctx, &awsevents.ListRulesInput{}); err != nil || len(rules.Rules) != 1 ||
		rules.Rules[0].State != types.RuleStateEnabled {
		t.Errorf("ListRules: %+v, %v", rules, err)
	}
	if rule, err := client.DescribeRule(ctx, &awsevents.DescribeRuleInput{Name: aws.String("orders")}); err != nil ||
		rule.EventPattern == nil {
		t.Errorf("DescribeRule: %+v, %v", rule, err)
	}
	if targets, err := client.ListTargetsByRule(ctx,
		&awsevents.ListTargetsByRuleInput{Rule: aws.String("orders")}); err != nil || len(targets.Targets) != 1 ||
		*targets.Targets[0].Arn != queue {
		t.Errorf("ListTargetsByRule: %+v, %v", targets, err)
	}
	event := `{"id":"1","account":"1","source":"aws.ec2","time":"2026-11-21T10:00:00Z","region":"r","resources":[],` +
		`"detail-type":"x","detail":{}}`
	if tested, err := client.TestEventPattern(ctx,
		&awsevents.TestEventPatternInput{
			Event: aws.String(event), EventPattern: aws.String(`{"source":["aws.ec2"]}`),
		}); err != nil || !tested.Result {
		t.Errorf("TestEventPattern: %+v, %v", tested, err)
	}
	var badPattern *types.InvalidEventPatternException
	if _, err := client.PutRule(ctx,
		&awsevents.PutRuleInput{
			Name: aws.String("bad"), EventPattern: aws.String(`{"source":"x"}`),
		}); !errors.As(err, &badPattern) {
		t.Errorf("a bad pattern gave %v", err)
	}
	var notFound *types.ResourceNotFoundException
	if _, err := client.DescribeRule(ctx, &awsevents.DescribeRuleInput{Name: aws.String("nobody")}); !errors.As(err,
		&notFound) {
		t.Errorf("an unknown rule gave %v", err)
	}
}

func TestEventsMayComeLateAndTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		s := New(Options{
			AccountID: account, Region: "us-east-1", Queues: r, Functions: r,
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
