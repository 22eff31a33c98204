package steering

import (
	"net/http"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

type reservationJSON struct {
	ID            string            `json:"id"`
	InstanceType  string            `json:"instanceType"`
	Zone          string            `json:"zone"`
	Match         string            `json:"match"`
	Type          string            `json:"type"`
	Interruptible bool              `json:"interruptible"`
	Owner         string            `json:"owner"`
	Total         int               `json:"total"`
	Available     int               `json:"available"`
	State         string            `json:"state"`
	End           time.Time         `json:"end,omitzero"`
	Tags          map[string]string `json:"tags"`
}

func (s *Service) reservations(*http.Request) (any, error) {
	list := []reservationJSON{}
	for _, r := range s.ec2.CapacityReservations() {
		list = append(list, reservationJSON{
			r.ID, r.InstanceType, r.Zone, r.Match, r.Type, r.Interruptible, r.OwnerID, r.Total, r.Available, r.State, r.End,
			r.Tags,
		})
	}
	return map[string]any{"capacityReservations": list}, nil
}

func (s *Service) createReservation(r *http.Request) (any, error) {
	var in struct {
		InstanceType  string            `json:"instanceType"`
		Zone          string            `json:"zone"`
		Count         int               `json:"count"`
		Match         string            `json:"match"`
		Type          string            `json:"type"`
		Platform      string            `json:"platform"`
		Tenancy       string            `json:"tenancy"`
		Owner         string            `json:"owner"`
		Interruptible bool              `json:"interruptible"`
		Start         *duration         `json:"start"`
		End           *duration         `json:"end"`
		Tags          map[string]string `json:"tags"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	wanted := ec2.CapacityReservation{
		InstanceType: in.InstanceType, Zone: in.Zone, Total: in.Count, Match: in.Match, Type: in.Type, Platform: in.Platform,
		Tenancy: in.Tenancy,
		OwnerID: in.Owner, Interruptible: in.Interruptible, Tags: in.Tags,
	}
	if in.Start != nil {
		wanted.Start = time.Now().Add(in.Start.or(0))
	}
	if in.End != nil {
		wanted.End = time.Now().Add(in.End.or(0))
	}
	id, err := s.ec2.CreateCapacityReservation(wanted)
	return map[string]string{"id": id}, err
}

func (s *Service) resizeReservation(r *http.Request) (any, error) {
	var in struct {
		Count int `json:"count"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	return done(s.ec2.ResizeCapacityReservation(r.PathValue("id"), in.Count))
}

func (s *Service) cancelReservation(r *http.Request) (any, error) {
	return done(s.ec2.CancelCapacityReservation(r.PathValue("id")))
}

func (s *Service) interruptReservation(r *http.Request) (any, error) {
	var in struct {
		After *duration `json:"after"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	return done(s.ec2.InterruptCapacityReservation(r.PathValue("id"), in.After.or(-1)))
}
