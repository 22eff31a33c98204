package view

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/freeze"
)

// Freeze is an order that holds what Whittle begins by itself: a person's, or an alarm's.
type Freeze struct {
	freeze.Freeze
	// Message says what it holds, by whom, until when and why, or which alarm is in which state since when.
	Message string `json:"message"`
}

// freezes are those that last now. Each pool has all of them.
func freezes(objects *Cluster, now time.Time) []Freeze {
	if len(objects.NodePools) == 0 {
		return nil
	}
	var shown []Freeze
	for _, one := range objects.NodePools[0].Freezes.Active(now) {
		one.Who, one.Reason = printable.Line(one.Who), printable.Line(one.Reason)
		one.Problem, one.Alarm, one.State = printable.Line(one.Problem), printable.Line(one.Alarm), printable.Line(one.State)
		message := one.String() + "; it holds " + one.Holds()
		exists := func(pool api.NodePool) bool { return pool.Name == one.Pool }
		if one.Pool != "" && !slices.ContainsFunc(objects.NodePools, exists) {
			message += "; there is no such nodepool"
		}
		shown = append(shown, Freeze{one, message})
	}
	return shown
}
