package ec2

import (
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Reasons with which instances leave running, as EC2 gives them.
const (
	reasonUser, messageUser = "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"
	reasonSpot, messageSpot = "Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination"
)

// change moves all named instances or, if one cannot be found or must not, none.
func (s *Service) change(ids []string, allowed func(*instance) error, act func(*instance)) (any, error) {
	if len(ids) == 0 {
		return nil, missing("InstanceId")
	}
	found, err := s.find(ids, s.view())
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		if err := allowed(i); err != nil {
			return nil, err
		}
	}
	out := &instanceStateChanges{}
	for _, i := range found {
		before := i.State
		act(i)
		out.Instances.Items = append(out.Instances.Items,
			instanceStateChangeXML{i.ID, describeState(i.State), describeState(before)})
	}
	return out, nil
}

func (s *Service) terminateInstances(_ *wire.Call, in *terminateInstancesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change(in.InstanceIDs, func(i *instance) error {
		if i.data.DisableAPITermination != nil && *i.data.DisableAPITermination {
			return refuse("OperationNotPermitted",
				"The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
				i.ID)
		}
		return nil
	}, func(i *instance) { s.terminate(i, reasonUser, messageUser) })
}

func (s *Service) stopInstances(_ *wire.Call, in *stopInstancesRequest) (any, error) {
	if in.Hibernate {
		return nil, refuse("UnsupportedHibernationConfiguration", "The local EC2 does not hibernate instances")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change(in.InstanceIDs, func(i *instance) error {
		switch {
		case i.ending():
			return refuse("IncorrectInstanceState", "This instance '%s' is not in a state from which it can be stopped.", i.ID)
		case i.CapacityType == Spot:
			return refuse("UnsupportedOperation",
				"You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request. "+
					"You can only stop Spot Instances associated with persistent Spot Instance requests.", i.ID)
		}
		return nil
	}, func(i *instance) { s.stop(i, reasonUser, messageUser) })
}

func (s *Service) startInstances(_ *wire.Call, in *startInstancesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change(in.InstanceIDs, func(i *instance) error {
		if i.State != Stopped && i.State != Running && i.State != Pending {
			return refuse("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be started.", i.ID)
		}
		return nil
	}, func(i *instance) {
		if i.State == Stopped {
			s.begin(i)
		}
	})
}

// rebootInstances reboots machines whose instances stay running. EC2 ignores terminated ones.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RebootInstances.html
func (s *Service) rebootInstances(_ *wire.Call, in *rebootInstancesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.change(in.InstanceIDs, func(i *instance) error {
		if i.State != Running && !i.ending() {
			return refuse("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be rebooted.", i.ID)
		}
		return nil
	}, func(i *instance) {
		if i.State == Running {
			s.reboot(i)
		}
	})
	return &returned{true}, err
}
