package ec2

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
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

// throttled returns EC2's answer to a call that came too soon, nil for one that may go on.
func (s *Service) throttled(action string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.overRate(action, time.Now()); err != nil {
		return err
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
