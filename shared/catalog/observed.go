package catalog

// Observed is what has been learnt of EC2's offer since the catalogue was read. The zero value is nothing.
type Observed struct {
	// Unavailable are the offerings that EC2 could not give lately; nil is none.
	Unavailable *Unavailable
	// Reservations are, by capacity reservation's id, how many instances can still be launched into it.
	Reservations map[string]int
}
