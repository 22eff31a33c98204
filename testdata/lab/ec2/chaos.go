package ec2

import (
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
)

// Chaos makes a random share of all offerings short of capacity, and changes the share's members
// over time. The same seed gives the same shortages at the same times after SetChaos.
type Chaos struct {
	// Share of the offerings, a type in a zone bought one way, that are short: 0.7 is seven of ten.
	// 0 ends chaos.
	Share float64 `json:"share"`
	// Seed chooses which.
	Seed uint64 `json:"seed"`
	// Period is how long an offering keeps its state. The offerings change at different moments. 0
	// means that only PassChaos changes anything.
	Period time.Duration `json:"period"`
}

// chaos is a Chaos since a moment.
type chaos struct {
	Chaos
	since time.Time
	// passed is time that was given besides the real one.
	passed time.Duration
}

// SetChaos starts chaos again.
func (s *Service) SetChaos(c Chaos) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capacity.chaos = chaos{Chaos: c, since: time.Now()}
}

// PassChaos advances the shortages by a time. With a period of 0 any time above 0 changes every
// offering.
func (s *Service) PassChaos(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capacity.chaos.passed += d
}

// Short reports whether an offering has no capacity now, because of chaos or because it is starved.
func (s *Service) Short(instanceType, zone, capacityType string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, now := pool{instanceType, zone, capacityType}, time.Now()
	for _, r := range s.capacity.starve {
		if r.SubnetID == "" && r.matches(p, "") && (r.Until.IsZero() || now.Before(r.Until)) {
			return true
		}
	}
	return s.capacity.chaos.short(p, now)
}

// short throws the dice of one offering for the period in which it is.
func (c chaos) short(p pool, now time.Time) bool {
	if c.Share <= 0 {
		return false
	}
	phase := p.draw(c.Seed, "phase")
	round := uint64(c.passed)
	if c.Period > 0 {
		elapsed := now.Sub(c.since) + c.passed + time.Duration(phase*float64(c.Period))
		round = uint64(max(0, elapsed) / c.Period)
	}
	return p.draw(c.Seed, fmt.Sprint(round)) < c.Share
}

// draw returns a number from 0 to 1 that depends on nothing but its arguments.
func (p pool) draw(seed uint64, round string) float64 {
	return draw.Share(seed, p.InstanceType, p.Zone, p.CapacityType, round)
}
