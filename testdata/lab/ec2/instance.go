package ec2

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/lag"
)

// State is an instance's state as EC2 names it.
type State string

// The states of an instance.
const (
	Pending      State = "pending"
	Running      State = "running"
	ShuttingDown State = "shutting-down"
	Terminated   State = "terminated"
	Stopping     State = "stopping"
	Stopped      State = "stopped"
)

// code is the number that EC2 gives beside the name.
func (s State) code() int {
	return map[State]int{Pending: 0, Running: 16, ShuttingDown: 32, Terminated: 48, Stopping: 64, Stopped: 80}[s]
}

// Instance is a copy of an instance's state at one moment.
type Instance struct {
	ID           string
	InstanceType string
	// Facts is the type's row in the table of instance types.
	Facts builtin.InstanceType
	// CapacityType is on-demand, spot, capacity-block or interruptible-capacity-reservation.
	CapacityType string
	// CapacityReservationID is the reservation that the instance runs in, empty for none.
	CapacityReservationID string
	// PricePerHour is US dollars: the pool's spot price, or the type's on-demand price.
	PricePerHour     float64
	Zone, ZoneID     string
	SubnetID         string
	PrivateIPAddress string
	PrivateDNSName   string
	// Image is the image as it was at launch.
	Image   Image
	ImageID string
	// Architecture is the image's.
	Architecture string
	// Volumes are the sizes in GiB of the attached volumes by their devices.
	Volumes map[string]int
	State   State
	// Reason is why the instance left pending or running, such as Client.UserInitiatedShutdown.
	Reason   string
	Launched time.Time
	// UserData is base64, as the launch template has it.
	UserData string
	// InstanceProfileARN and RoleARN are empty without a profile.
	InstanceProfileARN, RoleARN string
	Tags                        map[string]string
	// Reboots counts the calls that rebooted the machine.
	Reboots int
	// Impaired means that a status check fails while EC2 calls the machine running.
	Impaired bool
}

// ProviderID is the instance's name in Kubernetes.
func (i Instance) ProviderID() string { return "aws:///" + i.Zone + "/" + i.ID }

// instance adds the service's own fields to an Instance.
type instance struct {
	Instance
	grant          *grant
	interfaces     []launchInterface
	profileID      string
	fleetID        string
	templateID     string
	reservationID  string
	launchIndex    int
	clientToken    string
	securityGroups []string
	data           launchTemplateData
	volumes        []volume
	visible, ran   time.Time // when it shows, and when it last began to run
	reasonMessage  string
	// stateChanges lets a timer notice that the state it was set for has ended.
	stateChanges, tagChanges int
	// shown and shownTags are what calls see of the state and the tags.
	shown     lag.Value[shownState]
	shownTags lag.Value[map[string]string]
	// impaired are the checks that fail, and since when.
	impaired  map[Check]time.Time
	scheduled []scheduledEvent
}

type volume struct {
	id, device, kind    string
	sizeGiB             int
	iops, throughput    int
	encrypted           bool
	deleteOnTermination bool
	tags                map[string]string
	shownTags           lag.Value[map[string]string]
	created             time.Time
}

// ending reports whether the instance has lost its network and its volumes.
func (i *instance) ending() bool { return i.State == ShuttingDown || i.State == Terminated }

// copied returns a copy that later changes of the instance do not touch.
func (i *instance) copied() Instance {
	c := i.Instance
	c.Tags = maps.Clone(c.Tags)
	c.Impaired = len(i.impaired) > 0
	return c
}

// enter moves an instance into a state and announces it. It is called with the lock held.
func (s *Service) enter(i *instance, state State, reason, message string) {
	i.State = state
	i.stateChanges++
	if state == Running {
		i.ran = s.config.Now()
	}
	if reason != "" {
		i.Reason, i.reasonMessage = reason, message
	}
	s.replicate(i)
	changed := i.copied()
	s.outbox.put(notice{changed: &changed, event: s.stateChangeEvent(i)})
	s.log.Info("instance changed state", "instance", i.ID, "type", i.InstanceType, "zone", i.Zone, "capacityType",
		i.CapacityType, "state", string(state), "reason", i.Reason)
}

// later calls f after a time, unless the instance has changed its state by then. The lock is held
// during both calls.
func (s *Service) later(i *instance, after time.Duration, f func()) {
	changes := i.stateChanges
	s.timers.after(after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i.stateChanges == changes {
			f()
		}
	})
}

// begin boots an instance that is new or was stopped.
func (s *Service) begin(i *instance) {
	i.recover() // an instance that was stopped comes up on other hardware
	i.scheduled = nil
	s.enter(i, Pending, "", "")
	s.later(i, s.timing.Pending, func() { s.enter(i, Running, "", "") })
}

// terminate ends an instance; one that is ending already stays as it is.
func (s *Service) terminate(i *instance, reason, message string) {
	if i.ending() {
		return
	}
	s.enter(i, ShuttingDown, reason, message)
	s.later(i, s.timing.ShuttingDown, func() {
		s.release(i.grant)
		s.enter(i, Terminated, "", "")
		s.later(i, s.timing.KeepTerminated, func() { delete(s.instances, i.ID) })
	})
}

// stop halts an instance, which keeps its address and its volumes.
func (s *Service) stop(i *instance, reason, message string) {
	if i.State == Stopping || i.State == Stopped {
		return
	}
	s.enter(i, Stopping, reason, message)
	s.later(i, s.timing.Stopping, func() { s.enter(i, Stopped, "", "") })
}

// reboot reboots the machine. No state changes, and EC2 announces nothing.
func (s *Service) reboot(i *instance) {
	i.Reboots++
	rebooted := i.copied()
	s.outbox.put(notice{changed: &rebooted})
	s.log.Info("instance reboots", "instance", i.ID, "type", i.InstanceType, "zone", i.Zone)
}

// sorted returns the instances that keep passes, in the order of their launch.
func (s *Service) sorted(keep func(*instance) bool) []*instance {
	kept := make([]*instance, 0, len(s.instances))
	for _, i := range s.instances {
		if keep(i) {
			kept = append(kept, i)
		}
	}
	slices.SortFunc(kept, func(a, b *instance) int {
		if order := a.Launched.Compare(b.Launched); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	return kept
}

// find returns the named instances that a call sees; one that it does not is EC2's
// InvalidInstanceID error.
func (s *Service) find(ids []string, v view) ([]*instance, error) {
	var found []*instance
	var unknown []string
	for _, id := range ids {
		if !strings.HasPrefix(id, "i-") {
			return nil, refuse("InvalidInstanceID.Malformed", "Invalid id: %q (expecting \"i-...\")", id)
		}
		i, ok := s.instances[id]
		if ok {
			_, ok = i.seen(v)
		}
		if !ok {
			unknown = append(unknown, id)
			continue
		}
		if !slices.Contains(found, i) {
			found = append(found, i)
		}
	}
	switch len(unknown) {
	case 0:
		return found, nil
	case 1:
		return nil, refuse("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", unknown[0])
	default:
		return nil, refuse("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(unknown, ", "))
	}
}
