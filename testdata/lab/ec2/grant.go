package ec2

import (
	"net/netip"
	"time"
)

// grant is the room that a launch has taken: capacity of a pool or a reservation, a place in a
// group, and addresses.
type grant struct {
	pool        pool
	vcpus       int
	reservation *capacityReservation
	group       *placementGroup
	partition   int
	subnet      *subnet
	// addresses are those of each interface, the primary one first; prefixes those delegated to it.
	addresses [][]netip.Addr
	prefixes  [][]netip.Prefix
}

// reserve takes room for one launch, or gives the code and message of the refusal.
func (s *Service) reserve(l *launch) (*grant, string, string) {
	given := &grant{pool: l.pool(), vcpus: l.facts.VCPUs, group: l.group, subnet: l.subnet}
	var code, message string
	if given.reservation, code, message = s.reservationFor(l); code != "" {
		return nil, s.refused(l, code), message
	}
	if given.partition, code, message = s.place(l); code != "" {
		return nil, s.refused(l, code), message
	}
	asked := given.pool
	if given.reservation != nil {
		asked.CapacityType = reservedPools
	}
	if code, message = s.capacity.refused(asked, l.subnet.id, given.vcpus, time.Now()); code != "" {
		return nil, s.refused(l, code), message
	}
	if !given.takeAddresses(l.interfaces) {
		given.releaseAddresses()
		return nil, s.refused(l, codeInsufficientFreeAddresses),
			"There are not enough free addresses in subnet '" + l.subnet.id + "' to satisfy the requested number of instances."
	}
	if given.reservation != nil {
		given.reservation.used++
	} else {
		s.capacity.take(given.pool, given.vcpus)
	}
	s.pending[given] = struct{}{}
	return given, "", ""
}

// release returns everything back.
func (s *Service) release(given *grant) {
	delete(s.pending, given)
	if given.reservation != nil {
		given.reservation.used--
	} else {
		s.capacity.release(given.pool, given.vcpus)
	}
	given.releaseAddresses()
}

// takeAddresses returns false if the subnet has too few addresses. The ones taken by then stay
// taken.
func (g *grant) takeAddresses(interfaces []launchInterface) bool {
	for _, n := range interfaces {
		g.addresses, g.prefixes = append(g.addresses, nil), append(g.prefixes, nil)
		last := len(g.addresses) - 1
		for range n.addresses {
			address, ok := g.subnet.take()
			if !ok {
				return false
			}
			g.addresses[last] = append(g.addresses[last], address)
		}
		for range n.prefixes {
			prefix, ok := g.subnet.takePrefix()
			if !ok {
				return false
			}
			g.prefixes[last] = append(g.prefixes[last], prefix)
		}
	}
	return true
}

// releaseAddresses gives the addresses back. The grant still names them, because calls may see its
// instance running for a while.
func (g *grant) releaseAddresses() {
	for _, addresses := range g.addresses {
		for _, address := range addresses {
			g.subnet.release(address)
		}
	}
	for _, prefixes := range g.prefixes {
		for _, prefix := range prefixes {
			g.subnet.releasePrefix(prefix)
		}
	}
}

// Refusal is one offering that a launch asked for and did not get.
type Refusal struct {
	Time         time.Time `json:"time"`
	InstanceType string    `json:"instanceType"`
	Zone         string    `json:"zone"`
	CapacityType string    `json:"capacityType"`
	SubnetID     string    `json:"subnetId"`
	Code         string    `json:"code"`
}

// maxRefusals limits the remembered refusals; the oldest are dropped.
const maxRefusals = 100_000

// refused notes a refusal and gives its code.
func (s *Service) refused(l *launch, code string) string {
	if len(s.refusals) >= maxRefusals {
		s.refusals = s.refusals[maxRefusals/2:]
	}
	s.refusals = append(s.refusals,
		Refusal{time.Now(), l.facts.Name, l.subnet.zone.Name, l.capacityType, l.subnet.id, code})
	return code
}

// Refusals are the offerings that launches asked for and did not get, in their order.
func (s *Service) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Refusal{}, s.refusals...)
}
