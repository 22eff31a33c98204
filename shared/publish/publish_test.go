package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/shared/publish"
)

// bus is a fake of EventBridge that keeps what it gets.
type bus struct {
	got   [][]types.PutEventsRequestEntry
	fails error
	// refuses is the code of the last entry's error; empty for none.
	refuses string
}

func (b *bus) PutEvents(
	_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options),
) (*eventbridge.PutEventsOutput, error) {
	if b.fails != nil {
		return nil, b.fails
	}
	b.got = append(b.got, in.Entries)
	out := &eventbridge.PutEventsOutput{Entries: make([]types.PutEventsResultEntry, len(in.Entries))}
	if b.refuses != "" {
		out.Entries[len(in.Entries)-1].ErrorCode = &b.refuses
	}
	return out, nil
}

func TestEventsArePublishedInBatches(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	to := &bus{}
	publisher := publish.NewFor(to, "automation", func() time.Time { return now }, nil)
	var pending publish.Pending
	for range 11 {
		pending.Add(own.NodeReady{Head: own.HeadOf("prod"), Node: own.Node{NodeClaim: "default-1"}})
	}
	pending.Flush(t.Context(), publisher)
	pending.Flush(t.Context(), publisher) // nothing is left
	if len(to.got) != 2 || len(to.got[0]) != 10 || len(to.got[1]) != 1 {
		t.Fatalf("%d batches", len(to.got))
	}
	entry := to.got[0][0]
	var detail own.NodeReady
	if err := json.Unmarshal([]byte(aws.ToString(entry.Detail)), &detail); err != nil {
		t.Fatal(err)
	}
	if aws.ToString(entry.EventBusName) != "automation" || aws.ToString(entry.Source) != "whittle" ||
		aws.ToString(entry.DetailType) != "Node Ready" || !entry.Time.Equal(now) || detail.Cluster != "prod" ||
		detail.Version != own.Version || detail.NodeClaim != "default-1" {
		t.Errorf("%+v with %+v", entry, detail)
	}
}

func TestWithoutABusNothingIsSent(t *testing.T) {
	publisher := publish.New(aws.Config{}, "", time.Now, nil)
	publisher.Publish(t.Context(), own.NodeReady{}) // would panic with a client
	if publisher != nil {
		t.Error("there is a publisher")
	}
}

func TestWhatEventBridgeDoesNotTakeIsLogged(t *testing.T) {
	for name, to := range map[string]*bus{
		"no answer": {fails: errors.New("i/o timeout")}, "a refusal": {refuses: "ThrottlingException"},
		"denied": {fails: &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized"}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
			defer slog.SetDefault(before)
			denied := 0
			publish.NewFor(to, "automation", time.Now, func() { denied++ }).Publish(t.Context(), own.NodeReady{}, own.NodeDrained{})
			if (denied > 0) != (name == "denied") {
				t.Errorf("%d denials are counted", denied)
			}
			if !strings.Contains(log.String(), "not published") && !strings.Contains(log.String(), "refuses events") || !strings.Contains(log.String(), "automation") {
				t.Errorf("the log is %q", log.String())
			}
		})
	}
}
