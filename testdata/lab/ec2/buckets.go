package ec2

import (
	"net/http"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Rate limits the calls of an action with a token bucket, as EC2 does. Each call takes a token; a
// call without one is refused with RequestLimitExceeded.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
type Rate struct {
	// Action is a pattern of EC2's actions with * and ?. Every action has a bucket of its own.
	Action string `json:"action"`
	// PerSecond refills the bucket; Burst is its size, and how full it is at first.
	PerSecond float64 `json:"perSecond"`
	Burst     float64 `json:"burst"`
}

// EC2Rates are the rates that accounts begin with, for the actions of a node autoscaler. The first
// that matches binds. https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
func EC2Rates() []Rate {
	return []Rate{
		{Action: "RunInstances", PerSecond: 2, Burst: 5}, {Action: "StartInstances", PerSecond: 2, Burst: 5},
		{Action: "TerminateInstances", PerSecond: 5, Burst: 100},
		{Action: "CreateTags", PerSecond: 10, Burst: 100}, {Action: "Describe*", PerSecond: 20, Burst: 100},
		{Action: "*", PerSecond: 5, Burst: 50},
	}
}

// bucket is a rate with the tokens of each action that it binds.
type bucket struct {
	Rate
	tokens map[string]float64
	filled map[string]time.Time
}

// SetRates replaces all rates. No rates means no limit.
func (s *Service) SetRates(rates ...Rate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buckets = nil
	for _, r := range rates {
		s.buckets = append(s.buckets, &bucket{Rate: r, tokens: map[string]float64{}, filled: map[string]time.Time{}})
	}
}

// Rates are those that bind now.
func (s *Service) Rates() []Rate {
	s.mu.Lock()
	defer s.mu.Unlock()
	rates := []Rate{}
	for _, b := range s.buckets {
		rates = append(rates, b.Rate)
	}
	return rates
}

// take takes a token for one call of an action.
func (b *bucket) take(action string, now time.Time) bool {
	tokens, began := b.tokens[action]
	if !began {
		tokens = b.Burst
	} else {
		tokens = min(b.Burst, tokens+now.Sub(b.filled[action]).Seconds()*b.PerSecond)
	}
	b.filled[action] = now
	taken := tokens >= 1
	if taken {
		tokens--
	}
	b.tokens[action] = tokens
	return taken
}

// overRate returns EC2's answer to a call without a token. It is called with the lock held.
func (s *Service) overRate(action string, now time.Time) error {
	at := slices.IndexFunc(s.buckets, func(b *bucket) bool { return wildcard(b.Action, action) })
	if at < 0 || s.buckets[at].take(action, now) {
		return nil
	}
	return wire.Errorf(codeRequestLimitExceeded, http.StatusServiceUnavailable, "Request limit exceeded.")
}
