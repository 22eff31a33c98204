package world

import (
	"context"
	"fmt"

	"github.com/whittle-dev/whittle/testdata/lab/dashboard"
)

// DashboardURL is the address of the dashboard's page.
func (w *World) DashboardURL() string { return w.server.URL() + dashboard.Path }

// console invokes the console function, as CloudWatch does for a widget.
func (w *World) console(ctx context.Context, event []byte) ([]byte, error) {
	answer, failure, err := w.Lambda.Invoke(ctx, "whittle-"+w.options.Cluster+"-console", event)
	if err == nil && failure != "" {
		err = fmt.Errorf("the console function failed: %s: %s", failure, answer)
	}
	return answer, err
}
