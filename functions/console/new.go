package console

import (
	"context"
	"strings"

	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/pastlogs"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/functions/console/widget"
	"github.com/whittle-dev/whittle/shared/function"
)

// New returns the handler of a container. It sends nothing yet. The error names each setting that
// is missing or wrong.
func New(ctx context.Context, deps function.Deps) (*Handler, error) {
	settings := deps.Settings()
	h := &Handler{cluster: settings.Required("CLUSTER_NAME"), now: deps.Clock()}
	karpenter := function.KarpenterAccounts(settings)
	groups := strings.FieldsFunc(settings.Optional("HISTORY_LOG_GROUPS"), func(r rune) bool { return r == ',' })
	if err := settings.Err(); err != nil {
		return nil, err
	}
	var err error
	if h.widget, err = widget.New(); err != nil {
		return nil, err
	}
	loaded, err := deps.Configuration(ctx)
	if err != nil {
		return nil, err
	}
	connection := deps.Connection(loaded, h.cluster)
	h.read = func(ctx context.Context) (*view.Cluster, error) {
		client, err := connection.Client(ctx)
		if err != nil {
			return nil, err
		}
		return objects.Read(ctx, client, karpenter, h.now())
	}
	if len(groups) > 0 {
		h.past = pastlogs.New(loaded, groups, h.now).Read
	}
	return h, nil
}
