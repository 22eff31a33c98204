package zonalshift

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Events returns the events about shifts that began or ended, on each pool that may have nodes in
// the zone. The reasons are Karpenter's.
func Events(
	change Change, shifted map[string]time.Time, pools []api.NodePool, classes []api.EC2NodeClass,
) []cluster.Event {
	var events []cluster.Event
	add := func(zone, kind, reason, message string) {
		for _, pool := range snapshot.PoolsInZone(pools, classes, zone) {
			events = append(events, cluster.Event{
				About: disruption.AboutPool(pool), Type: kind, Reason: reason, Message: message,
			})
		}
	}
	for _, zone := range change.Begun {
		add(zone, corev1.EventTypeWarning, api.EventReasonZonalShiftActive,
			"A zonal shift moves traffic away from the zone "+zone+" until "+shifted[zone].UTC().Format(time.RFC3339)+
				": no node is launched or disrupted there")
	}
	for _, zone := range change.Ended {
		add(zone, corev1.EventTypeNormal, api.EventReasonZonalShiftCleared,
			"The zonal shift away from the zone "+zone+" has ended")
	}
	return events
}
