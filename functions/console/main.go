package main

import (
	"context"
	"time"

	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/functions/console/widget"
	"github.com/whittle-dev/whittle/shared/function"
)

func main() {
	handler, err := setup(context.Background())
	function.Run(handler.handle, err)
}

func setup(ctx context.Context) (*handler, error) {
	settings := function.NewSettings()
	h := &handler{cluster: settings.Required("CLUSTER_NAME"), now: time.Now}
	karpenter := function.KarpenterAccounts(settings)
	if err := settings.Err(); err != nil {
		return h, err
	}
	var err error
	if h.widget, err = widget.New(); err != nil {
		return h, err
	}
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
	h.read = func(ctx context.Context) (*view.Objects, error) {
		client, err := connection.Client(ctx)
		if err != nil {
			return nil, err
		}
		return objects.Read(ctx, client, karpenter, h.now())
	}
	return h, err
}
