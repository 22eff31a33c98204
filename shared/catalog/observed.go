package catalog

import "time"

// Observed is what has been learnt of EC2's offer since the catalogue was read. The zero value is nothing.
type Observed struct {
	// Unavailable are the offerings that EC2 could not give lately; nil is none.
	Unavailable *Unavailable
	// Reservations are, by capacity reservation's id, how many instances can still be launched into it.
	Reservations map[string]int
	// Learned are the capacities that nodes have been seen to have; nil is none.
	Learned *Learned
}

// ReservationCount is how many instances a capacity reservation had left.
type ReservationCount struct {
	Available int `json:"available"`
	// Time is when EC2 was asked. Instances launched into the reservation since are not counted.
	Time time.Time `json:"time"`
}

// Available are the counts by reservation, as Observed wants them.
func Available(counts map[string]ReservationCount) map[string]int {
	available := make(map[string]int, len(counts))
	for id, count := range counts {
		available[id] = count.Available
	}
	return available
}
