package ec2

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// Capacity types as fleets and steering name them.
const (
	OnDemand = "on-demand"
	Spot     = "spot"
)

// pool is capacity that runs out on its own: one type in one zone, bought one way.
type pool struct{ InstanceType, Zone, CapacityType string }

// Starvation takes the room away from all pools that it matches.
type Starvation struct {
	// InstanceType, Zone and CapacityType are patterns with * and ?; empty matches everything.
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	// Code is the error that launches get; empty means InsufficientInstanceCapacity.
	Code string `json:"code,omitempty"`
	// Until is when room comes back by itself; zero means not before it is fed.
	Until time.Time `json:"until,omitzero"`
}

func (r Starvation) matches(p pool) bool {
	match := func(pattern, value string) bool { return pattern == "" || wildcard(pattern, value) }
	return match(r.InstanceType, p.InstanceType) && match(r.Zone, p.Zone) && match(r.CapacityType, p.CapacityType)
}

// Limits are quotas of the account; a negative number is no limit.
type Limits struct {
	// SpotInstances counts running spot instances; past it launches get MaxSpotInstanceCountExceeded.
	SpotInstances int `json:"spotInstances"`
	// OnDemandVCPUs counts the vCPUs of running on-demand instances; past it launches get VcpuLimitExceeded.
	OnDemandVCPUs int `json:"onDemandVCPUs"`
}

// capacity says where there is room. Its methods are called with the service's lock held.
type capacity struct {
	seed   uint64
	used   map[pool]int
	starve []Starvation
	limits Limits
	// spotInstances and onDemandVCPUs are what the limits bind.
	spotInstances, onDemandVCPUs int
}

func newCapacity(seed uint64) *capacity {
	return &capacity{seed: seed, used: map[pool]int{}, limits: Limits{SpotInstances: -1, OnDemandVCPUs: -1}}
}

// room tells how much capacity a pool has left, from 1 (plenty) to 0 (nearly none). It never forbids a launch, only starvation does; strategies
// that look at capacity prefer more room. EC2's own numbers are unknown, so that a hash spreads pools between 20 and 1,000 instances.
func (c *capacity) room(p pool) float64 {
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%d %s %s %s", c.seed, p.InstanceType, p.Zone, p.CapacityType)
	slots := 20 + hash.Sum64()%981
	return max(0, float64(slots)-float64(c.used[p])) / 1000
}

// refused gives the error of a launch in the pool, empty where it succeeds.
func (c *capacity) refused(p pool, vcpus int, now time.Time) (code, message string) {
	for _, r := range c.starve {
		if !r.matches(p) || !r.Until.IsZero() && now.After(r.Until) {
			continue
		}
		return starved(r.Code, p)
	}
	switch {
	case p.CapacityType == Spot && c.limits.SpotInstances >= 0 && c.spotInstances >= c.limits.SpotInstances:
		return starved(codeMaxSpotInstanceCountExceeded, p)
	case p.CapacityType == OnDemand && c.limits.OnDemandVCPUs >= 0 && c.onDemandVCPUs+vcpus > c.limits.OnDemandVCPUs:
		return starved(codeVcpuLimitExceeded, p)
	}
	return "", ""
}

// starved says in EC2's words why a pool gives nothing.
func starved(code string, p pool) (string, string) {
	switch code {
	case "", codeInsufficientInstanceCapacity:
		if p.CapacityType == Spot {
			return codeInsufficientInstanceCapacity, "There is no Spot capacity available that matches your request."
		}
		return codeInsufficientInstanceCapacity, fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
			"Our system will be working on provisioning additional capacity.", p.InstanceType, p.Zone)
	case codeMaxSpotInstanceCountExceeded:
		return code, "Max spot instance count exceeded"
	case codeVcpuLimitExceeded:
		return code, "You have requested more vCPU capacity than your current vCPU limit allows for the instance bucket that the specified instance type belongs to."
	case codeUnfulfillableCapacity:
		return code, "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again."
	case codeUnsupported:
		return code, fmt.Sprintf("The requested configuration is currently not supported: %s in %s.", p.InstanceType, p.Zone)
	default:
		return code, fmt.Sprintf("The launch of %s in %s failed with %s.", p.InstanceType, p.Zone, code)
	}
}

func (c *capacity) take(p pool, vcpus int) { c.count(p, 1, vcpus) }

func (c *capacity) release(p pool, vcpus int) { c.count(p, -1, -vcpus) }

func (c *capacity) count(p pool, instances, vcpus int) {
	c.used[p] += instances
	if p.CapacityType == Spot {
		c.spotInstances += instances
	} else {
		c.onDemandVCPUs += vcpus
	}
}

// Starve takes room away. It adds to what is starved already.
func (s *Service) Starve(r Starvation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capacity.starve = append(s.capacity.starve, r)
}

// Feed gives back what was starved with the same three patterns, or everything for three empty ones. It tells how many starvations ended.
func (s *Service) Feed(instanceType, zone, capacityType string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.capacity.starve)
	everything := instanceType == "" && zone == "" && capacityType == ""
	s.capacity.starve = slices.DeleteFunc(s.capacity.starve, func(r Starvation) bool {
		return everything || r.InstanceType == instanceType && r.Zone == zone && r.CapacityType == capacityType
	})
	return before - len(s.capacity.starve)
}

// Starvations lists what is starved now.
func (s *Service) Starvations() []Starvation {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.capacity.starve = slices.DeleteFunc(s.capacity.starve, func(r Starvation) bool { return !r.Until.IsZero() && now.After(r.Until) })
	return slices.Clone(s.capacity.starve)
}

// SetLimits sets the account's quotas. Running instances stay.
func (s *Service) SetLimits(limits Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capacity.limits = limits
}
