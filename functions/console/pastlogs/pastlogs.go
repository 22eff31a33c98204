// Package pastlogs reads the last day of a cluster from the logs of its functions, with one query of
// CloudWatch Logs Insights.
//
// It is an edge of the console. A query costs $0.005 for each GB that it reads, so that a container asks
// at most each five minutes. It waits for a few seconds. A query that takes longer goes on, and the next
// call fetches its result.
package pastlogs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// every is the least time between two queries of a container.
	every = 5 * time.Minute
	// waitsFor is how long a call waits for a result, and pause the time between two looks at it.
	waitsFor = 6 * time.Second
	pause    = 300 * time.Millisecond
	// abandonedAfter is the age of a query without a result after which another one begins.
	abandonedAfter = 2 * time.Minute
	// dollarsPerGB is the price in most regions. https://aws.amazon.com/cloudwatch/pricing/
	dollarsPerGB = 0.005
	// problemLength is the most characters of an error on the page.
	problemLength = 200
)

// client is the part of CloudWatch Logs that a Reader calls.
type client interface {
	StartQuery(context.Context, *cloudwatchlogs.StartQueryInput, ...func(*cloudwatchlogs.Options)) (
		*cloudwatchlogs.StartQueryOutput, error)
	GetQueryResults(context.Context, *cloudwatchlogs.GetQueryResultsInput, ...func(*cloudwatchlogs.Options)) (
		*cloudwatchlogs.GetQueryResultsOutput, error)
}

// Reader reads the logs in one container. It is for one invocation at a time.
type Reader struct {
	client client
	groups []string
	now    func() time.Time
	// wait waits for a time, or until the context ends.
	wait func(context.Context, time.Duration) error

	// asked is the query whose result is not known yet, and since when it runs.
	asked string
	since time.Time
	// last is what the last query found, and when.
	last   *found
	lastAt time.Time
}

// found is the result of a query.
type found struct {
	lines []timeline.Line
	bytes float64
}

// New returns a Reader of log groups.
func New(config aws.Config, groups []string, now func() time.Time) *Reader {
	return &Reader{client: cloudwatchlogs.NewFromConfig(config), groups: groups, now: now, wait: wait}
}

func wait(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// errSlow says that the result is not there yet.
var errSlow = errors.New("the query still runs: refresh shows its result")

// Read returns the timeline of the last day. Where the logs are not read it says why, and shows what the
// claims tell.
func (r *Reader) Read(ctx context.Context, claims func() []api.NodeClaim) *timeline.Timeline {
	now := r.now()
	err := r.update(ctx)
	if r.last == nil {
		shown := timeline.OfClaims(claims(), now)
		shown.Problem = "The logs of the functions are not read, so that only launches of nodes that still exist " +
			"are shown: " + printable.Short(printable.Line(err.Error()), problemLength)
		return shown
	}
	shown := timeline.Of(r.last.lines, now)
	shown.Source = fmt.Sprintf("From the functions' logs of %s UTC. Reading them took %s and $%s, at most once in %d "+
		"minutes.", r.lastAt.UTC().Format("15:04:05"), size(r.last.bytes), cost(r.last.bytes), int(every.Minutes()))
	if err != nil {
		shown.Problem = "The logs are not read again: " + printable.Short(printable.Line(err.Error()), problemLength)
	}
	return shown
}

func size(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }

// cost is the price of so many bytes, in dollars.
func cost(bytes float64) string {
	price := bytes / 1e9 * dollarsPerGB
	if price > 0 && price < 0.0001 {
		return "0.0001"
	}
	return strconv.FormatFloat(price, 'f', 4, 64)
}

// update brings the last result up to date, unless it is young enough.
func (r *Reader) update(ctx context.Context) error {
	if r.last != nil && r.now().Sub(r.lastAt) < every {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, waitsFor)
	defer cancel()
	if r.asked == "" || r.now().Sub(r.since) > abandonedAfter {
		if err := r.start(ctx); err != nil {
			return err
		}
	}
	for {
		got, done, err := r.look(ctx)
		if err != nil {
			r.asked = ""
			return err
		}
		if done {
			r.asked, r.last, r.lastAt = "", got, r.since
			return nil
		}
		if r.wait(ctx, pause) != nil {
			return errSlow
		}
	}
}

// Query is the query of Logs Insights. It counts, so that a busy day has no more rows than a quiet one.
func Query() string {
	return "fields coalesce(error, reason, because, messageKind, decision) as why | " +
		"filter msg in ['" + strings.Join(timeline.Messages(), "', '") + "'] or level = 'ERROR' | " +
		"stats count(*) as times, latest(NodeClaim) as claim, latest(why) as last by bin(15m), msg, level | limit 10000"
}

func (r *Reader) start(ctx context.Context) error {
	now := r.now()
	started, err := r.client.StartQuery(ctx, &cloudwatchlogs.StartQueryInput{
		LogGroupNames: r.groups, QueryString: aws.String(Query()),
		StartTime: aws.Int64(now.Add(-timeline.Day).Unix()), EndTime: aws.Int64(now.Unix()),
	})
	if err != nil {
		return fmt.Errorf("starting a query: %w", err)
	}
	r.asked, r.since = aws.ToString(started.QueryId), now
	return nil
}

// look asks for the result once.
func (r *Reader) look(ctx context.Context) (got *found, done bool, err error) {
	answer, err := r.client.GetQueryResults(ctx, &cloudwatchlogs.GetQueryResultsInput{QueryId: aws.String(r.asked)})
	if err != nil {
		return nil, false, fmt.Errorf("reading the result of a query: %w", err)
	}
	switch answer.Status {
	case types.QueryStatusScheduled, types.QueryStatusRunning, types.QueryStatusUnknown:
		return nil, false, nil
	case types.QueryStatusComplete:
		got = &found{}
		for _, row := range answer.Results {
			if line, ok := lineOf(row); ok {
				got.lines = append(got.lines, line)
			}
		}
		if answer.Statistics != nil {
			got.bytes = answer.Statistics.BytesScanned
		}
		return got, true, nil
	}
	return nil, false, fmt.Errorf("the query ended as %s", answer.Status)
}

// lineOf reads a row. Fields without a value are missing in it.
func lineOf(row []types.ResultField) (line timeline.Line, ok bool) {
	ok = true
	for _, field := range row {
		value := aws.ToString(field.Value)
		var err error
		switch aws.ToString(field.Field) {
		case "bin(15m)":
			line.Start, err = time.Parse("2006-01-02 15:04:05.000", value)
		case "msg":
			line.Message = value
		case "level":
			line.Level = value
		case "times":
			line.Count, err = strconv.Atoi(value)
		case "claim":
			line.Claim = value
		case "last":
			line.Why = value
		}
		ok = ok && err == nil
	}
	return line, ok && !line.Start.IsZero() && line.Message != ""
}
