package reaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/reaction"
)

// invocations keeps what was invoked.
type invocations struct {
	inputs []*lambda.InvokeInput
	err    error
}

func (i *invocations) Invoke(
	_ context.Context, input *lambda.InvokeInput, _ ...func(*lambda.Options),
) (*lambda.InvokeOutput, error) {
	i.inputs = append(i.inputs, input)
	return &lambda.InvokeOutput{}, i.err
}

// leases answers for every Lease.
type leases struct {
	held bool
	err  error
}

func (l leases) LeaseHeld(context.Context, string, time.Time) (bool, error) { return l.held, l.err }

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func settings() reaction.Settings {
	return reaction.Settings{Function: "whittle-prod-watch", Mode: reaction.Adaptive, QuietAfter: 5 * time.Minute}
}

func TestAWatchIsStartedWhereNoneRuns(t *testing.T) {
	for _, test := range []struct {
		name   string
		leases leases
		want   int
	}{
		{"none runs", leases{}, 1},
		{"one runs", leases{held: true}, 0},
		{"nobody knows", leases{err: errors.New("the API server is busy")}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			invoked := &invocations{}
			reaction.NewStarterFor(invoked, settings()).Start(t.Context(), test.leases, now)
			if len(invoked.inputs) != test.want {
				t.Fatalf("%d invocations, want %d", len(invoked.inputs), test.want)
			}
			for _, input := range invoked.inputs {
				if *input.FunctionName != "whittle-prod-watch" || input.InvocationType != lambdatypes.InvocationTypeEvent {
					t.Errorf("invoked %s by %s", *input.FunctionName, input.InvocationType)
				}
			}
		})
	}
}

func TestAContainerLooksNowAndThen(t *testing.T) {
	invoked := &invocations{err: errors.New("a VPC without a way to Lambda")}
	starter := reaction.NewStarterFor(invoked, settings())
	for second := range 25 {
		starter.Start(t.Context(), leases{}, now.Add(time.Duration(second)*time.Second))
	}
	if len(invoked.inputs) != 3 {
		t.Errorf("%d tries in 25 s, want 3", len(invoked.inputs))
	}
}

func TestPollStartsNothing(t *testing.T) {
	starter := reaction.NewStarter(aws.Config{}, reaction.Settings{})
	if starter != nil {
		t.Fatal("a starter in the mode poll")
	}
	starter.Start(t.Context(), leases{}, now)
	if starter.IsRecent(now, now) || starter.IsAlways() {
		t.Error("work is recent in the mode poll")
	}
}

func TestWorkIsRecentForAWhile(t *testing.T) {
	starter := reaction.NewStarterFor(&invocations{}, settings())
	if !starter.IsRecent(now.Add(-4*time.Minute), now) || starter.IsRecent(now.Add(-6*time.Minute), now) {
		t.Error("work counts as recent for another time than quietAfter")
	}
}

func TestARequestNamesThePredecessor(t *testing.T) {
	invoked := &invocations{}
	if err := reaction.Invoke(t.Context(), invoked, "watch", reaction.Request{Predecessor: "holder"}); err != nil {
		t.Fatal(err)
	}
	var request reaction.Request
	if err := json.Unmarshal(invoked.inputs[0].Payload, &request); err != nil || request.Predecessor != "holder" {
		t.Errorf("payload %s, %v", invoked.inputs[0].Payload, err)
	}
}

func TestSettingsNameTheProblem(t *testing.T) {
	for _, test := range []struct {
		name, reaction, quiet string
		want                  reaction.Settings
		ok                    bool
	}{
		{"defaults", "", "", reaction.Settings{Mode: reaction.Adaptive, QuietAfter: 5 * time.Minute}, true},
		{"given", "always", "2m", reaction.Settings{Mode: reaction.Always, QuietAfter: 2 * time.Minute}, true},
		{"an unknown mode", "sometimes", "", reaction.Settings{}, false},
		{"no duration", "", "soon", reaction.Settings{}, false},
		{"too short", "", "1s", reaction.Settings{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := function.SettingsFrom(func(name string) string {
				return map[string]string{"REACTION": test.reaction, "QUIET_AFTER": test.quiet}[name]
			})
			got := reaction.ReadSettings(read)
			if err := read.Err(); (err == nil) != test.ok {
				t.Fatalf("error %v", err)
			}
			if test.ok && got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
