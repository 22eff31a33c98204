// Package draw makes the random choices of the local world. A choice depends on nothing but its seed
// and its name, so that a run can be repeated.
package draw

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Share returns a number from 0 to 1, 1 excluded. The same seed and name give the same number.
func Share(seed uint64, name ...string) float64 {
	hash := fnv.New64a()
	for _, part := range name {
		// A hash takes everything.
		_, _ = hash.Write([]byte(part + "\x00"))
	}
	return rand.New(rand.NewPCG(seed, hash.Sum64())).Float64()
}

// Between returns a duration from least to most. The same seed and name give the same duration.
func Between(seed uint64, least, most time.Duration, name ...string) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(Share(seed, name...)*float64(most-least))
}
