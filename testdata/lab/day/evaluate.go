package day

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// again is the time within which a second eviction counts: an hour of a full day.
const again = 45 * time.Second

// Figures are the results of a day.
type Figures struct {
	Dollars float64
	// Ratio is the processor time of the instances over that which bound pods request.
	Ratio                       float64
	PendingMedian, PendingWorst time.Duration // the 50th and 99th percentile
	// Limited is the mean number of pods that ran in the NodePool with limits.
	Limited          float64
	Evictions, Twice int
	// Renewed is the time from the image change until the last node of the open NodePool has the
	// new image, and RenewedFull that of the NodePool with limits.
	Renewed, RenewedFull Renewal
	EmptyMinutes         float64
	Instances            int
	// Unserved counts the instances that ended without having run a pod, replacements among them.
	Unserved        int
	Requests, Calls int
	// Settled is how long the day was over until every pod ran, or the patience.
	Settled time.Duration
}

// Renewal is the exchange of a NodePool's nodes.
type Renewal struct {
	Took time.Duration
	// Left counts the nodes with the old image at the end of the day.
	Left int
}

// Evaluate computes the figures of a record.
func Evaluate(r *Record) Figures {
	f := Figures{
		Instances: len(r.Instances), Requests: r.Requests, Calls: r.Calls,
		Settled: r.Settled,
		Renewed: r.renewal(openPool), RenewedFull: r.renewal(fullPool),
	}
	for _, i := range r.Instances {
		f.Dollars += i.PricePerHour * earlier(i.Ended, r.Ended).Sub(later(i.Launched, r.Began)).Hours()
		if !i.Ended.IsZero() && !i.Served {
			f.Unserved++
		}
	}
	evicted := r.evicted()
	f.Evictions, f.Twice = len(evicted), twice(evicted)
	waits := r.waits()
	f.PendingMedian, f.PendingWorst = scenario.Percentile(waits, 50), scenario.Percentile(waits, 99)
	r.integrate(&f)
	return f
}

// integrate sums the samples over the time until the next one.
func (r *Record) integrate(f *Figures) {
	var paid, requested, limited, empty float64
	for i, sample := range r.Samples {
		until := r.Ended
		if i+1 < len(r.Samples) {
			until = r.Samples[i+1].At
		}
		lasted := until.Sub(sample.At).Minutes()
		paid += sample.Processors * lasted
		requested += sample.Requested * lasted
		limited += float64(sample.Limited) * lasted
		empty += float64(sample.Empty) * lasted
	}
	f.EmptyMinutes = empty
	if requested > 0 {
		f.Ratio = paid / requested
	}
	if length := r.Ended.Sub(r.Began).Minutes(); length > 0 {
		f.Limited = limited / length
	}
}

// waits returns how long each pod waited for its node, until its end or the day's if none came. Pods
// of the NodePool with limits wait by design and do not count.
func (r *Record) waits() []time.Duration {
	var waits []time.Duration
	for _, pod := range r.Pods {
		if pod.Workload != reports {
			waits = append(waits, earlier(pod.Bound, earlier(pod.Gone, r.Ended)).Sub(pod.Created))
		}
	}
	return waits
}

// evicted is a pod that was evicted, and when first.
type evicted struct {
	at  time.Time
	pod *Pod
}

// evicted returns the pods of the workload that were evicted, in the order of their evictions.
func (r *Record) evicted() []evicted {
	var all []evicted
	for _, eviction := range slices.SortedFunc(slices.Values(r.Evictions), func(a, b Eviction) int {
		return a.At.Compare(b.At)
	}) {
		pod := r.podOf(eviction)
		if pod == nil || slices.ContainsFunc(all, func(before evicted) bool { return before.pod == pod }) {
			continue
		}
		all = append(all, evicted{eviction.At, pod})
	}
	return all
}

// twice counts evicted pods that were created after an earlier eviction of the same workload, which
// was not long before. Such a pod most likely stood in for the evicted one.
func twice(all []evicted) int {
	count := 0
	for i, one := range all {
		if slices.ContainsFunc(all[:i], func(before evicted) bool {
			return before.pod.Workload == one.pod.Workload && before.at.Before(one.pod.Created) && one.at.Sub(before.at) <= again
		}) {
			count++
		}
	}
	return count
}

// podOf returns the pod of an eviction. A StatefulSet's pods have their predecessors' names.
func (r *Record) podOf(eviction Eviction) *Pod {
	var found *Pod
	for i := range r.Pods {
		pod := &r.Pods[i]
		if pod.Name == eviction.Pod && !pod.Created.After(eviction.At) && (found == nil || pod.Created.After(found.Created)) {
			found = pod
		}
	}
	return found
}

// renewal measures how long a NodePool had nodes with the old image after the change.
func (r *Record) renewal(pool string) Renewal {
	var renewal Renewal
	for _, i := range r.Instances {
		if i.Pool != pool || !i.Old || !i.Ended.IsZero() && i.Ended.Before(r.Changed) {
			continue
		}
		if i.Ended.IsZero() {
			renewal.Left++
		}
		renewal.Took = max(renewal.Took, earlier(i.Ended, r.Ended).Sub(r.Changed))
	}
	return renewal
}

// earlier returns the earlier of two times. A zero time has not come.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
