package console

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/functions/console/widget"
	"github.com/whittle-dev/whittle/shared/api"
)

const functionARN = "arn:aws:lambda:us-east-1:123456789012:function:whittle-prod-console"

func newHandler(t *testing.T, read func(context.Context) (*view.Cluster, error)) *Handler {
	t.Helper()
	made, err := widget.New()
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	return &Handler{cluster: "prod", widget: made, read: read, now: now}
}

// pools returns a cluster with two node pools.
func pools(context.Context) (*view.Cluster, error) {
	objects := &view.Cluster{NodePools: make([]api.NodePool, 2)}
	objects.NodePools[0].Name, objects.NodePools[1].Name = "default", "gpu"
	return objects, nil
}

// answer decodes an event as Lambda does, and handles it.
func answer(t *testing.T, h *Handler, text string) string {
	t.Helper()
	var asked Event
	if err := json.Unmarshal([]byte(text), &asked); err != nil {
		t.Fatal(err)
	}
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{InvokedFunctionArn: functionARN})
	html, err := h.Handle(ctx, asked)
	if err != nil {
		t.Fatal(err)
	}
	return html
}

func TestAnEventAsCloudWatchSendsIt(t *testing.T) {
	content, err := os.ReadFile("testdata/event.json")
	if err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, pools)
	for range 2 { // as a warm container does
		html := answer(t, h, string(content))
		for _, part := range []string{
			`class="whittle dark"`, `class="choice chosen"`, ">gpu</a>", `endpoint="` + functionARN + `"`, "<h1>prod</h1>",
			"as of 12:00:00 UTC",
		} {
			if !strings.Contains(html, part) {
				t.Errorf("lacks %q:\n%s", part, html)
			}
		}
	}
	html := answer(t, h, `{}`)
	allPools := strings.Contains(html, `chosen" tabindex="0" role="button">all pools`)
	if !allPools || !strings.Contains(html, `class="whittle auto"`) {
		t.Errorf("without anything all pools are shown:\n%s", html)
	}
}

func TestTheDocumentationNeedsNoCluster(t *testing.T) {
	h := newHandler(t, func(context.Context) (*view.Cluster, error) {
		t.Error("the cluster is read")
		return nil, errors.New("out of reach")
	})
	text := answer(t, h, `{"describe": true}`)
	for _, part := range []string{"## Whittle", "### Widget parameters", "**nodePool**", "```yaml\nnodePool: "} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
}

func TestWhatIsWrongIsShown(t *testing.T) {
	h := newHandler(t, func(context.Context) (*view.Cluster, error) { return nil, errors.New("nodes is <forbidden>") })
	html := answer(t, h, `{}`)
	if !strings.Contains(html, "The cluster cannot be shown.") || !strings.Contains(html, "nodes is &lt;forbidden&gt;") {
		t.Errorf("got\n%s", html)
	}
}

// TestTheLastViewStaysWhileTheClusterIsSilent holds for an hour, after which the error says more.
func TestTheLastViewStaysWhileTheClusterIsSilent(t *testing.T) {
	silent := false
	h := newHandler(t, func(ctx context.Context) (*view.Cluster, error) {
		if silent {
			return nil, errors.New("no answer")
		}
		return pools(ctx)
	})
	began := h.now()
	answer(t, h, `{}`)
	silent = true
	h.now = func() time.Time { return began.Add(5 * time.Minute) }
	for range 2 {
		html := answer(t, h, `{}`)
		const mark = "NOT CURRENT: this is the state of 12:00:00 UTC, since when the cluster has not answered: no answer"
		if strings.Count(html, mark) != 1 || !strings.Contains(html, ">gpu</a>") {
			t.Errorf("got\n%s", html)
		}
	}
	h.now = func() time.Time { return began.Add(2 * time.Hour) }
	if html := answer(t, h, `{}`); !strings.Contains(html, "The cluster cannot be shown.") {
		t.Errorf("got\n%s", html)
	}
}

func TestReadingEndsBeforeTheInvocationDoes(t *testing.T) {
	h := newHandler(t, func(ctx context.Context) (*view.Cluster, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("reading has no end")
		}
		return pools(ctx)
	})
	answer(t, h, `{}`)
}

// TestTheLastDayNeverHidesTheCluster reads both, and lets each fail.
func TestTheLastDayNeverHidesTheCluster(t *testing.T) {
	known := -1
	past := func(_ context.Context, claims func() []api.NodeClaim) *timeline.Timeline {
		known = len(claims())
		return &timeline.Timeline{Problem: "The logs are not read"}
	}
	h := newHandler(t, func(context.Context) (*view.Cluster, error) {
		return &view.Cluster{NodeClaims: make([]api.NodeClaim, 3)}, nil
	})
	h.past = past
	if html := answer(t, h, "{}"); known != 3 || !strings.Contains(html, "The logs are not read") ||
		!strings.Contains(html, "NodePools") {
		t.Errorf("the last day knew %d claims:\n%s", known, html)
	}
	h = newHandler(t, func(context.Context) (*view.Cluster, error) { return nil, errors.New("no answer") })
	h.past = past
	if html := answer(t, h, "{}"); known != 0 || !strings.Contains(html, "no answer") {
		t.Errorf("the last day knew %d claims:\n%s", known, html)
	}
}
