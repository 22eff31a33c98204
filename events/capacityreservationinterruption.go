package events

import (
	"encoding/json"
	"time"
)

const capacityReservationInterruptionType = "EC2 Capacity Reservation Instance Interruption Warning"

// CapacityReservationInterruption announces that EC2 will terminate an instance, because its
// capacity reservation or capacity block ends or is reclaimed.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/interruptible-capacity-reservations.html
type CapacityReservationInterruption struct {
	// InstanceID is the id of the instance.
	InstanceID string
	// Action is EC2's action as in the event: ActionTerminate.
	Action string
	// TerminationTime is the time of the action, or zero where the event has none.
	TerminationTime time.Time
	// AvailabilityZoneID is the zone's id, such as use1-az1.
	AvailabilityZoneID string
	// Lifecycle is the instance's purchase option, such as capacity-block.
	Lifecycle string
}

// capacityReservationInterruption is the detail in JSON. AWS's documentation gives the zone two
// names.
type capacityReservationInterruption struct {
	InstanceID         string `json:"instance-id"`
	Action             string `json:"instance-action,omitempty"`
	TerminationTime    string `json:"instance-termination-time,omitempty"`
	AvailabilityZoneID string `json:"availability-zone-id,omitempty"`
	AZID               string `json:"azId,omitempty"`
	Lifecycle          string `json:"instance-lifecycle,omitempty"`
}

// DetailType returns the event's detail-type.
func (d *CapacityReservationInterruption) DetailType() string {
	return capacityReservationInterruptionType
}

// Instances returns the instance.
func (d *CapacityReservationInterruption) Instances() []string { return []string{d.InstanceID} }

func (d *CapacityReservationInterruption) source() string { return SourceEC2 }

func (d *CapacityReservationInterruption) resources(account, region string) []string {
	return []string{instanceARN(account, region, d.InstanceID)}
}

// MarshalJSON writes the detail.
func (d *CapacityReservationInterruption) MarshalJSON() ([]byte, error) {
	return json.Marshal(capacityReservationInterruption{
		InstanceID: d.InstanceID, Action: d.Action, TerminationTime: writeTime(d.TerminationTime),
		AvailabilityZoneID: d.AvailabilityZoneID, Lifecycle: d.Lifecycle,
	})
}

func readCapacityReservationInterruption(e envelope) (Detail, error) {
	var in capacityReservationInterruption
	if err := readDetail(e, &in); err != nil {
		return nil, err
	}
	if _, err := instanceID("detail.instance-id", in.InstanceID); err != nil {
		return nil, err
	}
	termination, err := readTime("detail.instance-termination-time", in.TerminationTime)
	if err != nil {
		return nil, err
	}
	zone := in.AvailabilityZoneID
	if zone == "" {
		zone = in.AZID
	}
	return &CapacityReservationInterruption{
		InstanceID: in.InstanceID, Action: in.Action, TerminationTime: termination, AvailabilityZoneID: zone,
		Lifecycle: in.Lifecycle,
	}, nil
}
