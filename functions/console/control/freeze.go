package control

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
)

// Freeze is what a person freezes.
type Freeze struct {
	// Pool is the name of a NodePool, or empty for the whole cluster.
	Pool string
	// For is how long: a duration, or the time of its end. Empty means until somebody thaws it.
	For    string
	Who    string
	Reason string
	// Launches and Drains are held, too.
	Launches, Drains bool
}

// FreezeOf are the changes for the freeze, and what they come to for people. Pools are the names of
// all NodePools, or nil where they could not be read. The error names the flag.
func FreezeOf(f Freeze, pools []string, now time.Time) (changes Changes, says string, err error) {
	if err := known(f.Pool, pools); err != nil {
		return nil, "", err
	}
	made := freeze.Freeze{
		Pool: f.Pool, Who: f.Who, Reason: strings.TrimSpace(f.Reason), Since: now.UTC().Truncate(time.Second),
		Launches: f.Launches, Drains: f.Drains,
	}
	if f.For != "" {
		if made.Until, err = endOf(f.For, time.UTC, now); err != nil {
			return nil, "", fmt.Errorf("-for: %q %w", f.For, err)
		}
	}
	return Changes{freeze.KeyOf(f.Pool): made.Text()}, made.String() + ": " + made.Holds(), nil
}

// known is nil unless there is no NodePool of the name.
func known(pool string, pools []string) error {
	if pool == "" || pools == nil || slices.Contains(pools, pool) {
		return nil
	}
	return fmt.Errorf("-pool: there is no nodepool %q: there are %s", pool, strings.Join(pools, ", "))
}

// Thaw are the changes that end the freeze of the pool, or of the whole cluster for an empty name,
// and what they come to for people. Other freezes stay, and the words name them.
func Thaw(pool string, soFar *freeze.Freezes, now time.Time) (changes Changes, says string) {
	subject := (&freeze.Freeze{Pool: pool}).Subject()
	says = subject + " was not frozen"
	var left []string
	if soFar != nil {
		for i := range soFar.All {
			one := &soFar.All[i]
			switch {
			case one.Key == freeze.KeyOf(pool):
				changes = Changes{one.Key: ""}
				says = subject + " is thawed"
			case one.Active(now):
				left = append(left, one.String())
			}
		}
	}
	if len(left) > 0 {
		says += ". Still, " + strings.Join(left, "; ")
	}
	return changes, says
}
