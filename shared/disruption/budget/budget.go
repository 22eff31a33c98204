// Package budget reads a NodePool's disruption budgets. It tells how many nodes of the pool may be
// disrupted now for a reason. It is a leaf of package disruption and knows neither nodes nor pods.
package budget

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/hours"
)

// Unlimited is what is allowed where no budget applies.
const Unlimited = math.MaxInt32

// PoolCount is how many nodes a pool has.
type PoolCount struct {
	// Nodes are the nodes that are initialized or being rebooted, and whose instance is not being
	// terminated. Percentages are of these.
	Nodes int
	// Disrupting are those of Nodes that are on their way out, or being rebooted.
	Disrupting int
	// NotReady are the other ones of Nodes that are not ready. They count as disrupted, but not
	// against their own repair.
	NotReady int
}

// Allowed returns how many more nodes of the pool may be disrupted for the reason now. It is the
// least number that an active budget for the reason grants, less the nodes that are already
// disrupted. Percentages are of the pool's nodes, rounded up. Schedules are in the budget's time zone,
// otherwise in the pool's, otherwise in UTC. A budget that cannot be read allows no disruption of the
// pool for any reason. The error says how to mend it.
// https://karpenter.sh/docs/concepts/disruption/#nodepool-disruption-budgets
//
// Outside of the pool's maintenance windows none may be disrupted, except for a repair: the pods of an
// unhealthy node do not run.
func Allowed(pool *api.NodePool, count PoolCount, reason api.DisruptionReason, now time.Time) (int, error) {
	if reason != api.DisruptionReasonUnhealthy && pool.Maintenance(now).Closed {
		return 0, pool.HoursError()
	}
	return AllowedAtAnyTime(pool, count, reason, now)
}

// AllowedAtAnyTime is Allowed without regard to the pool's maintenance windows, for what cannot wait for
// them.
func AllowedAtAnyTime(
	pool *api.NodePool, count PoolCount, reason api.DisruptionReason, now time.Time,
) (int, error) {
	if pool.Frozen(reason, now) != nil {
		return 0, nil
	}
	if len(pool.Unreadable) > 0 {
		return 0, fmt.Errorf("nodepool %q: %s", pool.Name, api.UnreadableText(pool.Unreadable))
	}
	zone, err := pool.TimeZone()
	if err != nil {
		return 0, err
	}
	least := Unlimited
	for i, budget := range pool.Spec.Disruption.Budgets {
		granted, active, err := grant(budget, count.Nodes, zone, now)
		if err != nil {
			return 0, fmt.Errorf("nodepool %q: spec.disruption.budgets[%d].%w", pool.Name, i, err)
		}
		if active && (len(budget.Reasons) == 0 || slices.Contains(budget.Reasons, reason)) {
			least = min(least, granted)
		}
	}
	if least == Unlimited {
		return Unlimited, nil
	}
	disrupted := count.Disrupting
	if reason != api.DisruptionReasonUnhealthy {
		disrupted += count.NotReady
	}
	return max(least-disrupted, 0), nil
}

// grant returns the number of nodes that the budget lets go at once, and whether it is active.
func grant(
	budget api.Budget, nodes int, zone *time.Location, now time.Time,
) (granted int, active bool, err error) {
	text := budget.Nodes
	if text == "" {
		text = api.DefaultBudgetNodes
	}
	number, isPercentage := strings.CutSuffix(text, "%")
	granted, err = strconv.Atoi(number)
	if err != nil || granted < 0 || isPercentage && granted > 100 {
		return 0, false, fmt.Errorf("nodes is %q: write a number such as 5, or a percentage from 0%% to 100%%", text)
	}
	if isPercentage {
		granted = (nodes*granted + 99) / 100
	}
	active, err = isActive(budget, zone, now)
	return granted, active, err
}

// isActive tells whether the schedule fired within the duration before now. The zone is that of a budget
// without one.
func isActive(budget api.Budget, zone *time.Location, now time.Time) (bool, error) {
	if budget.Schedule == nil && budget.Duration == nil {
		return true, nil
	}
	if budget.Schedule == nil || budget.Duration == nil {
		return false, fmt.Errorf("schedule and duration belong together: set the missing one or remove the other")
	}
	if budget.TimeZone != nil {
		own, err := hours.Zone(*budget.TimeZone)
		if err != nil {
			return false, fmt.Errorf("timeZone: %q %w", *budget.TimeZone, err)
		}
		zone = own
	}
	active := false
	err := guard.Run(func() error {
		schedule, err := hours.ParseSchedule(*budget.Schedule, zone)
		if err == nil {
			active = schedule.Active(now, budget.Duration.Duration)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("schedule: %q %w", *budget.Schedule, err)
	}
	return active, nil
}
