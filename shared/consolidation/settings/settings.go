// Package settings reads the annotations of a NodePool that limit consolidation of its nodes. It is
// a leaf of the pipeline of package consolidation.
package settings

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Annotations of a NodePool.
const (
	// MinimumSavingsAnnotationKey is the least saving for each evicted pod, in US dollars per hour,
	// such as "0.001". "0" accepts any gain.
	MinimumSavingsAnnotationKey = api.MinimumSavingsAnnotationKey
	// MinimumSavingsPercentAnnotationKey is the least saving in percent of the price of the deleted
	// nodes, such as "10". "0" accepts any gain.
	MinimumSavingsPercentAnnotationKey = api.MinimumSavingsPercentAnnotationKey
	// SettleTimeAnnotationKey is how long a node stays after it was initialized, and after pods
	// were moved to it, such as "30m".
	SettleTimeAnnotationKey = api.SettleTimeAnnotationKey
	// KeepJobsAnnotationKey is "true" where nodes stay while a pod of a Job runs on them.
	KeepJobsAnnotationKey = api.KeepJobsAnnotationKey
	// JobSavingsAnnotationKey is how many times the price of the room of running Jobs a move must save that
	// restarts them, such as "2". "0" counts them as other pods.
	JobSavingsAnnotationKey = api.JobSavingsAnnotationKey
	// SpotToSpotTypesAnnotationKey is how many cheaper instance types a spot node's pods need to
	// move to another spot node, such as "5".
	SpotToSpotTypesAnnotationKey = api.SpotToSpotTypesAnnotationKey
)

// Defaults of a NodePool without the annotations. A new pod takes about a minute until it does its
// work again, and two nodes are paid meanwhile. A move that saves less than some cents a month for
// each pod costs more than it brings. The percentage also bounds how often a node is replaced: its
// price falls by a seventh or more each time.
const (
	// DefaultMinimumSavings is $0.001/h for each pod, or $0.73/month.
	DefaultMinimumSavings = 0.001
	// DefaultMinimumSavingsPercent is about a seventh of the nodes' price.
	DefaultMinimumSavingsPercent = 15
	// DefaultJobSavings pays for the work that restarted Jobs lose. A Job that has run for an hour takes about
	// an hour more, if nothing else is known. Its restart then costs an hour of its room, and the move saves
	// for an hour. Twice as much leaves something for the new nodes, and for moves that come after.
	DefaultJobSavings = 2
	// DefaultSettleTime is ten minutes. Most of a batch of new pods has started by then. It is for
	// pools without a consolidateAfter of their own, which says the same.
	DefaultSettleTime = 10 * time.Minute
)

// Settings are a NodePool's conditions for a move.
type Settings struct {
	// PerPod is the least saving for each evicted pod in US dollars per hour.
	PerPod float64
	// Part is the least saving as a part of the deleted nodes' price, from 0 to 1.
	Part float64
	// Settle is how long a node stays after it was initialized, and after pods were moved to it.
	Settle time.Duration
	// KeepJobs says that a node stays while a pod of a Job runs on it.
	KeepJobs bool
	// JobSavings is the least saving as a multiple of the price of the room of Jobs that restart.
	JobSavings float64
	// SpotTypes is how many cheaper instance types a move from a spot node to another requires.
	SpotTypes int
}

// Read reads the annotations. The error names the one that cannot be read and says how to mend it.
func Read(pool *api.NodePool) (Settings, error) {
	s := Settings{
		PerPod: DefaultMinimumSavings, Part: DefaultMinimumSavingsPercent / 100.0, Settle: DefaultSettleTime,
		JobSavings: DefaultJobSavings, SpotTypes: plan.MinimumSpotTypes,
	}
	if pool.Spec.Disruption.ChoosesConsolidateAfter() {
		s.Settle = 0
	}
	if err := s.readSavings(pool); err != nil {
		return s, err
	}
	if text, ok := pool.Annotations[SettleTimeAnnotationKey]; ok {
		value, err := time.ParseDuration(text)
		if err != nil || value < 0 {
			return s, fmt.Errorf("annotation %s is %q: write a duration such as %q", SettleTimeAnnotationKey, text, "30m")
		}
		s.Settle = value
	}
	if text, ok := pool.Annotations[SpotToSpotTypesAnnotationKey]; ok {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			return s, fmt.Errorf("annotation %s is %q: write a whole number of instance types, such as %q",
				SpotToSpotTypesAnnotationKey, text, "5")
		}
		s.SpotTypes = count
	}
	var err error
	s.KeepJobs, err = readKeepJobs(pool)
	return s, err
}

// readSavings reads what a move must save.
func (s *Settings) readSavings(pool *api.NodePool) error {
	part := s.Part * 100
	for _, number := range []struct {
		key     string
		into    *float64
		most    float64
		meaning string
	}{
		{MinimumSavingsAnnotationKey, &s.PerPod, math.MaxFloat64,
			`US dollars an hour for each pod moved, such as "0.001"`},
		{MinimumSavingsPercentAnnotationKey, &part, 100, `a number from 0 to 100, such as "10"`},
		{JobSavingsAnnotationKey, &s.JobSavings, math.MaxFloat64,
			`a multiple of the price of restarted Jobs, such as "2"`},
	} {
		text, ok := pool.Annotations[number.key]
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !(value >= 0 && value <= number.most) { // not a number compares with nothing
			return fmt.Errorf("annotation %s is %q: write %s", number.key, text, number.meaning)
		}
		*number.into = value
	}
	s.Part = part / 100
	return nil
}

func readKeepJobs(pool *api.NodePool) (bool, error) {
	switch text := pool.Annotations[KeepJobsAnnotationKey]; text {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	default:
		return false, fmt.Errorf("annotation %s is %q: write \"true\" or \"false\"", KeepJobsAnnotationKey, text)
	}
}
