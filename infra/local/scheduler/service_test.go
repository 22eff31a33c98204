package scheduler

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
	"github.com/whittle-dev/whittle/infra/local/sqs"
	"github.com/whittle-dev/whittle/infra/local/wire"
	"github.com/whittle-dev/whittle/infra/local/wire/wiretest"
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
	dead   []sqs.Message
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

func (r *recorder) Send(queue string, message sqs.Message, _ *time.Duration) (sqs.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasSuffix(queue, "dead") {
		r.dead = append(r.dead, message)
	} else {
		r.got = append(r.got, queue+" "+message.Body)
		r.times = append(r.times, time.Now())
	}
	return message, nil
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
		more       map[string]any
		want       []time.Duration
	}{
		{"rate(1 minute)", nil, []time.Duration{0, time.Minute, 2 * time.Minute}},
		{"rate(1 hour)", nil, []time.Duration{0}},
		{"rate(1 minute)", map[string]any{"StartDate": "2000-01-01T00:01:30Z"}, []time.Duration{90 * time.Second}},
		{"rate(1 minute)", map[string]any{"EndDate": "2000-01-01T00:01:30Z"}, []time.Duration{0, time.Minute}},
		{"rate(1 minute)", map[string]any{"State": "DISABLED"}, nil},
		// The bubble's clock begins at midnight.
		{"cron(* * * * ? *)", nil, []time.Duration{0, time.Minute, 2 * time.Minute}},
		{"cron(1 0 * * ? *)", nil, []time.Duration{time.Minute}},
		{"at(2000-01-01T00:01:10)", nil, []time.Duration{70 * time.Second}},
		{"at(1999-01-01T00:01:10)", nil, nil},
	} {
		t.Run(test.expression, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := newScheduler(t)
				started := time.Now()
				if _, err := (scheduleType{s}).Create(t.Context(),
					cloudformation.Request{Properties: properties(test.expression, test.more)}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2*time.Minute + 10*time.Second)
				synctest.Wait()
				var got []time.Duration
				for _, at := range r.times {
					got = append(got, at.Sub(started))
				}
				if len(got) != len(test.want) {
					t.Fatalf("ran after %v, want %v", got, test.want)
				}
				for i := range got {
					if got[i] != test.want[i] {
						t.Errorf("ran after %v, want %v", got, test.want)
					}
				}
				if len(s.Runs()) != len(test.want) {
					t.Errorf("runs %+v, want %d", s.Runs(), len(test.want))
				}
				_ = s.Close()
			})
		})
	}
}

func TestInputAndDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newScheduler(t)
		target := map[string]any{
			"Arn": function, "RoleArn": role,
			"Input":            `{"at":"<aws.scheduler.scheduled-time>","by":"<aws.scheduler.schedule-arn>"}`,
			"DeadLetterConfig": map[string]any{"Arn": "arn:aws:sqs:us-east-1:123456789012:dead"},
		}
		p := properties("rate(1 minute)", map[string]any{"Target": target})
		if _, err := (scheduleType{s}).Create(t.Context(), cloudformation.Request{Properties: p}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := "scheduler.amazonaws.com " + role + " " + function +
			` {"at":"2000-01-01T00:00:00Z","by":"arn:aws:scheduler:us-east-1:123456789012:schedule/default/ticker"}`
		if len(r.got) != 1 || r.got[0] != want {
			t.Errorf("invoked with %q\nwant %q", r.got, want)
		}
		r.mu.Lock()
		r.refuse = errors.New("no right")
		r.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(r.dead) != 1 || r.dead[0].Attributes["ERROR_MESSAGE"].StringValue != "no right" {
			t.Errorf("dead letters: %+v", r.dead)
		}
		if runs := s.Runs(); len(runs) != 2 || runs[1].Err == nil {
			t.Errorf("runs: %+v", runs)
		}
		_ = s.Close()
	})
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
		{"seconds", map[string]any{"ScheduleExpression": "rate(10 seconds)"}, "rate"},
		{"no window", map[string]any{"FlexibleTimeWindow": nil}, "FlexibleTimeWindow.Mode"},
		{"no role", map[string]any{"Target": map[string]any{"Arn": function}}, "RoleArn"},
		{
			"other target",
			map[string]any{"Target": map[string]any{"Arn": "arn:aws:scheduler:::aws-sdk:ec2:x", "RoleArn": role}},
			"Lambda functions and SQS queues",
		},
		{"zone", map[string]any{"ScheduleExpressionTimezone": "Mars"}, "Mars"},
		{"group", map[string]any{"GroupName": "nobody"}, "nobody"},
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
	if _, err := client.CreateScheduleGroup(ctx,
		&awsscheduler.CreateScheduleGroupInput{Name: aws.String("whittle")}); err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(time.Hour).Truncate(time.Second)
	in := &awsscheduler.CreateScheduleInput{
		Name: aws.String("ticker"), GroupName: aws.String("whittle"), ScheduleExpression: aws.String("rate(1 minute)"),
		StartDate:          aws.Time(start),
		FlexibleTimeWindow: &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		Target:             &types.Target{Arn: aws.String(function), RoleArn: aws.String(role)},
	}
	if created, err := client.CreateSchedule(ctx, in); err != nil ||
		*created.ScheduleArn != "arn:aws:scheduler:us-east-1:123456789012:schedule/whittle/ticker" {
		t.Fatalf("CreateSchedule: %+v, %v", created, err)
	}
	var conflict *types.ConflictException
	if _, err := client.CreateSchedule(ctx, in); !errors.As(err, &conflict) {
		t.Errorf("creating it again gave %v", err)
	}
	got, err := client.GetSchedule(ctx,
		&awsscheduler.GetScheduleInput{Name: aws.String("ticker"), GroupName: aws.String("whittle")})
	if err != nil || !got.StartDate.Equal(start) || got.State != types.ScheduleStateEnabled ||
		*got.Target.Arn != function {
		t.Errorf("GetSchedule: %+v, %v", got, err)
	}
	if _, err := client.UpdateSchedule(ctx, &awsscheduler.UpdateScheduleInput{
		Name: in.Name, GroupName: in.GroupName, ScheduleExpression: aws.String("cron(0 12 * * ? *)"),
		State:              types.ScheduleStateDisabled,
		FlexibleTimeWindow: in.FlexibleTimeWindow, Target: in.Target,
	}); err != nil {
		t.Error(err)
	}
	if listed, err := client.ListSchedules(ctx,
		&awsscheduler.ListSchedulesInput{GroupName: aws.String("whittle")}); err != nil || len(listed.Schedules) != 1 ||
		listed.Schedules[0].State != types.ScheduleStateDisabled {
		t.Errorf("ListSchedules: %+v, %v", listed, err)
	}
	if _, err := client.DeleteSchedule(ctx,
		&awsscheduler.DeleteScheduleInput{Name: aws.String("ticker"), GroupName: aws.String("whittle")}); err != nil {
		t.Error(err)
	}
	var notFound *types.ResourceNotFoundException
	if _, err := client.GetSchedule(ctx,
		&awsscheduler.GetScheduleInput{
			Name: aws.String("ticker"), GroupName: aws.String("whittle"),
		}); !errors.As(err, &notFound) {
		t.Errorf("a deleted schedule gave %v", err)
	}
	if _, err := client.DeleteScheduleGroup(ctx,
		&awsscheduler.DeleteScheduleGroupInput{Name: aws.String("whittle")}); err != nil {
		t.Error(err)
	}
}
