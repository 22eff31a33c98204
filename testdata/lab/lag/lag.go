// Package lag holds values whose changes readers see later, as those of an eventually consistent
// service.
package lag

import "time"

// Value is a value with its past. Each of its replicas learns a change at a time of its own. The
// zero Value has no value yet. It is not safe for concurrent use.
type Value[T any] struct{ changes []change[T] }

type change[T any] struct {
	value T
	seen  []time.Time // by replica
}

// Set changes the value. seen has the times at which the replicas learn it. A replica learns changes
// in their order. now lets the value forget what no replica shows any more.
func (v *Value[T]) Set(value T, now time.Time, seen ...time.Time) {
	if last := len(v.changes) - 1; last >= 0 {
		for replica, before := range v.changes[last].seen {
			if seen[replica].Before(before) {
				seen[replica] = before
			}
		}
	}
	v.changes = append(v.changes, change[T]{value, seen})
	for len(v.changes) > 1 && v.changes[1].known(now) {
		v.changes = v.changes[1:]
	}
}

// known reports whether every replica has learned the change.
func (c change[T]) known(now time.Time) bool {
	for _, at := range c.seen {
		if now.Before(at) {
			return false
		}
	}
	return true
}

// Get returns the value that a replica shows. known is false before it has learned any.
func (v *Value[T]) Get(now time.Time, replica int) (value T, known bool) {
	for i := len(v.changes) - 1; i >= 0; i-- {
		if c := v.changes[i]; !now.Before(c.seen[replica]) {
			return c.value, true
		}
	}
	return value, false
}

// Latest is the value of the latest change, whoever has learned it.
func (v *Value[T]) Latest() (value T) {
	if last := len(v.changes) - 1; last >= 0 {
		value = v.changes[last].value
	}
	return value
}

// Settle lets every replica learn all changes at once.
func (v *Value[T]) Settle() {
	if last := len(v.changes) - 1; last >= 0 {
		v.changes = v.changes[last:]
		clear(v.changes[0].seen)
	}
}
