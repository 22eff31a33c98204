package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is a kind of disturbance.
type Kind string

// The kinds of disturbances.
const (
	Scale     Kind = "pods come and go"
	Interrupt Kind = "a spot warning"
	Rebalance Kind = "a rebalance recommendation"
	Stop      Kind = "an instance stops"
	Vanish    Kind = "an instance ends"
	Shortage  Kind = "another share of the offerings is short"
	Throttle  Kind = "EC2 refuses calls"
	LoseReply Kind = "an answer of EC2's is lost"
	Kill      Kind = "a function is killed at its work"
	Double    Kind = "another watch starts, for no or for another predecessor"
	Skew      Kind = "a function's clock is wrong"
	Disturb   Kind = "messages come late and twice"
	Restart   Kind = "the control plane restarts"
	Drift     Kind = "all nodes are outdated"
)

// weights returns the relative frequency of each kind. Restarts and drift have a schedule of their
// own.
func weights() []struct {
	kind   Kind
	weight int
} {
	return []struct {
		kind   Kind
		weight int
	}{
		{Scale, 20}, {Interrupt, 12}, {Rebalance, 4}, {Stop, 4}, {Vanish, 4}, {Shortage, 6}, {Throttle, 8}, {LoseReply, 6},
		{Kill, 30}, {Double, 4}, {Skew, 6}, {Disturb, 4},
	}
}

const (
	// between is the mean time between two disturbances.
	between = 1500 * time.Millisecond
	// restartEvery is the period of control plane restarts. A shorter run has one in its middle.
	restartEvery = 4 * time.Minute
	// driftEvery is the period of changes to the class, after which every node has drifted.
	driftEvery = 3 * time.Minute
)

// Disturbance is one disturbance.
type Disturbance struct {
	At   time.Duration // since the beginning
	Kind Kind
	// Draw chooses the target: a function, an instance, a number.
	Draw, Amount uint64
}

func (h Disturbance) String() string { return fmt.Sprintf("%7.1fs  %s", h.At.Seconds(), h.Kind) }

// Schedule returns the disturbances of a run, as the seed determines them.
func Schedule(seed uint64, length time.Duration) []Disturbance {
	dice := rand.New(rand.NewPCG(seed, 0))
	var all []Disturbance
	total := 0
	for _, one := range weights() {
		total += one.weight
	}
	for at := time.Duration(0); ; {
		at += time.Duration(dice.ExpFloat64() * float64(between))
		if at >= length {
			break
		}
		pick := dice.IntN(total)
		for _, one := range weights() {
			if pick -= one.weight; pick < 0 {
				all = append(all, Disturbance{At: at, Kind: one.kind, Draw: dice.Uint64(), Amount: dice.Uint64()})
				break
			}
		}
	}
	all = append(all, regular(Restart, restartEvery, length, 1, 2)...)
	all = append(all, regular(Drift, driftEvery, length, 1, 4)...)
	slices.SortStableFunc(all, func(a, b Disturbance) int { return int(a.At - b.At) })
	return all
}

// regular returns the disturbances of a kind with a period, at least one. Each comes when part/of
// of the period has passed.
func regular(kind Kind, period, length time.Duration, part, of int) []Disturbance {
	count := max(1, int(length/period))
	all := make([]Disturbance, count)
	for i := range all {
		all[i] = Disturbance{At: length * time.Duration(of*i+part) / time.Duration(of*count), Kind: kind, Amount: uint64(i)}
	}
	return all
}
