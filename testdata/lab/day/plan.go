package day

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of step.
type Kind string

// The kinds of steps.
const (
	Scale    Kind = "a Deployment is scaled"
	Rollout  Kind = "a Deployment gets another template"
	StartJob Kind = "a Job starts"
	Image    Kind = "the class gets another image"
	Warn     Kind = "EC2 warns a spot instance"
	Sicken   Kind = "a node is unhealthy"
	Heal     Kind = "the node is healthy again"
)

// Step is one step of the day.
type Step struct {
	At   time.Duration // since midnight, in real time
	Kind Kind
	Name string // of a Deployment or a Job
	// Count is the number of replicas or of a Job's pods.
	Count int
	// Processors is what each pod of a Job requests, and Runs how long it runs.
	Processors int
	Runs       time.Duration
	// Draw chooses the target among nodes or instances.
	Draw uint64
}

func (s Step) String() string {
	switch s.Kind {
	case Scale:
		return fmt.Sprintf("%s: %s to %d", s.Kind, s.Name, s.Count)
	case StartJob:
		return fmt.Sprintf("%s: %s with %d pods of %d processors for %s", s.Kind, s.Name, s.Count, s.Processors,
			s.Runs.Round(time.Second/10))
	case Rollout:
		return fmt.Sprintf("%s: %s", s.Kind, s.Name)
	}
	return string(s.Kind)
}

// Size is the size of a day.
type Size struct {
	Length time.Duration
	// Scale multiplies the number of the pods.
	Scale float64
	// LoadEvery is the time of the day between two changes of the web load, in hours.
	LoadEvery float64
	// CronEvery is the time of the day between two cron Jobs, in hours.
	CronEvery float64
	// Warnings are the hours of the spot warnings.
	Warnings []float64
}

// Full is a day of 18 minutes, 80 times as fast as a real one.
func Full() Size {
	return Size{Length: 18 * time.Minute, Scale: 1, LoadEvery: 1, CronEvery: 3, Warnings: []float64{7, 13.5, 20}}
}

// Short is a day that two autoscalers serve within five minutes.
func Short() Size {
	return Size{Length: 90 * time.Second, Scale: 0.3, LoadEvery: 3, CronEvery: 6, Warnings: []float64{9}}
}

// Hour is an hour of the day in real time.
func (s Size) Hour() time.Duration { return s.Length / 24 }

// web describes the web Deployments: the pods at night and at the peak, at a scale of one.
func web() []struct {
	name        string
	night, peak float64
} {
	return []struct {
		name        string
		night, peak float64
	}{{"storefront", 8, 40}, {"basket", 5, 24}, {"search", 2, 10}}
}

const (
	// noon is the hour at which the image changes.
	noon = 12
	// peakHour is the hour of the highest load.
	peakHour = 14
	// reports is the Deployment whose NodePool has limits. By day it asks for more than these.
	reports                = "reports"
	reportsNight           = 3
	reportsDay             = 10
	reportsFrom, reportsTo = 8.5, 11.0
	leastReplicas          = 2
	leastRun               = 4 * time.Second
)

// Plan returns the steps of a day in their order, as the seed and the size determine them.
func Plan(seed uint64, size Size) []Step {
	dice := rand.New(rand.NewPCG(seed, 0))
	hour := func(hours float64) time.Duration { return time.Duration(hours * float64(size.Hour())) }
	steps := loads(dice, size, hour)
	steps = append(steps,
		Step{At: 0, Kind: Scale, Name: reports, Count: reportsNight},
		Step{At: hour(reportsFrom), Kind: Scale, Name: reports, Count: reportsDay},
		Step{At: hour(reportsTo), Kind: Scale, Name: reports, Count: reportsNight},
		Step{At: hour(10), Kind: Rollout, Name: "basket"},
		Step{At: hour(noon), Kind: Image},
		Step{At: hour(16), Kind: Rollout, Name: "storefront"},
		Step{At: hour(17), Kind: Sicken, Draw: dice.Uint64()},
		Step{At: hour(18) + leastRun, Kind: Heal},
	)
	steps = append(steps, jobs(dice, size, hour)...)
	for _, at := range size.Warnings {
		steps = append(steps, Step{At: hour(at + dice.Float64()/2), Kind: Warn, Draw: dice.Uint64()})
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return int(a.At - b.At) })
	return steps
}

// loads scales the web Deployments along a sine with some noise. A day ends as it began.
func loads(dice *rand.Rand, size Size, hour func(float64) time.Duration) []Step {
	var steps []Step
	for _, one := range web() {
		last := -1
		for at := 0.0; at < 24; at += size.LoadEvery {
			share := (1 + math.Cos(2*math.Pi*(at-peakHour)/24)) / 2
			noise := 1 + (dice.Float64()-0.5)/5
			count := max(leastReplicas, int(math.Round((one.night+(one.peak-one.night)*share)*noise*size.Scale)))
			if count != last {
				steps = append(steps, Step{At: hour(at), Kind: Scale, Name: one.name, Count: count})
			}
			last = count
		}
	}
	return steps
}

// jobs are cron Jobs at fixed hours, and two larger batches whose hours the seed draws.
func jobs(dice *rand.Rand, size Size, hour func(float64) time.Duration) []Step {
	var steps []Step
	runs := func(hours float64) time.Duration { return max(leastRun, hour(hours)) }
	for at := 1.5; at < 23; at += size.CronEvery {
		steps = append(steps, Step{
			At: hour(at), Kind: StartJob, Name: fmt.Sprintf("cron-%02.0f", math.Floor(at)), Count: 2 + dice.IntN(3),
			Processors: 1, Runs: runs(0.3 + dice.Float64()*0.3),
		})
	}
	for i, from := range []float64{3, 19} {
		steps = append(steps, Step{
			At: hour(from + 2*dice.Float64()), Kind: StartJob, Name: fmt.Sprintf("batch-%d", i+1),
			Count: max(leastReplicas, int(math.Round(12*size.Scale))), Processors: 2, Runs: runs(0.8 + dice.Float64()*0.4),
		})
	}
	return steps
}
