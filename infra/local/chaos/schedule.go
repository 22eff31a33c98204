package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Kind is what happens.
type Kind string

// The kinds of happenings.
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
	Skew      Kind = "a function's clock is wrong"
	Disturb   Kind = "messages come late and twice"
	Restart   Kind = "the control plane restarts"
	Drift     Kind = "all nodes are outdated"
)

// weights are how often each kind comes among a hundred or so. Restarts and outdated nodes have times of their own.
func weights() []struct {
	kind   Kind
	weight int
} {
	return []struct {
		kind   Kind
		weight int
	}{
		{Scale, 20}, {Interrupt, 12}, {Rebalance, 4}, {Stop, 4}, {Vanish, 4}, {Shortage, 6}, {Throttle, 8}, {LoseReply, 6}, {Kill, 30}, {Skew, 6}, {Disturb, 4},
	}
}

const (
	// between is the mean time from one happening to the next.
	between = 1500 * time.Millisecond
	// restartEvery is how much of the chaos there is to one restart of the control plane; a
	// shorter one has one in its middle.
	restartEvery = 4 * time.Minute
	// driftEvery is the same for a change of the class, after which every node is to be replaced.
	driftEvery = 3 * time.Minute
)

// Happening is one thing that happens.
type Happening struct {
	At   time.Duration // since the beginning
	Kind Kind
	// Draw chooses among what there is: a function, an instance, a number.
	Draw, Amount uint64
}

func (h Happening) String() string { return fmt.Sprintf("%7.1fs  %s", h.At.Seconds(), h.Kind) }

// Schedule is what happens in a time, by the seed.
func Schedule(seed uint64, length time.Duration) []Happening {
	dice := rand.New(rand.NewPCG(seed, 0))
	var all []Happening
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
				all = append(all, Happening{At: at, Kind: one.kind, Draw: dice.Uint64(), Amount: dice.Uint64()})
				break
			}
		}
	}
	all = append(all, regular(Restart, restartEvery, length, 1, 2)...)
	all = append(all, regular(Drift, driftEvery, length, 1, 4)...)
	slices.SortStableFunc(all, func(a, b Happening) int { return int(a.At - b.At) })
	return all
}

// regular are the happenings of a kind that comes once in each period, and once at least,
// when a part of the period has passed.
func regular(kind Kind, period, length time.Duration, part, of int) []Happening {
	count := max(1, int(length/period))
	all := make([]Happening, count)
	for i := range all {
		all[i] = Happening{At: length * time.Duration(of*i+part) / time.Duration(of*count), Kind: kind, Amount: uint64(i)}
	}
	return all
}
