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

// freshTokens are the client tokens of claims that this pass wrote. Until EC2 is asked with one, no
// instance can have been launched for its claims.
type freshTokens struct {
	mutex  sync.Mutex
	tokens map[string]bool
}

func (f *freshTokens) add(token string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.tokens == nil {
		f.tokens = map[string]bool{}
	}
	f.tokens[token] = true
}

func (f *freshTokens) has(token string) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.tokens[token]
}

// remove notes that EC2 is asked with the token.
func (f *freshTokens) remove(token string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.tokens, token)
}
