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
	// InstanceType, Zone and CapacityType are patterns with * and ?; empty matches everything but launches into capacity reservations, whose capacity
	// is held for them: those are matched by the capacity type reserved.
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	// SubnetID is the pattern of the subnet that a launch is for; empty matches every one.
	SubnetID string `json:"subnetId,omitempty"`
	// Code is the error that launches get; empty means InsufficientInstanceCapacity. Message is its text; empty means EC2's own.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Until is when room comes back by itself; zero means not before it is fed.
	Until time.Time `json:"until,omitzero"`
}

func (r Starvation) matches(p pool, subnetID string) bool {
	match := func(pattern, value string) bool { return pattern == "" || wildcard(pattern, value) }
	if p.CapacityType == reservedPools && r.CapacityType == "" {
		return false
	}
	return match(r.InstanceType, p.InstanceType) && match(r.Zone, p.Zone) && match(r.CapacityType, p.CapacityType) && match(r.SubnetID, subnetID)
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
	chaos  chaos
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

// refused gives the error of a launch in the pool and subnet, empty where it succeeds.
func (c *capacity) refused(p pool, subnetID string, vcpus int, now time.Time) (code, message string) {
	for _, r := range c.starve {
		if !r.matches(p, subnetID) || !r.Until.IsZero() && now.After(r.Until) {
			continue
		}
		if code, message = starved(r.Code, p, subnetID); r.Message != "" {
			message = r.Message
		}
		return code, message
	}
	switch {
	case p.CapacityType == reservedPools:
		return "", ""
	case c.chaos.short(p, now):
		return starved(codeInsufficientInstanceCapacity, p, subnetID)
	case p.CapacityType == Spot && c.limits.SpotInstances >= 0 && c.spotInstances >= c.limits.SpotInstances:
		return starved(codeMaxSpotInstanceCountExceeded, p, subnetID)
	case p.CapacityType == OnDemand && c.limits.OnDemandVCPUs >= 0 && c.onDemandVCPUs+vcpus > c.limits.OnDemandVCPUs:
		return starved(codeVcpuLimitExceeded, p, subnetID)
	}
	return "", ""
}

// starved says in EC2's words why a pool gives nothing.
func starved(code string, p pool, subnetID string) (string, string) {
	switch code {
	case "", codeInsufficientInstanceCapacity:
		if p.CapacityType == Spot {
			return codeInsufficientInstanceCapacity, "There is no Spot capacity available that matches your request."
		}
		return codeInsufficientInstanceCapacity, fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
			"Our system will be working on provisioning additional capacity.", p.InstanceType, p.Zone)
	case codeUnsupported:
		return code, fmt.Sprintf("Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", p.InstanceType, p.Zone)
	case codeReservationExceeded:
		return exceeded()
	case codeInsufficientFreeAddresses:
		return code, "There are not enough free addresses in subnet '" + subnetID + "' to satisfy the requested number of instances."
	}
	if text, known := errorMessages()[code]; known {
		return code, text
	}
	return code, fmt.Sprintf("The launch of %s in %s failed with %s.", p.InstanceType, p.Zone, code)
}

func (c *capacity) take(p pool, vcpus int) { c.count(p, 1, vcpus) }

func (c *capacity) release(p pool, vcpus int) { c.count(p, -1, -vcpus) }

func (c *capacity) count(p pool, instances, vcpus int) {
	c.used[p] += instances
	switch p.CapacityType {
	case Spot:
		c.spotInstances += instances
	case OnDemand:
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
