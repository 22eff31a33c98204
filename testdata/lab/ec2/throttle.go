package ec2

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// throttle refuses a share of an action's calls.
type throttle struct {
	action string
	rate   float64
	until  time.Time
	random *rand.Rand
}

// Throttle refuses calls of an action (a pattern with * and ?) with RequestLimitExceeded, each with
// a probability of rate, from 0 to 1. A duration of 0 has no end. A later call for the same pattern
// replaces the earlier one, and a rate of 0 ends it.
func (s *Service) Throttle(action string, rate float64, duration time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.throttles = slices.DeleteFunc(s.throttles, func(t *throttle) bool { return t.action == action })
	if rate <= 0 {
		return
	}
	t := &throttle{action: action, rate: rate, random: rand.New(rand.NewPCG(s.config.Seed, 1))}
	if duration > 0 {
		t.until = time.Now().Add(duration)
	}
	s.throttles = append(s.throttles, t)
}

// Bursts refuse all calls of some actions with RequestLimitExceeded for short times, as when another
// program of the account uses up its rate. The zero value has none.
type Bursts struct {
	// Seed chooses the times and the actions.
	Seed uint64
	// Every is the time that has one burst of the length For.
	Every, For time.Duration
}

// refuses reports whether a burst refuses an action at a time since the beginning.
func (b Bursts) refuses(action string, since time.Duration) bool {
	if b.Every <= 0 {
		return false
	}
	turn := fmt.Sprint(int64(since / b.Every))
	begins := draw.Between(b.Seed, 0, b.Every-b.For, "begins", turn)
	if into := since%b.Every - begins; into < 0 || into >= b.For {
		return false
	}
	patterns := []string{"Describe*", "CreateFleet", "TerminateInstances", "Create*", "*"}
	return wildcard(patterns[int(draw.Share(b.Seed, "action", turn)*float64(len(patterns)))], action)
}

// throttled returns EC2's answer to a call that came too soon, nil for one that may go on.
func (s *Service) throttled(action string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.overRate(action, time.Now()); err != nil {
		return err
	}
	if s.config.Bursts.refuses(action, time.Since(s.began)) {
		return wire.Errorf(codeRequestLimitExceeded, http.StatusServiceUnavailable, "Request limit exceeded.")
	}
	for _, t := range s.throttles {
		if !wildcard(t.action, action) || !t.until.IsZero() && time.Now().After(t.until) {
			continue
		}
		if t.random.Float64() < t.rate {
			return wire.Errorf(codeRequestLimitExceeded, http.StatusServiceUnavailable, "Request limit exceeded.")
		}
	}
	return nil
}
