package logs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

// TestTail makes the calls of `aws logs tail`.
func TestTail(t *testing.T) {
	s := New("123456789012", "us-east-1")
	client := cloudwatchlogs.NewFromConfig(wiretest.Listen(t, wire.NewServer(), s))
	now := time.Now()
	s.Append("/app", "one", now.Add(-time.Hour), "old", true)
	s.Append("/app", "two", now.Add(time.Minute), "later", true)
	s.Append("/app", "one", now, "new", true)
	in := cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/app"), StartTime: aws.Int64(now.UnixMilli())}
	found, err := client.FilterLogEvents(t.Context(), &in)
	if err != nil || len(found.Events) != 2 || *found.Events[0].Message != "new" || *found.Events[1].LogStreamName != "two" {
		t.Errorf("FilterLogEvents: %+v, %v", found, err)
	}
	in.FilterPattern = aws.String("ERROR")
	if _, err := client.FilterLogEvents(t.Context(), &in); err == nil || !strings.Contains(err.Error(), "filterPattern") {
		t.Errorf("a pattern gave %v, want a refusal that names it", err)
	}
	in = cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/none")}
	var missing *types.ResourceNotFoundException
	if _, err := client.FilterLogEvents(t.Context(), &in); !errors.As(err, &missing) {
		t.Errorf("an unknown group gave %v", err)
	}
}

// TestInsights asks for counts as the console does, and for lines as a person does.
func TestInsights(t *testing.T) {
	s := New("123456789012", "us-east-1")
	client := cloudwatchlogs.NewFromConfig(wiretest.Listen(t, wire.NewServer(), s))
	at := time.Now().Truncate(15 * time.Minute)
	line := func(group string, after time.Duration, text string) { s.Append(group, "s", at.Add(after), text, true) }
	line("/p", time.Second, `{"level":"INFO","msg":"launched","NodeClaim":"a"}`)
	line("/p", 2*time.Second, `{"level":"INFO","msg":"launched","NodeClaim":"b","reason":"two"}`)
	line("/p", -time.Minute, `{"level":"INFO","msg":"launched","NodeClaim":"z"}`)
	line("/l", 3*time.Second, `{"level":"ERROR","msg":"broke | 'x'","error":"why","reason":"other"}`)
	line("/l", 4*time.Second, `{"level":"INFO","msg":"quiet"}`)
	line("/l", 5*time.Second, `no JSON with launched in it`)
	line("/l", -48*time.Hour, `{"level":"INFO","msg":"launched"}`)
	ask := func(text string, groups ...string) ([][]types.ResultField, error) {
		t.Helper()
		started, err := client.StartQuery(t.Context(), &cloudwatchlogs.StartQueryInput{
			LogGroupNames: groups, QueryString: aws.String(text), StartTime: aws.Int64(at.Add(-24 * time.Hour).Unix()),
			EndTime: aws.Int64(at.Add(time.Hour).Unix()),
		})
		if err != nil {
			return nil, err
		}
		for _, want := range []types.QueryStatus{
			types.QueryStatusScheduled, types.QueryStatusRunning, types.QueryStatusComplete,
		} {
			got, err := client.GetQueryResults(t.Context(), &cloudwatchlogs.GetQueryResultsInput{QueryId: started.QueryId})
			if err != nil || got.Status != want {
				t.Fatalf("%v, %v, want %s", got, err, want)
			}
			if want == types.QueryStatusComplete {
				if got.Statistics.BytesScanned == 0 {
					t.Error("the query read nothing")
				}
				return got.Results, nil
			}
		}
		return nil, nil
	}
	written := func(rows [][]types.ResultField) string {
		var text strings.Builder
		for _, row := range rows {
			for _, one := range row {
				fmt.Fprintf(&text, "%s=%s ", *one.Field, *one.Value)
			}
			text.WriteString("\n")
		}
		return text.String()
	}
	now, before := at.UTC().Format("2006-01-02 15:04:05.000"),
		at.Add(-15*time.Minute).UTC().Format("2006-01-02 15:04:05.000")
	for query, want := range map[string]string{
		"fields coalesce(error, reason) as why | filter msg in ['launched', 'other'] or level = 'ERROR' | " +
			"stats count(*) as n, latest(NodeClaim) as claim, latest(why) as last by bin(15m), msg, level | limit " +
			"10": "bin(15m)=" +
			now + " msg=broke | 'x' level=ERROR n=1 last=why \nbin(15m)=" + now +
			" msg=launched level=INFO n=2 claim=b last=two \nbin(15m)=" + before + " msg=launched level=INFO n=1 claim=z \n",
		"fields msg, NodeClaim | filter @message like 'launched' | sort @timestamp asc | limit 3": "msg=launched " +
			"NodeClaim=z \nmsg=launched NodeClaim=a \nmsg=launched NodeClaim=b \n",
	} {
		rows, err := ask(query, "/p", "/l")
		if got := written(rows); err != nil || got != want {
			t.Errorf("%s: %v\n%s, want\n%s", query, err, got, want)
		}
	}
	for _, query := range []string{"parse x", "filter a > 3", "stats sum(x) as y", "sort msg asc", "limit 0",
		"stats count(*) as n by f(x)"} {
		var refused *types.MalformedQueryException
		if _, err := ask(query, "/p"); !errors.As(err, &refused) {
			t.Errorf("%s: %v", query, err)
		}
	}
	var missing *types.ResourceNotFoundException
	if _, err := ask("limit 1", "/none"); !errors.As(err, &missing) {
		t.Errorf("an unknown group gave %v", err)
	}
	if _, err := client.GetQueryResults(t.Context(), &cloudwatchlogs.GetQueryResultsInput{
		QueryId: aws.String("nobody"),
	}); !errors.As(err, &missing) {
		t.Errorf("an unknown query gave %v", err)
	}
}

func TestAppendMakesAGroupOnlyWhereItMay(t *testing.T) {
	s := New("123456789012", "us-east-1")
	s.Append("/gone", "s", time.Now(), "lost", false)
	if s.groups["/gone"] != nil {
		t.Error("a group was made for a role that may not make it")
	}
	s.Append("/gone", "s", time.Now(), "kept", true)
	s.Append("/gone", "s", time.Now(), "too", false)
	if n := len(s.Events("/gone")); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s := New("123456789012", "us-east-1")
	for i := range maximumEvents * 2 {
		s.Append("/g", "s", time.Now(), fmt.Sprint(i), true)
	}
	events := s.Events("/g")
	if len(events) > maximumEvents || events[len(events)-1].Message != fmt.Sprint(maximumEvents*2-1) {
		t.Errorf("%d events are kept, the last %q", len(events), events[len(events)-1].Message)
	}
	for i := range maximumStreams + 5 {
		s.Append("/many", fmt.Sprint(i), time.Now(), "x", true)
	}
	if n := len(s.Events("/many")); n != maximumStreams {
		t.Errorf("%d streams are kept, want %d", n, maximumStreams)
	}
}

func TestLogGroupResource(t *testing.T) {
	s := New("123456789012", "us-east-1")
	resource := groupType{s}
	first := map[string]any{"RetentionInDays": "7"}
	made, err := resource.Create(t.Context(), cloudformation.Request{GeneratedName: "stack-Logs-1", Properties: first})
	if err != nil || made.PhysicalID != "stack-Logs-1" ||
		made.Attributes["Arn"] != "arn:aws:logs:us-east-1:123456789012:log-group:stack-Logs-1:*" {
		t.Fatalf("%+v, %v", made, err)
	}
	s.Append("stack-Logs-1", "s", time.Now().AddDate(0, 0, -8), "too old", true)
	s.Append("stack-Logs-1", "s", time.Now(), "new", true)
	if events := s.Events("stack-Logs-1"); len(events) != 1 || events[0].Message != "new" {
		t.Errorf("events %+v, want those of the last seven days", events)
	}
	if _, err := resource.Update(t.Context(),
		cloudformation.Request{
			PhysicalID: made.PhysicalID, Properties: map[string]any{"RetentionInDays": 8}, OldProperties: first,
		}); err == nil || !strings.Contains(err.Error(), "RetentionInDays is 8") {
		t.Errorf("8 days gave %v", err)
	}
	if err := resource.Delete(t.Context(), cloudformation.Request{PhysicalID: made.PhysicalID}); err != nil ||
		s.Events("stack-Logs-1") != nil {
		t.Errorf("delete: %v", err)
	}
}
