package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Sources of events.
const (
	SourceEC2    = "aws.ec2"
	SourceHealth = "aws.health"
	// SourceInstall is Whittle's own function install.
	SourceInstall = "whittle.install"
)

// Event is an event of EventBridge.
type Event struct {
	// ID is the event's id. A repeated delivery has the same id.
	ID string
	// Source is who sent the event, such as aws.ec2. Each kind of event has one source.
	Source string
	// Time is the time of the incident, which may be well before the delivery.
	Time time.Time
	// Account is the id of the AWS account of the incident.
	Account string
	// Region is the region of the incident.
	Region string
	// Detail is a pointer to one of the types of this package that implement Detail.
	Detail Detail
}

// Detail is the content of an event. Its types are *SpotInterruption, *RebalanceRecommendation,
// *StateChange, *ScheduledChange, *CapacityReservationInterruption, *CapacityBlockExpiration,
// *DeliveryTest, *FreezeOrder and *ThawOrder.
type Detail interface {
	// DetailType returns the event's detail-type.
	DetailType() string
	// Instances returns the ids of the EC2 instances that the event is about. They may belong to
	// anybody in the account, and there may be none.
	Instances() []string

	// source is the source of such events, or empty where anybody may send them.
	source() string
	// resources returns the list of resources in the envelope.
	resources(account, region string) []string
}

// envelope holds the fields around the detail of every event.
type envelope struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Time       string          `json:"time"`
	Region     string          `json:"region"`
	Resources  textList        `json:"resources"`
	Detail     json.RawMessage `json:"detail"`
}

// Decode decodes an event as EventBridge delivers it.
//
// An error that wraps ErrUnknown means that this package does not handle the event. Any other error
// names the missing or wrong field. It wraps a *FieldError, unless the text is not a JSON object in
// the form of an event.
func Decode(text []byte) (Event, error) {
	event, err := decode(text)
	if err != nil {
		return Event{}, fmt.Errorf("decoding event: %w", err)
	}
	return event, nil
}

func decode(text []byte) (Event, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return Event{}, fmt.Errorf("not the JSON of an event: %w", err)
	}
	if e.DetailType == "" {
		// One page of AWS's documentation has the key with an underscore.
		var other struct {
			DetailType string `json:"detail_type"`
		}
		if err := json.Unmarshal(text, &other); err != nil {
			return Event{}, fmt.Errorf("not the JSON of an event: %w", err)
		}
		e.DetailType = other.DetailType
	}
	if e.DetailType == "" {
		return Event{}, missing("detail-type", "the kind of the event")
	}
	read, ok := readers(e.DetailType)
	if !ok {
		return Event{}, unknown("detail-type", e.DetailType)
	}
	if len(e.Detail) == 0 || string(e.Detail) == "null" {
		return Event{}, missing("detail", "an object")
	}
	happened, err := readTime("time", e.Time)
	if err != nil {
		return Event{}, err
	}
	if happened.IsZero() {
		return Event{}, missing("time", "when the event happened")
	}
	detail, err := read(e)
	if err != nil {
		return Event{}, err
	}
	return Event{
		ID: e.ID, Source: e.Source, Time: happened, Account: e.Account, Region: e.Region, Detail: detail,
	}, nil
}

// CheckOrigin returns an error that names the field by which an event is not one of the account and
// region, or not of the source that sends its kind. Such an event needs no retry. A Health event is
// also of the region that it is about: backup regions have copies.
func (e Event) CheckOrigin(account, region string) error {
	want := e.Detail.source()
	switch {
	case want == "" && e.Source == "":
		return missing("source", "who sends it")
	case want == "" && strings.HasPrefix(e.Source, "aws."):
		return wrong("source", e.Source, "one of people: AWS orders nothing")
	case want != "" && e.Source != want:
		return wrong("source", e.Source, want)
	}
	if e.Account != account {
		return wrong("account", e.Account, account)
	}
	if change, ok := e.Detail.(*ScheduledChange); ok && change.Region == region {
		return nil
	}
	if e.Region != region {
		return wrong("region", e.Region, region)
	}
	return nil
}

// readers returns the function that reads the detail of a kind of event.
func readers(detailType string) (func(envelope) (Detail, error), bool) {
	switch detailType {
	case spotInterruptionType:
		return readSpotInterruption, true
	case rebalanceRecommendationType:
		return readRebalanceRecommendation, true
	case stateChangeType:
		return readStateChange, true
	case healthType:
		return readScheduledChange, true
	case capacityReservationInterruptionType:
		return readCapacityReservationInterruption, true
	case capacityBlockExpirationType, capacityBlockReservationExpirationType:
		return readCapacityBlockExpiration, true
	case deliveryTestType:
		return readDeliveryTest, true
	case freezeOrderType:
		return readFreezeOrder, true
	case thawOrderType:
		return readThawOrder, true
	}
	return nil, false
}

// MarshalJSON writes the event in EventBridge's current form. An event without a source gets that of
// its kind.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Detail == nil {
		return nil, fmt.Errorf("encoding event %q: %w", e.ID, missing("detail", "what happened"))
	}
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		return nil, fmt.Errorf("encoding event %q: %w", e.ID, err)
	}
	resources := e.Detail.resources(e.Account, e.Region)
	if resources == nil {
		resources = []string{}
	}
	source := e.Source
	if source == "" {
		source = e.Detail.source()
	}
	return json.Marshal(envelope{
		Version: "0", ID: e.ID, DetailType: e.Detail.DetailType(), Source: source, Account: e.Account,
		Time: writeTime(e.Time), Region: e.Region, Resources: resources, Detail: detail,
	})
}

// readDetail decodes an event's detail.
func readDetail(e envelope, into any) error {
	if err := json.Unmarshal(e.Detail, into); err != nil {
		return &FieldError{Field: "detail", Problem: fmt.Sprintf("has not the form of an event %q: %v", e.DetailType, err)}
	}
	return nil
}
