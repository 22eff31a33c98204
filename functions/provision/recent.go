package main

import (
	"sync"
	"time"
)

// quiet is how long the same event about the same pod is not written again:
// Karpenter's five minutes for FailedScheduling.
const quiet = 5 * time.Minute

// recent remembers for a while what was said. A cold container says it once more.
type recent struct {
	mutex sync.Mutex
	until map[string]time.Time
}

// first tells whether the key has not been seen of late, and remembers it.
func (r *recent) first(key string, now time.Time) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for seen, until := range r.until {
		if now.After(until) {
			delete(r.until, seen)
		}
	}
	if _, said := r.until[key]; said {
		return false
	}
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	r.until[key] = now.Add(quiet)
	return true
}

// occasion is something that is due now and then. In a cold container it is due at once.
type occasion struct {
	mutex sync.Mutex
	last  time.Time
}

// due tells whether the period has passed since it was due last, and begins another.
func (o *occasion) due(now time.Time, period time.Duration) bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.last.IsZero() && now.Sub(o.last) < period {
		return false
	}
	o.last = now
	return true
}
