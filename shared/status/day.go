package status

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

const (
	dayKey = "day.json"
	// SampleEvery is the time that a sample stands for, and dayLength what all of them do.
	SampleEvery = 15 * time.Minute
	dayLength   = 24 * time.Hour
)

// Sample is a quarter of an hour of the last day. A nil figure was not measured in it.
type Sample struct {
	Start time.Time `json:"start"` // a full quarter of an hour, in UTC
	// Nodes is the number of nodes that Whittle has launched, and PricePerHour their price in US
	// dollars an hour, at the last tick that was told.
	Nodes        *int     `json:"nodes,omitempty"`
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
	// PendingSeconds is the longest time that a pod had waited for a node.
	PendingSeconds *float64 `json:"pendingSeconds,omitempty"`
}

// Fleet is what Whittle's nodes are at one time.
type Fleet struct {
	Nodes int
	// PricePerHour is in US dollars an hour; nil where the prices are unknown.
	PricePerHour *float64
}

// PutFleet adds the nodes to the day's samples. It returns a conflict with other writers after
// several tries.
func PutFleet(ctx context.Context, store Store, fleet Fleet, now time.Time) error {
	return update(ctx, store, func(data map[string]string) error {
		return addToDay(data, now, func(sample *Sample) {
			sample.Nodes, sample.PricePerHour = &fleet.Nodes, fleet.PricePerHour
		})
	})
}

// addToDay changes the present sample, and drops those that are older than a day.
func addToDay(data map[string]string, now time.Time, change func(*Sample)) error {
	start := now.UTC().Truncate(SampleEvery)
	samples := slices.DeleteFunc(dayOf(data), func(sample Sample) bool {
		return now.Sub(sample.Start) > dayLength || sample.Start.After(start)
	})
	if len(samples) == 0 || !samples[len(samples)-1].Start.Equal(start) {
		samples = append(samples, Sample{Start: start})
	}
	change(&samples[len(samples)-1])
	text, err := json.Marshal(samples)
	if err != nil {
		return err
	}
	data[dayKey] = string(text)
	return nil
}

// dayOf returns the samples, the oldest first. What cannot be decoded counts as no samples.
func dayOf(data map[string]string) []Sample {
	var samples []Sample
	if json.Unmarshal([]byte(data[dayKey]), &samples) != nil {
		return nil
	}
	slices.SortStableFunc(samples, func(a, b Sample) int { return a.Start.Compare(b.Start) })
	return samples
}
