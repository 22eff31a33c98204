package identity

import (
	"fmt"
	"maps"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
	"github.com/whittle-dev/whittle/testdata/lab/lag"
)

// Propagation is the time until a change of IAM holds for the calls of a role and for EC2's
// launches. IAM is eventually consistent and promises no bound. Until then the state before the
// change holds: a new role may do nothing, and EC2 does not know a new instance profile or its role.
// IAM's own answers show a change at once. The zero value has no delay.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_general.html#troubleshoot_general_eventual-consistency
//
// The services that check a role when CloudFormation creates a resource, as Lambda does, see the
// role as it is: CloudFormation tries such a resource again.
type Propagation struct {
	// Seed chooses the times.
	Seed uint64
	// Least and Most bound the time of each change.
	Least, Most time.Duration
	// Now is the time by which changes hold; nil means time.Now.
	Now func() time.Time
}

// NotInForce is the reason of a refused call that a policy allows which does not hold yet.
const NotInForce = "because the policy that allows it is not in force yet"

// SetPropagation sets the delay of all changes from now on. Existing roles and profiles hold as they
// are.
func (s *Service) SetPropagation(p Propagation) {
	if p.Now == nil {
		p.Now = time.Now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.propagation = p
	for _, r := range s.roles {
		r.inForce = lag.Value[grants]{}
		r.inForce.Set(s.grantsOf(r), time.Time{}, time.Time{})
	}
	for _, profile := range s.profiles {
		profile.inForce = lag.Value[string]{}
		profile.inForce.Set(profile.role, time.Time{}, time.Time{})
	}
}

// grants are the policies of a role, by their names, and its permissions boundary. bounded is set if
// the role has one, which may not exist.
type grants struct {
	policies map[string]*document
	bounded  string
	boundary *document
}

func (g grants) equal(other grants) bool {
	return maps.Equal(g.policies, other.policies) && g.bounded == other.bounded && g.boundary == other.boundary
}

// grantsOf returns a role's policies as IAM shows them; the lock is held.
func (s *Service) grantsOf(r *role) grants {
	g := grants{policies: maps.Clone(r.inline), bounded: r.boundary}
	if g.policies == nil {
		g.policies = map[string]*document{}
	}
	for _, arn := range r.attached {
		if p := s.managedPolicy(arn); p != nil {
			g.policies[arn] = p.document
		}
	}
	if bound := s.managedPolicy(r.boundary); bound != nil {
		g.boundary = bound.document
	}
	return g
}

// commit begins the propagation of what has changed and gives the lock back. A method that may have
// changed a role, a policy or a profile calls it instead of Unlock.
func (s *Service) commit() {
	defer s.mu.Unlock()
	if s.propagation.Most == 0 {
		return
	}
	now := s.propagation.Now()
	holds := func(name string) time.Time {
		s.changes++
		return now.Add(draw.Between(s.propagation.Seed, s.propagation.Least, s.propagation.Most, name,
			fmt.Sprint(s.changes)))
	}
	for name, r := range s.roles {
		if g := s.grantsOf(r); !r.inForce.Latest().equal(g) {
			r.inForce.Set(g, now, holds(name))
		}
	}
	for name, profile := range s.profiles {
		if profile.inForce.Latest() != profile.role {
			profile.inForce.Set(profile.role, now, holds(name))
		}
	}
}

// inForce returns the policies that hold for a role's calls; the lock is held.
func (s *Service) inForce(r *role) grants {
	if s.propagation.Most == 0 {
		return s.grantsOf(r)
	}
	g, _ := r.inForce.Get(s.propagation.Now(), 0)
	return g
}
