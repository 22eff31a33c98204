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
