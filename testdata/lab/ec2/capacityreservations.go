package ec2

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Capacity types of instances that run on reserved capacity which is neither plain on-demand nor
// spot, as EC2 names their lifecycles. An instance in an on-demand capacity reservation is
// on-demand.
const (
	CapacityBlock = "capacity-block"
	Interruptible = "interruptible-capacity-reservation"
)

// reservedPools is the capacity type that stands for launches into reservations in a Starvation.
const reservedPools = "reserved"

// States of a capacity reservation.
const (
	reservationScheduled = "scheduled"
	reservationActive    = "active"
	reservationExpired   = "expired"
	reservationCancelled = "cancelled"
)

// CapacityReservation is capacity that is held for the account.
type CapacityReservation struct {
	ID           string
	InstanceType string
	Zone, ZoneID string
	// Platform is an EC2 platform, such as Linux/UNIX or Windows; empty means Linux/UNIX.
	Platform string
	// Tenancy is default or dedicated; empty means default.
	Tenancy string
	// Match is open, where every fitting launch uses the reservation, or targeted, where only
	// launches do that name it; empty means open.
	Match string
	// Type is default or capacity-block; empty means default.
	Type string
	// Interruptible reservations are another's spare capacity, which its owner may take back.
	Interruptible bool
	// OwnerID is the account that pays; empty means this account. Another's reservation is shared
	// with this one.
	OwnerID string
	// Total counts all instances that fit. Available counts those that fit in addition to the
	// running ones.
	Total, Available int
	// Start and End bound the reservation; a zero Start is at once, a zero End never.
	Start, End time.Time
	State      string
	// PlacementGroupARN is the cluster placement group in which the reservation is, if any.
	PlacementGroupARN string
	Tags              map[string]string
}

type capacityReservation struct {
	CapacityReservation
	used    int
	created time.Time
}

func (r *capacityReservation) available() int { return max(0, r.Total-r.used) }

func (r *capacityReservation) copied() CapacityReservation {
	c := r.CapacityReservation
	c.Available, c.Tags = r.available(), maps.Clone(c.Tags)
	return c
}

// CreateCapacityReservation holds capacity and gives the reservation's id.
func (s *Service) CreateCapacityReservation(wanted CapacityReservation) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.addReservation(wanted)
	if err != nil {
		return "", err
	}
	return r.ID, nil
}

// addReservation is called with the lock held.
func (s *Service) addReservation(wanted CapacityReservation) (*capacityReservation, error) {
	at := slices.IndexFunc(s.vpc.zones, func(z zone) bool {
		return z.Name == wanted.Zone || wanted.Zone == "" && z.ID == wanted.ZoneID
	})
	if err := s.checkReservation(wanted, at); err != nil {
		return nil, err
	}
	for value, of := range map[*string][]string{
		&wanted.Platform: {"Linux/UNIX", "Windows"}, &wanted.Tenancy: {"default", "dedicated"},
		&wanted.Match: {"open", "targeted"}, &wanted.Type: {"default", CapacityBlock},
	} {
		if *value == "" {
			*value = of[0]
		}
		if !slices.Contains(of, *value) {
			return nil, refuse(codeInvalidParameterValue,
				"Value (%s) is invalid: the local EC2 holds capacity reservations with one of %q", *value, of)
		}
	}
	if wanted.Type == CapacityBlock {
		wanted.Match = "targeted"
	}
	r := &capacityReservation{CapacityReservation: wanted, created: time.Now()}
	r.ID, r.Zone, r.ZoneID = s.identity.next("cr"), s.vpc.zones[at].Name, s.vpc.zones[at].ID
	r.Tags = maps.Clone(wanted.Tags)
	if r.Tags == nil {
		r.Tags = map[string]string{}
	}
	setDefault(&r.OwnerID, s.config.AccountID)
	s.reservations[r.ID] = r
	s.scheduleReservation(r)
	return r, nil
}

// checkReservation refuses what EC2 does not reserve. at is the place of its zone, negative for none.
func (s *Service) checkReservation(wanted CapacityReservation, at int) error {
	facts := s.typeOf[wanted.InstanceType]
	switch {
	case facts == nil:
		return refuse(codeInvalidParameterValue, "Invalid instance type: %s", wanted.InstanceType)
	case at < 0:
		return invalidValue(wanted.Zone+wanted.ZoneID, "AvailabilityZone", "Expecting a zone of the region.")
	case !slices.Contains(facts.Zones, s.vpc.zones[at].Name):
		return refuse(codeUnsupported, "The requested configuration is currently not supported: %s in %s.",
			wanted.InstanceType, s.vpc.zones[at].Name)
	case wanted.Total < 1:
		return invalidValue(wanted.Total, "InstanceCount", "Expecting at least 1.")
	case wanted.Type == CapacityBlock && !slices.Contains(facts.UsageClasses, CapacityBlock):
		return refuse(codeUnsupported, "The instance type %s is not offered in capacity blocks.", wanted.InstanceType)
	case wanted.Type == CapacityBlock && wanted.End.IsZero():
		return missing("EndDate")
	case !wanted.End.IsZero() && !wanted.End.After(time.Now()):
		return invalidValue(timestamp(wanted.End), "EndDate", "Expecting a time to come.")
	}
	return nil
}

func setDefault(to *string, value string) {
	if *to == "" {
		*to = value
	}
}

// scheduleReservation sets the timers of a reservation: its start, a block's warning, the end of a
// block's instances, and its own end.
func (s *Service) scheduleReservation(r *capacityReservation) {
	now := time.Now()
	after := func(at time.Time, do func()) {
		s.timers.after(max(0, at.Sub(now)), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if r.State == reservationActive || r.State == reservationScheduled {
				do()
			}
		})
	}
	r.State = reservationActive
	if r.Start.After(now) {
		r.State = reservationScheduled
		after(r.Start, func() { r.State = reservationActive })
	} else {
		r.Start = now
	}
	if r.End.IsZero() {
		return
	}
	if r.Type == CapacityBlock {
		after(r.End.Add(-s.timing.BlockWarning), func() { s.outbox.put(notice{event: s.blockExpirationEvent(r)}) })
		after(r.End.Add(-s.timing.BlockReclaim), func() { s.reclaimReservation(r) })
	}
	after(r.End, func() { s.endReservation(r, reservationExpired) })
}

// reclaimReservation ends the instances of a capacity block.
func (s *Service) reclaimReservation(r *capacityReservation) {
	for _, i := range s.sorted(func(i *instance) bool { return i.grant.reservation == r }) {
		s.terminate(i, "Server.ScheduledStop", "Server.ScheduledStop: the Capacity Block "+r.ID+" ends")
	}
}

// endReservation leaves the reservation's instances running as on-demand ones.
func (s *Service) endReservation(r *capacityReservation, state string) {
	r.State = state
	for _, i := range s.instances {
		if i.grant.reservation != r {
			continue
		}
		if i.State == ShuttingDown || i.State == Terminated {
			continue
		}
		i.grant.reservation, i.CapacityReservationID = nil, ""
		r.used--
		s.capacity.take(i.grant.pool, i.Facts.VCPUs)
	}
}

// CancelCapacityReservation ends a reservation; its instances run on as on-demand ones.
func (s *Service) CancelCapacityReservation(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reservation(id)
	if err != nil {
		return err
	}
	if r.State != reservationActive && r.State != reservationScheduled {
		return refuse("InvalidCapacityReservationState", "The capacity reservation '%s' is %s.", id, r.State)
	}
	if r.Type == CapacityBlock {
		return refuse("OperationNotPermitted", "The Capacity Block '%s' cannot be cancelled.", id)
	}
	s.endReservation(r, reservationCancelled)
	return nil
}

// ResizeCapacityReservation sets how many instances fit; those that run stay.
func (s *Service) ResizeCapacityReservation(id string, total int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reservation(id)
	if err != nil {
		return err
	}
	if total < 0 {
		return invalidValue(total, "InstanceCount", "Expecting at least 0.")
	}
	r.Total = total
	return nil
}

// InterruptCapacityReservation warns the instances of an interruptible reservation that the owner
// takes the capacity back. It ends them after a time, two minutes for a negative one. No instance
// fits from now on.
func (s *Service) InterruptCapacityReservation(id string, after time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reservation(id)
	if err != nil {
		return err
	}
	if !r.Interruptible {
		return fmt.Errorf("capacity reservation %q is not interruptible: cancel it instead", id)
	}
	if after < 0 {
		after = spotNotice
	}
	r.Total = 0
	for _, i := range s.sorted(func(i *instance) bool { return i.grant.reservation == r }) {
		s.outbox.put(notice{event: s.reservationInterruptionEvent(i, time.Now().Add(after))})
		s.timers.after(after, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.terminate(i, "Server.CapacityReservationInterruption",
				"Server.CapacityReservationInterruption: the owner of "+r.ID+" took the capacity back")
		})
	}
	return nil
}

// CapacityReservations returns copies of all reservations, in the order of their ids.
func (s *Service) CapacityReservations() []CapacityReservation {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []CapacityReservation
	for _, id := range slices.Sorted(maps.Keys(s.reservations)) {
		all = append(all, s.reservations[id].copied())
	}
	return all
}

// reservation finds one by its id.
func (s *Service) reservation(id string) (*capacityReservation, error) {
	switch r := s.reservations[id]; {
	case r != nil:
		return r, nil
	case !strings.HasPrefix(id, "cr-"):
		return nil, refuse("InvalidCapacityReservationId.Malformed", "Invalid id: %q (expecting \"cr-...\")", id)
	default:
		return nil, refuse("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist", id)
	}
}

// codeReservationExceeded is the error of a launch that requires a reservation without room for it.
const codeReservationExceeded = "ReservationCapacityExceeded"

func exceeded() (string, string) {
	return codeReservationExceeded,
		"The requested reservation does not have sufficient compatible and available capacity for this request."
}

// fits reports whether a launch may use the reservation now.
func (r *capacityReservation) fits(l *launch) bool {
	tenancy := "default"
	if l.data.Placement != nil {
		setText(&tenancy, l.data.Placement.Tenancy)
	}
	kind := OnDemand
	switch {
	case r.Type == CapacityBlock:
		kind = CapacityBlock
	case r.Interruptible:
		kind = Interruptible
	}
	return r.State == reservationActive && r.InstanceType == l.facts.Name && r.Zone == l.subnet.zone.Name &&
		r.Platform == platformDetails(l.image) &&
		r.Tenancy == tenancy && kind == l.capacityType && r.available() > 0
}

// reservationFor finds the reservation that a launch uses, nil for none. A code means that the
// launch requires a reservation and gets none.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-launch.html
func (s *Service) reservationFor(l *launch) (r *capacityReservation, code, message string) {
	wanted := l.data.CapacityReservationSpecification
	if wanted == nil {
		wanted = &capacityReservationPreference{}
	}
	if target := wanted.Target; target != nil && target.ID != "" {
		if r = s.reservations[target.ID]; r == nil {
			return nil, "InvalidCapacityReservationId.NotFound", "The capacity reservation '" + target.ID + "' does not exist"
		}
		if !r.fits(l) {
			code, message = exceeded()
			return nil, code, message
		}
		return r, "", ""
	}
	if l.capacityType == CapacityBlock || l.capacityType == Interruptible {
		return nil, codeInvalidParameterCombination,
			"A launch of the market type " + l.capacityType + " names the capacity reservation that it wants"
	}
	if l.capacityType == Spot || wanted.Preference == "none" {
		return nil, "", ""
	}
	for _, id := range slices.Sorted(maps.Keys(s.reservations)) {
		if r := s.reservations[id]; r.Match == "open" && r.fits(l) {
			return r, "", ""
		}
	}
	if wanted.Preference == "capacity-reservations-only" {
		code, message = exceeded()
	}
	return nil, code, message
}
