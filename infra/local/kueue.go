package main

import (
	"context"
	"errors"
	"os"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
)

// requestsSetting lets the functions answer ProvisioningRequests.
const requestsSetting = "provisioningRequests=true"

// capacity starves and feeds zones of a world's EC2.
type capacity struct{ service *ec2.Service }

func (c capacity) Starve(zone string) { c.service.Starve(ec2.Starvation{Zone: zone}) }

func (c capacity) Feed(zone string) { c.service.Feed("", zone, "") }

// runKueue has Kueue admit jobs whose room Whittle provides.
func runKueue(ctx context.Context) (failure error) {
	w, err := startWith(ctx, "kueue", interval, boot, func(options *world.Options) {
		options.Settings = append(options.Settings, requestsSetting)
	})
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	stop, err := w.StartKueue(ctx)
	if err != nil {
		return err
	}
	defer stop()
	setup, err := w.Scenario(os.Stdout)
	if err != nil {
		return err
	}
	return scenario.Kueue(ctx, setup, capacity{w.EC2})
}
