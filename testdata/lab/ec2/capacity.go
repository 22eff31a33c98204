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
	// InstanceType, Zone and CapacityType are patterns with * and ?. Empty ones match everything
	// except launches into capacity reservations, which have capacity of their own. The capacity
	// type reserved matches those.
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	// SubnetID is the pattern of the subnet that a launch is for; empty matches every one.
	SubnetID string `json:"subnetId,omitempty"`
	// Code is the error that launches get; empty means InsufficientInstanceCapacity. Message is its
	// text; empty means EC2's own.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Until is when capacity returns by itself; zero means only when it is fed.
	Until time.Time `json:"until,omitzero"`
}

func (r Starvation) matches(p pool, subnetID string) bool {
	match := func(pattern, value string) bool { return pattern == "" || wildcard(pattern, value) }
	if p.CapacityType == reservedPools && r.CapacityType == "" {
		return false
	}
	return match(r.InstanceType, p.InstanceType) && match(r.Zone, p.Zone) && match(r.CapacityType, p.CapacityType) &&
		match(r.SubnetID, subnetID)
}

// Limits are quotas of the account; a negative number is no limit.
type Limits struct {
	// SpotInstances counts running spot instances; past it launches get MaxSpotInstanceCountExceeded.
	SpotInstances int `json:"spotInstances"`
	// OnDemandVCPUs counts the vCPUs of running on-demand instances; past it launches get
	// VcpuLimitExceeded.
	OnDemandVCPUs int `json:"onDemandVCPUs"`
}

// capacity decides where there is room. Its methods are called with the service's lock held.
type capacity struct {
	seed   uint64
	used   map[pool]int
	starve []Starvation
	limits Limits
	chaos  chaos
	// spotInstances and onDemandVCPUs count towards the limits.
	spotInstances, onDemandVCPUs int
}

func newCapacity(seed uint64) *capacity {
	return &capacity{seed: seed, used: map[pool]int{}, limits: Limits{SpotInstances: -1, OnDemandVCPUs: -1}}
}

// room is the capacity that a pool has left, from 1 (plenty) to 0 (nearly none). It never forbids a
// launch; only starvation does. Capacity-aware strategies prefer more room. EC2's own numbers are
// unknown, so a hash spreads pools between 20 and 1,000 instances.
func (c *capacity) room(p pool) float64 {
	hash := fnv.New64a()
	_, _ = fmt.Fprintf(hash, "%d %s %s %s", c.seed, p.InstanceType, p.Zone, p.CapacityType)
	slots := 20 + hash.Sum64()%981
	return max(0, float64(slots)-float64(c.used[p])) / 1000
}

// refused returns the error of a launch in the pool and subnet, empty where it succeeds.
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

// starved returns EC2's code and message for a pool without capacity.
func starved(code string, p pool, subnetID string) (string, string) {
	switch code {
	case "", codeInsufficientInstanceCapacity:
		if p.CapacityType == Spot {
			return codeInsufficientInstanceCapacity, "There is no Spot capacity available that matches your request."
		}
		return codeInsufficientInstanceCapacity,
			fmt.Sprintf("We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). "+
				"Our system will be working on provisioning additional capacity.", p.InstanceType, p.Zone)
	case codeUnsupported:
		return code, fmt.Sprintf(
			"Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", p.InstanceType,
			p.Zone)
	case codeReservationExceeded:
		return exceeded()
	case codeInsufficientFreeAddresses:
		return code, "There are not enough free addresses in subnet '" + subnetID +
			"' to satisfy the requested number of instances."
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

// Starve takes capacity away. It adds to earlier starvations.
func (s *Service) Starve(r Starvation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capacity.starve = append(s.capacity.starve, r)
}

// Feed ends the starvation with the same three patterns, or all for three empty ones. It returns
// the number of ended starvations.
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

// Starvations lists the current starvations.
func (s *Service) Starvations() []Starvation {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.capacity.starve = slices.DeleteFunc(s.capacity.starve, func(r Starvation) bool {
		return !r.Until.IsZero() && now.After(r.Until)
	})
	return slices.Clone(s.capacity.starve)
}

// SetLimits sets the account's quotas. Running instances stay.
func (s *Service) SetLimits(limits Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capacity.limits = limits
}
