package churn_test

import (
	"flag"
	"testing"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/whittle-dev/whittle/testdata/churn"
)

var (
	jobs = flag.Int("jobs", 0, "live through whole days of so many Jobs, and print what they cost")
	seed = flag.Uint64("seed", 1, "of the days")
)

// day has one instance type, as the sketch of a cluster of equal nodes.
func day(jobs int) churn.Day {
	return churn.Day{Jobs: jobs, Strategy: config.LeastAllocated, InstanceTypes: []string{"m5.xlarge"}, Seed: *seed}
}

// TestARestartedJobIsPaidFor compares the default with moves that count Jobs as other pods.
func TestARestartedJobIsPaidFor(t *testing.T) {
	careful, careless := day(600), day(600)
	careless.Annotations = churn.JobSavings("0")
	first, second := careful.Run(t), careless.Run(t)
	if first.Dollars >= second.Dollars || first.LostHours >= second.LostHours/2 {
		t.Errorf("by default: %s\nJobs as other pods: %s", &first, &second)
	}
	if first.PodHours-first.LostHours < 0.9*(second.PodHours-second.LostHours) {
		t.Errorf("not the same work: %s\n%s", &first, &second)
	}
}

// TestSteeredPodsEmptyNodes compares a day in which nodes with Jobs stay with one in which new pods keep off the nodes
// that are to go.
func TestSteeredPodsEmptyNodes(t *testing.T) {
	kept, steered := day(1500), day(1500)
	kept.Annotations, steered.Annotations = churn.KeepJobs(), churn.Steered(churn.KeepJobs())
	first, second := kept.Run(t), steered.Run(t)
	if second.Dollars > 0.95*first.Dollars || second.Evictions > 0 || second.Steerings == 0 || first.Steerings > 0 {
		t.Errorf("nodes with Jobs stay: %s\nand pods are steered: %s", &first, &second)
	}
}

// TestDays prints the rows of the page.
func TestDays(t *testing.T) {
	if *jobs == 0 {
		return // the rows are for people: make bench-churn
	}
	with := func(change func(*churn.Day)) churn.Day {
		made := day(*jobs)
		change(&made)
		return made
	}
	web := func(change func(*churn.Day)) churn.Day {
		return with(func(d *churn.Day) {
			d.Jobs, d.Web = 0, true
			change(d)
		})
	}
	for _, row := range []struct {
		name string
		day  churn.Day
	}{
		{"Jobs count as other pods", with(func(d *churn.Day) { d.Annotations = churn.JobSavings("0") })},
		{"Jobs, by default", with(func(*churn.Day) {})},
		{"Jobs, at least four times their price", with(func(d *churn.Day) { d.Annotations = churn.JobSavings("4") })},
		{"nodes with Jobs stay", with(func(d *churn.Day) { d.Annotations = churn.KeepJobs() })},
		{"Jobs, steered", with(func(d *churn.Day) { d.Annotations = churn.Steered() })},
		{"nodes with Jobs stay, steered", with(func(d *churn.Day) { d.Annotations = churn.Steered(churn.KeepJobs()) })},
		{"nodes with Jobs stay, MostAllocated", with(func(d *churn.Day) {
			d.Annotations, d.Strategy = churn.KeepJobs(), config.MostAllocated
		})},
		{"web", web(func(*churn.Day) {})},
		{"web, steered", web(func(d *churn.Day) { d.Annotations = churn.Steered() })},
		{"web, MostAllocated", web(func(d *churn.Day) { d.Strategy = config.MostAllocated })},
	} {
		t.Run(row.name, func(t *testing.T) {
			result := row.day.Run(t)
			t.Logf("%s: %s", row.name, &result)
		})
	}
}
