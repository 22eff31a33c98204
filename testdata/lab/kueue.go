package main

import (
	"context"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// requestOptions let the functions answer ProvisioningRequests.
func requestOptions(o *world.Options) { o.Settings = append(o.Settings, "provisioningRequests=true") }

// capacity starves and feeds zones of a world's EC2.
type capacity struct{ service *ec2.Service }

func (c capacity) Starve(zone string) { c.service.Starve(ec2.Starvation{Zone: zone}) }

func (c capacity) Feed(zone string) { c.service.Feed("", zone, "") }

// runKueue has Kueue admit jobs whose room Whittle provides.
func runKueue(ctx context.Context, t *trial) (result, error) {
	stop, err := t.world.StartKueue(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	return nil, scenario.Kueue(ctx, t.setup, capacity{t.world.EC2})
}
