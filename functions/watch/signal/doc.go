// Package signal decides which functions a change in the cluster concerns, and when they are woken.
// It is a deciding package of the function watch: it takes changes and times, and returns wakes.
//
// Invariant: what Whittle itself writes over and over leads to no wake. A tracker compares only the
// parts of an object whose change gives somebody work. A loop of writes and wakes would otherwise
// have no end.
package signal
