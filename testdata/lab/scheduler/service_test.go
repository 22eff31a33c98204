package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

const (
	function = "arn:aws:lambda:us-east-1:123456789012:function:whittle-prod-ticker"
	role     = "arn:aws:iam::123456789012:role/scheduler"
)

// recorder stands for queues and functions and records what they receive, and when.
type recorder struct {
	mu     sync.Mutex
	refuse error
	got    []string
	times  []time.Time
}

func (r *recorder) InvokeAs(_ context.Context, service, roleARN, functionARN string, payload []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return r.refuse
	}
	r.got = append(r.got, service+" "+roleARN+" "+functionARN+" "+string(payload))
	r.times = append(r.times, time.Now())
	return nil
}

func (r *recorder) SendAs(_, queue string, message sqs.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, queue+" "+message.Body+message.Attributes["ERROR_MESSAGE"])
	r.times = append(r.times, time.Now())
	return nil
}

func newScheduler(t *testing.T) (*Service, *recorder) {
	r := &recorder{}
	s := New(Options{AccountID: "123456789012", Region: "us-east-1", Queues: r, Functions: r})
	t.Cleanup(func() { _ = s.Close() })
	return s, r
}

func properties(expression string, more map[string]any) map[string]any {
	p := map[string]any{
		"Name": "ticker", "ScheduleExpression": expression, "FlexibleTimeWindow": map[string]any{"Mode": "OFF"},
		"Target": map[string]any{
			"Arn": function, "RoleArn": role, "RetryPolicy": map[string]any{"MaximumRetryAttempts": "0"},
		},
	}
	for name, value := range more {
		p[name] = value
	}
	return p
}

// TestARefusedRunIsADeadLetter has a function that takes no run, as where the role has lost its right.
func TestARefusedRunIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newScheduler(t)
		r.refuse = errors.New("no right to invoke")
		const dead = "arn:aws:sqs:us-east-1:123456789012:undelivered"
		made := properties("rate(1 minute)", nil)
		made["Target"].(map[string]any)["DeadLetterConfig"] = map[string]any{"Arn": dead}
		if _, err := (scheduleType{s}).Create(t.Context(), cloudformation.Request{Properties: made}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Second)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.got) != 2 || !strings.HasPrefix(r.got[0], dead) || !strings.HasSuffix(r.got[0], "no right to invoke") {
			t.Errorf("came %q, want the runs of two minutes with their reason", r.got)
		}
	})
}

func TestJitterDelaysEachRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		jitter := Jitter{Most: 59 * time.Second}
		s := New(Options{AccountID: "123456789012", Region: "us-east-1", Functions: r, Jitter: jitter})
		t.Cleanup(func() { _ = s.Close() })
		began := time.Now()
		if _, err := (scheduleType{s}).Create(t.Context(),
			cloudformation.Request{Properties: properties("rate(1 minute)", nil)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(r.times) != 10 {
			t.Fatalf("%d runs within ten minutes", len(r.times))
		}
		late := map[time.Duration]bool{}
		for minute, at := range r.times {
			delay := at.Sub(began.Add(time.Duration(minute) * time.Minute))
			if delay < 0 || delay > 59*time.Second {
				t.Errorf("run %d is %s late", minute, delay)
			}
			late[delay] = true
		}
		if len(late) < 9 {
			t.Errorf("the delays are %v", late)
		}
	})
}

func TestRuns(t *testing.T) {
	for _, test := range []struct {
		expression string
		want       []time.Duration
	}{
		{"rate(1 minute)", []time.Duration{0, time.Minute, 2 * time.Minute}},
		{"rate(2 minutes)", []time.Duration{0, 2 * time.Minute}},
		{"rate(1 hour)", []time.Duration{0}},
	} {
		t.Run(test.expression, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := newScheduler(t)
				started := time.Now()
				if _, err := (scheduleType{s}).Create(t.Context(),
					cloudformation.Request{Properties: properties(test.expression, nil)}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2*time.Minute + 10*time.Second)
				synctest.Wait()
				var got []time.Duration
				for _, at := range r.times {
					got = append(got, at.Sub(started))
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("ran after %v, want %v", got, test.want)
				}
				_ = s.Close()
			})
		})
	}
}

func TestInput(t *testing.T) {
	for name, test := range map[string]struct{ arn, input, want string }{
		"own input": {
			function, `{"a":1}`, "scheduler.amazonaws.com " + role + " " + function + ` {"a":1}`,
		},
		"event": {
			function, "", `"detail-type":"Scheduled Event","source":"aws.scheduler","account":"123456789012",` +
				`"time":"2000-01-01T00:00:00Z"`,
		},
		"queue": {
			"arn:aws:sqs:us-east-1:123456789012:q", "text", "arn:aws:sqs:us-east-1:123456789012:q text",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := newScheduler(t)
				p := properties("rate(1 hour)", map[string]any{
					"Target": map[string]any{"Arn": test.arn, "RoleArn": role, "Input": test.input},
				})
				if _, err := (scheduleType{s}).Create(t.Context(), cloudformation.Request{Properties: p}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(r.got) != 1 || !strings.Contains(r.got[0], test.want) {
					t.Errorf("delivered %q\nwant %q", r.got, test.want)
				}
				_ = s.Close()
			})
		})
	}
}

func TestUpdateAndDeleteStopTheOldTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newScheduler(t)
		resource := scheduleType{s}
		first, second := properties("rate(1 minute)", nil), properties("rate(1 hour)", nil)
		if _, err := resource.Create(t.Context(), cloudformation.Request{Properties: first}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if _, err := resource.Update(t.Context(),
			cloudformation.Request{PhysicalID: "ticker", Properties: second, OldProperties: first}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(r.times) != 2 {
			t.Errorf("ran at %v, want once for each definition", r.times)
		}
		for range 2 {
			if err := resource.Delete(t.Context(),
				cloudformation.Request{PhysicalID: "ticker", Properties: second}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		if len(r.times) != 2 {
			t.Errorf("ran after it was deleted: %v", r.times)
		}
		_ = s.Close()
	})
}

func TestRefusals(t *testing.T) {
	s, _ := newScheduler(t)
	for _, test := range []struct {
		name string
		more map[string]any
		says string
	}{
		{"seconds", map[string]any{"ScheduleExpression": "rate(10 seconds)"}, "schedule ticker: the ScheduleExpression"},
		{"none", map[string]any{"ScheduleExpression": "rate(0 minutes)"}, "from 1 to 1000000"},
		{
			"cron", map[string]any{"ScheduleExpression": "cron(0 12 * * ? *)"},
			`the ScheduleExpression "cron(0 12 * * ? *)" is not simulated`,
		},
		{"no window", map[string]any{"FlexibleTimeWindow": nil}, "FlexibleTimeWindow.Mode"},
		{"disabled", map[string]any{"State": "DISABLED"}, "the State DISABLED is not simulated"},
		{"no role", map[string]any{"Target": map[string]any{"Arn": function}}, "RoleArn"},
		{
			"other target",
			map[string]any{"Target": map[string]any{"Arn": "arn:aws:scheduler:::aws-sdk:ec2:x", "RoleArn": role}},
			"Lambda functions and SQS queues",
		},
		{"group", map[string]any{"GroupName": "mine"}, "property GroupName is not simulated"},
		{"unknown property", map[string]any{"Color": "red"}, "Color"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := (scheduleType{s}).Create(t.Context(),
				cloudformation.Request{Properties: properties("rate(1 minute)", test.more)})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestSDK(t *testing.T) {
	s, _ := newScheduler(t)
	client := awsscheduler.NewFromConfig(wiretest.Listen(t, wire.NewServer(), s))
	ctx := t.Context()
	in := &awsscheduler.CreateScheduleInput{
		Name: aws.String("ticker"), ScheduleExpression: aws.String("rate(1 minute)"),
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		Target:             &types.Target{Arn: aws.String(function), RoleArn: aws.String(role)},
	}
	if created, err := client.CreateSchedule(ctx, in); err != nil ||
		*created.ScheduleArn != "arn:aws:scheduler:us-east-1:123456789012:schedule/default/ticker" {
		t.Fatalf("CreateSchedule: %+v, %v", created, err)
	}
	var conflict *types.ConflictException
	if _, err := client.CreateSchedule(ctx, in); !errors.As(err, &conflict) {
		t.Errorf("creating it again gave %v", err)
	}
	in.EndDate = aws.Time(time.Now())
	if _, err := client.CreateSchedule(ctx, in); err == nil ||
		!strings.Contains(err.Error(), "schedule ticker: property EndDate is not simulated") {
		t.Errorf("a last date gave %v", err)
	}
	remove := &awsscheduler.DeleteScheduleInput{Name: aws.String("ticker")}
	if _, err := client.DeleteSchedule(ctx, remove); err != nil {
		t.Error(err)
	}
	var notFound *types.ResourceNotFoundException
	if _, err := client.DeleteSchedule(ctx, remove); !errors.As(err, &notFound) {
		t.Errorf("a deleted schedule gave %v", err)
	}
}
