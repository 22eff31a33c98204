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

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
	"github.com/whittle-dev/whittle/infra/local/wire"
	"github.com/whittle-dev/whittle/infra/local/wire/wiretest"
)

func newClient(t *testing.T) (*Service, *cloudwatchlogs.Client) {
	t.Helper()
	s := New("123456789012", "us-east-1")
	return s, cloudwatchlogs.NewFromConfig(wiretest.Listen(t, wire.NewServer(), s))
}

func TestSDK(t *testing.T) {
	s, client := newClient(t)
	ctx := t.Context()
	group, stream := aws.String("/app"), aws.String("one")
	if _, err := client.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: group}); err != nil {
		t.Fatal(err)
	}
	var exists *types.ResourceAlreadyExistsException
	if _, err := client.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: group}); !errors.As(err,
		&exists) {
		t.Errorf("creating it again gave %v", err)
	}
	if _, err := client.CreateLogStream(ctx,
		&cloudwatchlogs.CreateLogStreamInput{LogGroupName: group, LogStreamName: stream}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var events []types.InputLogEvent
	for i := range 25 {
		events = append(events, types.InputLogEvent{
			Timestamp: aws.Int64(now.UnixMilli() + int64(i)), Message: aws.String(fmt.Sprintf("line %d", i)),
		})
	}
	if _, err := client.PutLogEvents(ctx,
		&cloudwatchlogs.PutLogEventsInput{LogGroupName: group, LogStreamName: stream, LogEvents: events}); err != nil {
		t.Fatal(err)
	}
	s.Append("/app", "two", now.Add(time.Minute), "line of another stream", true)

	var read []string
	pager := cloudwatchlogs.NewGetLogEventsPaginator(client, &cloudwatchlogs.GetLogEventsInput{
		LogGroupName: group, LogStreamName: stream, StartFromHead: aws.Bool(true), Limit: aws.Int32(10),
	}, func(o *cloudwatchlogs.GetLogEventsPaginatorOptions) { o.StopOnDuplicateToken = true })
	for pager.HasMorePages() && len(read) < 100 {
		page, err := pager.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			read = append(read, *e.Message)
		}
	}
	if len(read) != 25 || read[0] != "line 0" || read[24] != "line 24" {
		t.Errorf("read %d lines: %v", len(read), read)
	}
	filtered, err := client.FilterLogEvents(ctx,
		&cloudwatchlogs.FilterLogEventsInput{LogGroupName: group, FilterPattern: aws.String(`line ?"line 3" ?another`)})
	if err != nil || len(filtered.Events) != 2 || *filtered.Events[1].LogStreamName != "two" {
		t.Errorf("FilterLogEvents: %+v, %v", filtered, err)
	}
	groups, err := client.DescribeLogGroups(ctx,
		&cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/a")})
	if err != nil || len(groups.LogGroups) != 1 {
		t.Errorf("DescribeLogGroups: %+v, %v", groups, err)
	}
	streams, err := client.DescribeLogStreams(ctx,
		&cloudwatchlogs.DescribeLogStreamsInput{
			LogGroupName: group, OrderBy: types.OrderByLastEventTime, Descending: aws.Bool(true),
		})
	if err != nil || len(streams.LogStreams) != 2 || *streams.LogStreams[0].LogStreamName != "two" {
		t.Errorf("DescribeLogStreams: %+v, %v", streams, err)
	}
	var notFound *types.ResourceNotFoundException
	if _, err := client.FilterLogEvents(ctx,
		&cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/none")}); !errors.As(err, &notFound) {
		t.Errorf("an unknown group gave %v", err)
	}
	var invalid *types.InvalidParameterException
	if _, err := client.FilterLogEvents(ctx,
		&cloudwatchlogs.FilterLogEventsInput{
			LogGroupName: group, FilterPattern: aws.String(`{ $.x = 1 }`),
		}); !errors.As(err, &invalid) {
		t.Errorf("a JSON pattern gave %v", err)
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
	if n := len(s.Events("/gone", "", time.Time{})); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s := New("123456789012", "us-east-1")
	for i := range maximumEvents * 2 {
		s.Append("/g", "s", time.Now(), fmt.Sprint(i), true)
	}
	events := s.Events("/g", "s", time.Time{})
	if len(events) > maximumEvents || events[len(events)-1].Message != fmt.Sprint(maximumEvents*2-1) {
		t.Errorf("%d events are kept, the last %q", len(events), events[len(events)-1].Message)
	}
	for i := range maximumStreams + 5 {
		s.Append("/many", fmt.Sprint(i), time.Now(), "x", true)
	}
	if n := len(s.Events("/many", "", time.Time{})); n != maximumStreams {
		t.Errorf("%d streams are kept, want %d", n, maximumStreams)
	}
}

func TestFilter(t *testing.T) {
	for _, test := range []struct {
		pattern, message string
		want             bool
	}{
		{"", "anything", true},
		{"ERROR", "an ERROR here", true},
		{"ERROR", "an error here", false},
		{"ERROR disk", "disk ERROR", true},
		{"ERROR disk", "ERROR", false},
		{`"disk full"`, "the disk full", true},
		{`"disk full"`, "full disk", false},
		{"?ERROR ?WARN", "a WARN", true},
		{"?ERROR ?WARN", "an INFO", false},
		{"ERROR -disk", "ERROR of disk", false},
		{`-"disk full"`, "fine", true},
	} {
		f, err := parseFilter(test.pattern)
		if err != nil || f.matches(test.message) != test.want {
			t.Errorf("%q on %q: %v, %v; want %v", test.pattern, test.message, f.matches(test.message), err, test.want)
		}
	}
	if _, err := parseFilter(`"open`); err == nil {
		t.Error("an open quotation was accepted")
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
	if events := s.Events("stack-Logs-1", "", time.Time{}); len(events) != 1 || events[0].Message != "new" {
		t.Errorf("events %+v, want those of the last seven days", events)
	}
	if _, err := resource.Update(t.Context(),
		cloudformation.Request{
			PhysicalID: made.PhysicalID, Properties: map[string]any{"RetentionInDays": 8}, OldProperties: first,
		}); err == nil || !strings.Contains(err.Error(), "RetentionInDays is 8") {
		t.Errorf("8 days gave %v", err)
	}
	if err := resource.Delete(t.Context(), cloudformation.Request{PhysicalID: made.PhysicalID}); err != nil ||
		s.Events("stack-Logs-1", "", time.Time{}) != nil {
		t.Errorf("delete: %v", err)
	}
}
