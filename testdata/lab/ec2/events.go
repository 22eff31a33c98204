package ec2

import (
	"context"
	"fmt"
	"time"
)

// Event is an event of EC2 or AWS Health on the account's default bus. The bus adds ID, version,
// account and region.
type Event struct {
	Source     string
	DetailType string
	Time       time.Time
	Resources  []string
	// Detail is the event's detail; it encodes to a JSON object.
	Detail any
}

type stateChangeDetail struct {
	InstanceID string `json:"instance-id"`
	State      State  `json:"state"`
}

type spotInterruptionDetail struct {
	InstanceID string `json:"instance-id"`
	Action     string `json:"instance-action"`
}

type rebalanceDetail struct {
	InstanceID string `json:"instance-id"`
}

// healthDetail is the detail of an AWS Health event in the shape of today.
// https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html
type healthDetail struct {
	EventARN          string              `json:"eventArn"`
	Service           string              `json:"service"`
	EventScopeCode    string              `json:"eventScopeCode"`
	CommunicationID   string              `json:"communicationId"`
	EventTypeCode     string              `json:"eventTypeCode"`
	EventTypeCategory string              `json:"eventTypeCategory"`
	StartTime         string              `json:"startTime"`
	LastUpdatedTime   string              `json:"lastUpdatedTime"`
	StatusCode        string              `json:"statusCode"`
	EventRegion       string              `json:"eventRegion"`
	AffectedAccount   string              `json:"affectedAccount"`
	Page              string              `json:"page"`
	TotalPages        string              `json:"totalPages"`
	BackupEvent       string              `json:"backupEvent"`
	Description       []healthDescription `json:"eventDescription"`
	AffectedEntities  []healthEntity      `json:"affectedEntities"`
}

type healthDescription struct {
	Language string `json:"language"`
	Latest   string `json:"latestDescription"`
}

type healthEntity struct {
	Value       string `json:"entityValue"`
	LastUpdated string `json:"lastUpdatedTime"`
	Status      string `json:"status"`
}

func (s *Service) deliver(n notice) {
	if n.changed != nil && s.config.Machines != nil {
		s.config.Machines.InstanceChanged(*n.changed)
	}
	if n.event != nil && s.config.Events != nil {
		s.config.Events.Put(context.Background(), *n.event)
	}
}

func (s *Service) stateChangeEvent(i *instance) *Event {
	return &Event{
		Source: "aws.ec2", DetailType: "EC2 Instance State-change Notification", Time: time.Now(),
		Resources: []string{s.arn("instance", i.ID)},
		Detail:    stateChangeDetail{i.ID, i.State},
	}
}

// spotResource is the ARN as the spot events have it: with a zone where other ARNs have the region,
// and no account.
func spotResource(i *instance) string { return fmt.Sprintf("arn:aws:ec2:%s:instance/%s", i.Zone, i.ID) }

// spotNotice is the time between AWS's warning and the reclaim of a spot instance.
const spotNotice = 2 * time.Minute

func (s *Service) spotInterruptionEvent(i *instance) *Event {
	return &Event{
		Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning", Time: time.Now(),
		Resources: []string{spotResource(i)},
		Detail:    spotInterruptionDetail{i.ID, "terminate"},
	}
}

func (s *Service) rebalanceEvent(i *instance) *Event {
	return &Event{
		Source: "aws.ec2", DetailType: "EC2 Instance Rebalance Recommendation", Time: time.Now(),
		Resources: []string{spotResource(i)},
		Detail:    rebalanceDetail{i.ID},
	}
}

type blockExpirationDetail struct {
	ReservationID string `json:"capacity-reservation-id"`
	EndDate       string `json:"end-date"`
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
func (s *Service) blockExpirationEvent(r *capacityReservation) *Event {
	return &Event{
		Source: "aws.ec2", DetailType: "Capacity Block Reservation Expiration Warning", Time: time.Now(),
		Resources: []string{s.arn("capacity-reservation", r.ID)},
		Detail:    blockExpirationDetail{r.ID, r.End.UTC().Format(time.RFC3339)},
	}
}

type reservationInterruptionDetail struct {
	InstanceID string `json:"instance-id"`
	Action     string `json:"instance-action"`
	Ends       string `json:"instance-termination-time"`
	ZoneID     string `json:"availability-zone-id"`
	Lifecycle  string `json:"instance-lifecycle"`
}

func (s *Service) reservationInterruptionEvent(i *instance, ends time.Time) *Event {
	return &Event{
		Source: "aws.ec2", DetailType: "EC2 Capacity Reservation Instance Interruption Warning", Time: time.Now(),
		Resources: []string{s.arn("instance", i.ID)},
		Detail: reservationInterruptionDetail{
			i.ID, "terminate", ends.UTC().Format(time.RFC3339), i.ZoneID, i.CapacityType,
		},
	}
}

// healthEvent announces work on the instance's hardware at a time; code is such as
// AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED.
func (s *Service) healthEvent(i *instance, code string, start time.Time) *Event {
	now := time.Now()
	number := derivedID("", code+i.ID+now.String())[2:]
	return &Event{
		Source: "aws.health", DetailType: "AWS Health Event", Time: now,
		Detail: healthDetail{
			EventARN: fmt.Sprintf("arn:aws:health:%s::event/EC2/%s/%s_%s", s.config.Region, code, code, number), Service: "EC2",
			EventScopeCode: "ACCOUNT_SPECIFIC", CommunicationID: number, EventTypeCode: code,
			EventTypeCategory: "scheduledChange",
			StartTime:         start.UTC().Format(healthTime), LastUpdatedTime: now.UTC().Format(healthTime),
			StatusCode:      "upcoming",
			EventRegion:     s.config.Region,
			AffectedAccount: s.config.AccountID, Page: "1", TotalPages: "1", BackupEvent: "false",
			Description: []healthDescription{
				{"en_US", "EC2 has detected degradation of the underlying hardware of instance " + i.ID + "."},
			},
			AffectedEntities: []healthEntity{{s.arn("instance", i.ID), now.UTC().Format(healthTime), "PENDING"}},
		},
	}
}

// healthTime is RFC 1123 with the zone as GMT and the day unpadded, as AWS Health writes times.
const healthTime = "Mon, 2 Jan 2006 15:04:05 GMT"
