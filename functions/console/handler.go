package console

import (
	"context"
	_ "embed" // of the widget's documentation
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/functions/console/widget"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/function"
)

// documentation is what CloudWatch shows for "Get documentation".
//
//go:embed widget.md
var documentation string

// Event is CloudWatch's input: the widget's parameters, or those of a pressed button, and the
// context.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
type Event struct {
	// Describe asks for the widget's documentation.
	Describe bool `json:"describe"`
	// NodePool is the only pool to show; empty for all.
	NodePool      string `json:"nodePool"`
	WidgetContext struct {
		Theme string `json:"theme"` // light or dark
	} `json:"widgetContext"`
}

// Handler is the function in one container.
type Handler struct {
	cluster string
	widget  *widget.Widget
	read    func(context.Context) (*view.Cluster, error)
	// past reads the last day, with what is known of the claims; nil where nobody keeps it.
	past func(context.Context, func() []api.NodeClaim) *timeline.Timeline
	now  func() time.Time
	// last is the last view of a warm container. It is shown, marked as old, while the cluster does not
	// answer.
	last *view.View
}

// lastFor is how long the last view says more than none.
const lastFor = time.Hour

// Handle answers with HTML, or with Markdown if CloudWatch asks for the documentation. It shows
// errors to the person at the dashboard, because nobody repeats the call.
func (h *Handler) Handle(ctx context.Context, asked Event) (string, error) {
	if asked.Describe {
		return documentation, nil
	}
	ctx, cancel := function.WithReserve(ctx)
	defer cancel()
	options := widget.Options{Cluster: h.cluster, NodePool: asked.NodePool, Theme: asked.WidgetContext.Theme}
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		options.Endpoint = invocation.InvokedFunctionArn
	}
	objects, past, err := h.readBoth(ctx)
	if err != nil {
		slog.ErrorContext(ctx, "the cluster cannot be shown", "error", err)
		if h.last == nil || h.now().Sub(h.last.Time) > lastFor {
			return h.widget.Failure(err, options)
		}
		old := *h.last
		old.Problems = append([]string{fmt.Sprintf("NOT CURRENT: this is the state of %s UTC, since when the cluster has "+
			"not answered: %s", old.Time.UTC().Format("15:04:05"), printable.Short(printable.Line(err.Error()), errorLength))},
			old.Problems...)
		return h.widget.Render(&old, options)
	}
	h.last = view.Of(objects, h.now())
	h.last.Past = past
	return h.widget.Render(h.last, options)
}

// readBoth reads the cluster and the last day at the same time. The last day falls back on the claims of
// the cluster, so that it waits for them where the logs are not read.
func (h *Handler) readBoth(ctx context.Context) (objects *view.Cluster, past *timeline.Timeline, err error) {
	read, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if h.past != nil {
			past = h.past(ctx, func() []api.NodeClaim {
				<-read
				if objects == nil {
					return nil
				}
				return objects.NodeClaims
			})
		}
	}()
	objects, err = h.read(ctx)
	close(read)
	<-done
	return objects, past, err
}

// errorLength is the most characters of an error beside the last view.
const errorLength = 300
