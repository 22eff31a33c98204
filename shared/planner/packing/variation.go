package packing

import "math/rand/v2"

// variation makes choices differ from one try of improve to the next. Without random it does
// nothing, and each choice is the best at hand.
type variation struct {
	random *rand.Rand
	// noise is the part of a ratio that a deviation takes off at most.
	noise float64
}

// deviation is the factor for the ratio of a node.
func (v *variation) deviation() float64 {
	deviation := 1.0
	if v.random != nil {
		deviation -= float64(v.noise * v.random.Float64())
	}
	return deviation
}

// skips reports whether filling a node leaves a band out.
func (v *variation) skips() bool {
	return v.random != nil && v.random.Float64() < v.noise*0.4
}
