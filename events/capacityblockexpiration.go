package events

import (
	"encoding/json"
	"strings"
	"time"
)

const (
	capacityBlockExpirationType = "Capacity Block Expiration Warning"
	// AWS's documentation gives the same event a second name.
	capacityBlockReservationExpirationType = "Capacity Block Reservation Expiration Warning"
)

const reservationPrefix = "cr-"

// CapacityBlockExpiration announces the end of a capacity block, about 40 minutes ahead. EC2 starts
// terminating its instances 30 minutes before the end.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
type CapacityBlockExpiration struct {
	// ReservationID is the id of the capacity block, cr-...
	ReservationID string
	// EndDate is the end of the capacity block, or zero where the event has none.
	EndDate time.Time
}

type capacityBlockExpiration struct {
	ReservationID string `json:"capacity-reservation-id"`
	EndDate       string `json:"end-date,omitempty"`
}

// DetailType returns the event's detail-type.
func (d *CapacityBlockExpiration) DetailType() string { return capacityBlockExpirationType }

// Instances returns nothing, because the event is about a reservation.
func (d *CapacityBlockExpiration) Instances() []string { return nil }

func (d *CapacityBlockExpiration) source() string { return SourceEC2 }

func (d *CapacityBlockExpiration) resources(account, region string) []string {
	return []string{"arn:aws:ec2:" + region + ":" + account + ":capacity-reservation/" + d.ReservationID}
}

// MarshalJSON writes the detail.
func (d *CapacityBlockExpiration) MarshalJSON() ([]byte, error) {
	return json.Marshal(capacityBlockExpiration{ReservationID: d.ReservationID, EndDate: writeTime(d.EndDate)})
}

func readCapacityBlockExpiration(e envelope) (Detail, error) {
	var in capacityBlockExpiration
	if err := readDetail(e, &in); err != nil {
		return nil, err
	}
	id := in.ReservationID
	if id == "" && len(e.Resources) > 0 {
		id = afterLastSlash(e.Resources[0])
	}
	switch {
	case id == "":
		return nil, missing("detail.capacity-reservation-id", "the id of a capacity reservation")
	case !strings.HasPrefix(id, reservationPrefix) || id == reservationPrefix:
		return nil, wrong("detail.capacity-reservation-id", id, "the id of a capacity reservation, which begins with cr-")
	}
	end, err := readTime("detail.end-date", in.EndDate)
	if err != nil {
		return nil, err
	}
	return &CapacityBlockExpiration{ReservationID: id, EndDate: end}, nil
}

// afterLastSlash returns the last part of an ARN, or the whole text where it has no slash.
func afterLastSlash(name string) string {
	return name[strings.LastIndex(name, "/")+1:]
}
