package pastlogs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// insights answers as CloudWatch Logs does: a query runs for some looks, then it is complete.
type insights struct {
	looks, runs     int // looks until it is complete, and how many were made
	started         []*cloudwatchlogs.StartQueryInput
	refuses, breaks error
	ends            types.QueryStatus
}

func (i *insights) StartQuery(
	_ context.Context, in *cloudwatchlogs.StartQueryInput, _ ...func(*cloudwatchlogs.Options),
) (*cloudwatchlogs.StartQueryOutput, error) {
	if i.refuses != nil {
		return nil, i.refuses
	}
	i.started, i.runs = append(i.started, in), 0
	return &cloudwatchlogs.StartQueryOutput{QueryId: aws.String(fmt.Sprint("q", len(i.started)))}, nil
}

func (i *insights) GetQueryResults(
	context.Context, *cloudwatchlogs.GetQueryResultsInput, ...func(*cloudwatchlogs.Options),
) (*cloudwatchlogs.GetQueryResultsOutput, error) {
	if i.breaks != nil {
		return nil, i.breaks
	}
	if i.runs++; i.runs <= i.looks {
		return &cloudwatchlogs.GetQueryResultsOutput{Status: types.QueryStatusRunning}, nil
	}
	row := func(pairs ...string) []types.ResultField {
		var fields []types.ResultField
		for at := 0; at < len(pairs); at += 2 {
			fields = append(fields, types.ResultField{Field: aws.String(pairs[at]), Value: aws.String(pairs[at+1])})
		}
		return fields
	}
	return &cloudwatchlogs.GetQueryResultsOutput{
		Status: i.ends, Statistics: &types.QueryStatistics{BytesScanned: 250e6}, Results: [][]types.ResultField{
			row("bin(15m)", "2026-03-01 11:30:00.000", "msg", "launched nodeclaim", "level", "INFO", "times", "4", "claim", "a"),
			row("bin(15m)", "soon", "msg", "launched nodeclaim", "times", "9"),
			row("bin(15m)", "2026-03-01 11:30:00.000", "times", "9"),
		},
	}, nil
}

// reading is a Reader at a time that the test moves. Each wait takes a pause of that time.
func reading(client *insights) (r *Reader, forward func(time.Duration)) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	waited := time.Duration(0)
	r = &Reader{client: client, groups: []string{"/aws/lambda/p", "/aws/lambda/l"}, now: func() time.Time { return now }}
	r.wait = func(_ context.Context, span time.Duration) error {
		if waited += span; waited > waitsFor {
			waited = 0
			return context.DeadlineExceeded
		}
		return nil
	}
	return r, func(span time.Duration) { now = now.Add(span) }
}

func claims() []api.NodeClaim {
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "lives"}}
	claim.Status.Conditions = []metav1.Condition{{
		Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(time.Date(2026, time.March, 1, 11, 0, 0, 0, time.UTC)),
	}}
	return []api.NodeClaim{claim}
}

func launches(day *timeline.Timeline) int {
	for _, lane := range day.Lanes {
		if lane.Step == nodestate.StepLaunched {
			return lane.Total
		}
	}
	return -1
}

// TestOneQueryServesFiveMinutes holds what a page that refreshes costs, and that it says so.
func TestOneQueryServesFiveMinutes(t *testing.T) {
	client := &insights{looks: 3, ends: types.QueryStatusComplete}
	r, forward := reading(client)
	for range 4 {
		day := r.Read(t.Context(), claims)
		if launches(day) != 4 || day.Problem != "" || !strings.Contains(day.Source,
			"250.0 MB and $0.0013, at most once in 5") {
			t.Fatalf("%+v", day)
		}
		forward(time.Minute)
	}
	if len(client.started) != 1 {
		t.Errorf("%d queries in four minutes", len(client.started))
	}
	forward(time.Minute)
	r.Read(t.Context(), claims)
	if len(client.started) != 2 {
		t.Errorf("%d queries in six minutes", len(client.started))
	}
	asked := client.started[0]
	if aws.ToInt64(asked.EndTime)-aws.ToInt64(asked.StartTime) != 24*60*60 || len(asked.LogGroupNames) != 2 {
		t.Errorf("asked for %+v", asked)
	}
}

// TestASlowQueryIsNotAskedAgain lets a query take longer than a call waits.
func TestASlowQueryIsNotAskedAgain(t *testing.T) {
	client := &insights{looks: 30, ends: types.QueryStatusComplete}
	r, forward := reading(client)
	if day := r.Read(t.Context(), claims); !strings.Contains(day.Problem, "still runs") || launches(day) != 1 {
		t.Errorf("the first call shows %+v", day)
	}
	forward(20 * time.Second)
	if day := r.Read(t.Context(), claims); day.Problem != "" || launches(day) != 4 || len(client.started) != 1 {
		t.Errorf("the second call shows %+v after %d queries", day, len(client.started))
	}
}

// TestWithoutLogsThePageSaysWhy shows what the claims tell, or the last result.
func TestWithoutLogsThePageSaysWhy(t *testing.T) {
	for name, client := range map[string]*insights{
		"no right": {refuses: errors.New("AccessDeniedException: no\nidentity-based policy"),
			ends: types.QueryStatusComplete},
		"broken": {breaks: errors.New("no answer"), ends: types.QueryStatusComplete},
		"failed": {ends: types.QueryStatusFailed},
	} {
		r, forward := reading(client)
		day := r.Read(t.Context(), claims)
		if !strings.HasPrefix(day.Problem, "The logs of the functions are not read") || launches(day) != 1 ||
			strings.Contains(day.Problem, "\n") {
			t.Errorf("%s: %+v", name, day)
		}
		client.refuses, client.breaks, client.ends = nil, nil, types.QueryStatusComplete
		if day = r.Read(t.Context(), claims); day.Problem != "" || launches(day) != 4 {
			t.Errorf("%s: later %+v", name, day)
		}
		forward(time.Hour)
		client.refuses = errors.New("LimitExceededException")
		if day = r.Read(t.Context(), claims); !strings.Contains(day.Problem, "not read again: starting a query: Limit") ||
			launches(day) != 4 {
			t.Errorf("%s: once more %+v", name, day)
		}
	}
}
