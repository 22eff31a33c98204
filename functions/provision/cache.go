package provision

import (
	"sync"
	"time"
)

// quietFor is how long the same event about the same object is not written again. Karpenter writes
// FailedScheduling once in five minutes.
const quietFor = 5 * time.Minute

// recentEvents remembers the events that a warm container has written. A cold container may write
// one again, which the API server recognizes by its name.
type recentEvents struct {
	mutex sync.Mutex
	until map[string]time.Time
}

// isNew returns whether the key was not seen in the last quietFor, and remembers it.
func (r *recentEvents) isNew(key string, now time.Time) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for seen, until := range r.until {
		if now.After(until) {
			delete(r.until, seen)
		}
	}
	if _, seen := r.until[key]; seen {
		return false
	}
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	r.until[key] = now.Add(quietFor)
	return true
}
