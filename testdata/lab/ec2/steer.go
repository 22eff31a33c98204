package ec2

import (
	"fmt"
	"time"
)

// Instances returns copies of all instances in the order of their launch, terminated ones among
// them.
func (s *Service) Instances() []Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Instance
	for _, i := range s.sorted(func(*instance) bool { return true }) {
		all = append(all, i.copied())
	}
	return all
}

// Timing returns the current durations.
func (s *Service) Timing() Timing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timing
}

// SetVisibility sets the delay after which DescribeInstances knows instances, for later launches.
func (s *Service) SetVisibility(delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timing.Visibility = delay
}

// MapPublicAddresses lets the subnet say that it gives its instances public IPv4 addresses. The local
// instances have none all the same.
func (s *Service) MapPublicAddresses(subnetID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.vpc.subnets {
		if n.id == subnetID {
			n.public = true
		}
	}
}

// PutOnOutpost lets the subnet say that it is on the Outpost with the ARN.
func (s *Service) PutOnOutpost(subnetID, arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.vpc.subnets {
		if n.id == subnetID {
			n.outpost = arn
		}
	}
}

// ShowInstances makes calls see every instance as it is, from now on.
func (s *Service) ShowInstances() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timing.Visibility, s.consistency.Lag = 0, 0
	for _, i := range s.instances {
		i.settle()
	}
}

// steer does something to an instance that is not on its way out.
func (s *Service) steer(id string, do func(*instance) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.instances[id]
	if !ok {
		return fmt.Errorf("instance %q does not exist: GET /local/instances lists those that do", id)
	}
	if i.ending() {
		return fmt.Errorf("instance %q is %s already", id, i.State)
	}
	return do(i)
}

// Interrupt warns that EC2 reclaims a spot instance and reclaims it after a time: two minutes for a
// negative one.
func (s *Service) Interrupt(id string, after time.Duration) error {
	return s.steer(id, func(i *instance) error {
		if i.CapacityType != Spot {
			return fmt.Errorf("instance %q is %s: only spot instances are interrupted; stop, kill or retire it instead", id,
				i.CapacityType)
		}
		if after < 0 {
			after = spotNotice
		}
		s.outbox.put(notice{event: s.spotInterruptionEvent(i)})
		// This does not use s.later: EC2 reclaims the instance in any state, and terminate ignores
		// one that is ending.
		s.timers.after(after, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.terminate(i, reasonSpot, messageSpot)
		})
		return nil
	})
}

// Rebalance recommends to rebalance a spot instance.
func (s *Service) Rebalance(id string) error {
	return s.steer(id, func(i *instance) error {
		if i.CapacityType != Spot {
			return fmt.Errorf("instance %q is %s: only spot instances get rebalance recommendations", id, i.CapacityType)
		}
		s.outbox.put(notice{event: s.rebalanceEvent(i)})
		return nil
	})
}

// Retire announces, through AWS Health and in the instance's status, that its hardware is to go at
// a time; nothing else happens. An empty code means AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED.
func (s *Service) Retire(id, code string, start time.Time) error {
	return s.steer(id, func(i *instance) error {
		if code == "" {
			code = "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED"
		}
		i.schedule(code, start)
		s.outbox.put(notice{event: s.healthEvent(i, code, start)})
		return nil
	})
}

// Stop stops an instance as its own operating system or a person in the console would, spot
// instances too.
func (s *Service) Stop(id string) error {
	return s.steer(id, func(i *instance) error {
		if i.State == Stopping || i.State == Stopped {
			return fmt.Errorf("instance %q is %s already", id, i.State)
		}
		s.stop(i, "Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
		return nil
	})
}

// Terminate ends an instance without its owner's knowledge.
func (s *Service) Terminate(id string) error {
	return s.steer(id, func(i *instance) error {
		s.terminate(i, reasonUser, messageUser)
		return nil
	})
}

// PrivateDNSName returns an instance's name in its VPC, which is also its Node's name.
func (s *Service) PrivateDNSName(instanceID string) (name string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.instances[instanceID]
	if !ok || i.State == Terminated {
		return "", false
	}
	return i.PrivateDNSName, true
}
