package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const healthType = "AWS Health Event"

// Values of a Health event's fields.
const (
	healthServiceEC2      = "EC2"
	healthScheduledChange = "scheduledChange"
	healthTimeFormat      = "Mon, 2 Jan 2006 15:04:05 GMT"
)

// HealthStatus is the state of a scheduled change.
type HealthStatus string

// The states of a scheduled change.
const (
	HealthStatusOpen     HealthStatus = "open"
	HealthStatusUpcoming HealthStatus = "upcoming"
	// HealthStatusClosed means that the change is over or cancelled.
	HealthStatusClosed HealthStatus = "closed"
)

// ScheduledChange is AWS Health's announcement that EC2 will stop, reboot or retire instances,
// usually two weeks ahead.
// https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html
type ScheduledChange struct {
	// InstanceIDs are the distinct instances of the event, sorted. Other entities, such as
	// dedicated hosts, are left out. A public event, about a whole region, has none.
	InstanceIDs []string
	// ResolvedIDs are the distinct instances whose change AWS reports as resolved, sorted, while those
	// of InstanceIDs are still ahead.
	ResolvedIDs []string
	// Code is the kind of change, such as AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED.
	Code string
	// Status is the state of the change. Events of the older form have an empty status, which means
	// open, and so does every value that is not listed.
	Status HealthStatus
	// StartTime is the earliest time of the change, or zero where the event has none.
	StartTime time.Time
	// EndTime is the end of the change, or zero where the event has none that can be read.
	EndTime time.Time
	// EventARN identifies the change.
	EventARN string
	// CommunicationID identifies this announcement of the change. It is empty in the older form.
	// Two regions may deliver the same announcement.
	CommunicationID string
	// Region is the region of the instances. It is empty in the older form.
	Region string
	// AffectedAccount is the account of the instances.
	AffectedAccount string
	// Page and TotalPages count from one. A change with many entities has several pages.
	Page, TotalPages int
	// Backup is true for a copy from the backup region.
	Backup bool
}

type scheduledChange struct {
	EventARN          string           `json:"eventArn,omitempty"`
	Service           string           `json:"service"`
	EventTypeCode     string           `json:"eventTypeCode"`
	EventTypeCategory string           `json:"eventTypeCategory"`
	EventScopeCode    string           `json:"eventScopeCode,omitempty"`
	CommunicationID   string           `json:"communicationId,omitempty"`
	StartTime         string           `json:"startTime,omitempty"`
	EndTime           string           `json:"endTime,omitempty"`
	StatusCode        string           `json:"statusCode,omitempty"`
	EventRegion       string           `json:"eventRegion,omitempty"`
	AffectedAccount   text             `json:"affectedAccount,omitempty"`
	Page              text             `json:"page,omitempty"`
	TotalPages        text             `json:"totalPages,omitempty"`
	BackupEvent       text             `json:"backupEvent,omitempty"`
	AffectedEntities  []affectedEntity `json:"affectedEntities"`
}

type affectedEntity struct {
	EntityValue string `json:"entityValue"`
	Status      string `json:"status,omitempty"`
}

// DetailType returns the event's detail-type.
func (d *ScheduledChange) DetailType() string { return healthType }

// Instances returns the instances of this page of the event.
func (d *ScheduledChange) Instances() []string { return slices.Clone(d.InstanceIDs) }

// Resolved returns the part of the change that is over already, as a change of its own. It returns nil
// where there is none.
func (d *ScheduledChange) Resolved() *ScheduledChange {
	if len(d.ResolvedIDs) == 0 {
		return nil
	}
	over := *d
	over.InstanceIDs, over.ResolvedIDs, over.Status = d.ResolvedIDs, nil, HealthStatusClosed
	return &over
}

// The states of an entity whose change is over, while the changes of others are still ahead, or that
// the change does not concern.
// https://docs.aws.amazon.com/health/latest/APIReference/API_AffectedEntity.html
const (
	entityResolved   = "RESOLVED"
	entityUnimpaired = "UNIMPAIRED"
)

// Over reports whether the change is over or cancelled.
func (d *ScheduledChange) Over() bool { return d.Status == HealthStatusClosed }

// Key returns a text that is equal for all copies of a page of an announcement, from any region.
func (d *ScheduledChange) Key() string {
	name := d.CommunicationID
	if name == "" {
		name = d.EventARN
	}
	return fmt.Sprintf("%s/%s/%d", name, d.AffectedAccount, d.Page)
}

func (d *ScheduledChange) source() string { return SourceHealth }

func (d *ScheduledChange) resources(account, region string) []string {
	var names []string
	for _, id := range d.InstanceIDs {
		names = append(names, instanceARN(account, region, id))
	}
	return names
}

// MarshalJSON writes the detail in its current form. The entities are instance ids, because the
// detail does not have the region of their ARNs.
func (d *ScheduledChange) MarshalJSON() ([]byte, error) {
	out := scheduledChange{
		EventARN: d.EventARN, Service: healthServiceEC2, EventTypeCode: d.Code, EventTypeCategory: healthScheduledChange,
		CommunicationID: d.CommunicationID, StartTime: writeHealthTime(d.StartTime), EndTime: writeHealthTime(d.EndTime),
		StatusCode: string(d.Status), AffectedAccount: text(d.AffectedAccount),
		Page: text(strconv.Itoa(d.Page)), TotalPages: text(strconv.Itoa(d.TotalPages)),
		BackupEvent:      text(strconv.FormatBool(d.Backup)),
		EventRegion:      d.Region,
		AffectedEntities: []affectedEntity{},
	}
	for _, id := range d.InstanceIDs {
		out.AffectedEntities = append(out.AffectedEntities, affectedEntity{EntityValue: id})
	}
	for _, id := range d.ResolvedIDs {
		out.AffectedEntities = append(out.AffectedEntities, affectedEntity{EntityValue: id, Status: entityResolved})
	}
	return json.Marshal(out)
}

func readScheduledChange(e envelope) (Detail, error) {
	var in scheduledChange
	if err := readDetail(e, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Service == "":
		return nil, missing("detail.service", healthServiceEC2)
	case in.Service != healthServiceEC2:
		return nil, unknown("detail.service", in.Service)
	case in.EventTypeCategory == "":
		return nil, missing("detail.eventTypeCategory", healthScheduledChange)
	case in.EventTypeCategory != healthScheduledChange:
		return nil, unknown("detail.eventTypeCategory", in.EventTypeCategory)
	}
	d := &ScheduledChange{
		Code: in.EventTypeCode, EventARN: in.EventARN, CommunicationID: in.CommunicationID,
		AffectedAccount: string(in.AffectedAccount), Region: in.EventRegion,
		Backup: strings.EqualFold(string(in.BackupEvent), "true"),
	}
	if d.AffectedAccount == "" {
		d.AffectedAccount = e.Account
	}
	d.InstanceIDs, d.ResolvedIDs = readEntities(e, in)
	// Of the fields, the start decides about nodes. The others only describe: none of them makes an event
	// useless.
	d.EndTime, _ = readHealthTime("detail.endTime", in.EndTime)
	d.Page, d.TotalPages = readPage(in.Page), readPage(in.TotalPages)
	d.Status = HealthStatus(strings.ToLower(in.StatusCode))
	var err error
	if d.StartTime, err = readHealthTime("detail.startTime", in.StartTime); err != nil {
		return nil, err
	}
	return d, nil
}

// readEntities returns the instances of a Health event, and those whose change is resolved. The older
// form has their ids in resources and in the detail. The current form has their ARNs in the detail only.
func readEntities(e envelope, in scheduledChange) (ids, resolved []string) {
	ids = []string{}
	over := map[string]bool{}
	add := func(name string) {
		if id := afterLastSlash(name); isInstanceID(id) && !over[id] {
			ids = append(ids, id)
		}
	}
	for _, entity := range in.AffectedEntities {
		id := afterLastSlash(entity.EntityValue)
		if (entity.Status == entityResolved || entity.Status == entityUnimpaired) && isInstanceID(id) {
			over[id] = true
		}
	}
	for _, entity := range in.AffectedEntities {
		add(entity.EntityValue)
	}
	for _, name := range e.Resources {
		add(name)
	}
	slices.Sort(ids)
	return slices.Compact(ids), slices.Sorted(maps.Keys(over))
}

// readPage parses a page's number. An event without one is the only page.
func readPage(value text) int {
	number, err := strconv.Atoi(string(value))
	if err != nil || number < 1 {
		return 1
	}
	return number
}

// readHealthTime parses a time of a Health event, which has whole seconds.
func readHealthTime(field, value string) (time.Time, error) {
	t, err := readTime(field, value)
	return t.Truncate(time.Second), err
}

func writeHealthTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(healthTimeFormat)
}
