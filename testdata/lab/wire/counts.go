package wire

import (
	"maps"
	"sync"
)

// CallCount counts the calls of an action since the server's start or the last ResetCalls.
type CallCount struct {
	// Total counts all calls, Throttled those refused for their rate, Failed all others that ended
	// in an error.
	Total     int `json:"total"`
	Throttled int `json:"throttled"`
	Failed    int `json:"failed"`
}

// counts holds the counts of a server's calls.
type counts struct {
	mu sync.Mutex
	of map[string]CallCount
}

// throttlingCodes are the services' error codes for too many calls.
func throttlingCodes() map[string]bool {
	return map[string]bool{
		"RequestLimitExceeded": true, "Throttling": true, "ThrottlingException": true, "TooManyRequestsException": true,
		"SlowDown": true,
	}
}

func (c *counts) count(record CallRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]CallCount{}
	}
	name := record.Service + ":" + record.Action
	if record.Action == "" {
		name = record.Service + ":" + record.Method + " " + record.Path
	}
	counted := c.of[name]
	counted.Total++
	switch {
	case throttlingCodes()[record.ErrorCode]:
		counted.Throttled++
	case record.Status >= 400:
		counted.Failed++
	}
	c.of[name] = counted
}

// Calls counts the signed calls by service and action, such as ec2:CreateFleet.
func (s *Server) Calls() map[string]CallCount {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return maps.Clone(s.calls.of)
}

// ResetCalls begins to count again.
func (s *Server) ResetCalls() {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	s.calls.of = nil
}
