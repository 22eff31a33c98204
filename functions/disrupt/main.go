package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/sight/deployed"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

func main() {
	handler, connection, err := setup(context.Background())
	function.Run(function.Standby(connection, handler.metrics, handler.handle, nil), err)
}

// parseTerminateFirst reads a list of reasons.
func parseTerminateFirst(text string) (disruption.TerminateFirst, error) {
	var reasons disruption.TerminateFirst
	for item := range strings.SplitSeq(text, ",") {
		switch reason := api.DisruptionReason(strings.TrimSpace(item)); reason {
		case api.DisruptionReasonDrifted, api.DisruptionReasonUnhealthy:
			reasons = append(reasons, reason)
		default:
			return nil, fmt.Errorf("%q is no reason for which a node may end first", reason)
		}
	}
	return reasons, nil
}

func setup(ctx context.Context) (*handler, *function.Connection, error) {
	settings := function.NewSettings()
	h := &handler{
		cluster: settings.Required("CLUSTER_NAME"), now: time.Now, disrupt: settings.Required("DISRUPT_QUEUE_URL"),
		lifecycle: settings.Required("LIFECYCLE_QUEUE_URL"), provision: settings.Required("PROVISION_QUEUE_URL"),
	}
	h.settings = deployed.Settings(settings)
	h.terminateFirst = function.Parsed(settings, "TERMINATE_FIRST", "write Drifted, Unhealthy, or both with a comma",
		parseTerminateFirst)
	if h.settings.ManagedDeletionCosts {
		h.podCosts = &settledFleet{}
	}
	h.rebootForRepair = settings.Enabled("REBOOT_FOR_REPAIR") // Karpenter's gate RebootForRepair
	karpenter := function.KarpenterAccounts(settings)
	h.metrics = function.Recorder(settings, h.cluster)
	if err := settings.Err(); err != nil {
		return h, nil, err
	}
	loaded, err := function.Configuration(ctx)
	connection := function.NewConnection(loaded, h.cluster)
	connection.Karpenter = karpenter
	shifts := zonalshift.New(loaded, os.Getenv("ZONAL_SHIFT_CLUSTER_ARN"))
	h.connect = func(ctx context.Context) (kubernetes, error) {
		client, err := connection.Client(ctx)
		return edge{Client: client, shifts: shifts}, err
	}
	h.publisher = publish.New(loaded, time.Now)
	h.sender = queue.NewSender(sqs.NewFromConfig(loaded))
	return h, connection, err
}
