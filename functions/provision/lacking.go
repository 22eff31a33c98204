package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
)

// lacking says what EC2 was short of.
func lacking(group launch.Group, count int, short []fleet.Shortage) string {
	text := fmt.Sprintf("EC2 lacks capacity for %d of %d instances", count, group.Size)
	if len(short) == 0 {
		return text
	}
	first := short[0]
	text += fmt.Sprintf(": %s in %s", first.Code, first.Key)
	if len(short) > 1 {
		text += fmt.Sprintf(" and %d more", len(short)-1)
	}
	if advice := first.Advice(); advice != "" {
		text += ": " + advice
	}
	return text
}

// advise tells the pool of shortages that somebody has to mend.
func (l *launching) advise(group launch.Group, short []fleet.Shortage) {
	for _, shortage := range short {
		advice := shortage.Advice()
		if advice == "" {
			continue
		}
		name := group.Waiting[0].Labels[api.NodePoolLabelKey]
		for i := range l.snapshot.NodePools {
			if pool := &l.snapshot.NodePools[i]; pool.Name == name {
				l.run.record(disruption.AboutPool(pool), corev1.EventTypeWarning, shortage.Reason(), shortage.Code+": "+advice)
			}
		}
	}
}

// reasonInsufficientCapacity is Karpenter's reason for the event.
const reasonInsufficientCapacity = "InsufficientCapacityError"
