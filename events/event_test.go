package events

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// samples are the sample files, and what each says.
func samples() map[string]Event {
	const account, region = "123456789012", "us-east-1"
	return map[string]Event{
		"spotinterruption.json": {
			ID: "5d7c1f0e-8a43-4f0b-9d55-2c1e7a60b9f1", Source: SourceEC2, Time: at("2026-03-14T09:26:53Z"), Account: account, Region: region,
			Detail: &SpotInterruption{InstanceID: "i-0a1b2c3d4e5f60718", Action: ActionTerminate},
		},
		"rebalancerecommendation.json": {
			ID: "b3f2a9d4-6c1e-4a7f-8f1d-0e9b5c7a2d63", Source: SourceEC2, Time: at("2026-03-14T09:20:11Z"), Account: account, Region: region,
			Detail: &RebalanceRecommendation{InstanceID: "i-0b2c3d4e5f6071829"},
		},
		"statechange.json": {
			ID: "0f4e6f6b-52a8-4c0e-b0f7-9a3d1c2b8e75", Source: SourceEC2, Time: at("2026-03-14T09:28:40Z"), Account: account, Region: region,
			Detail: &StateChange{InstanceID: "i-0c3d4e5f60718293a", State: StateShuttingDown},
		},
		"scheduledchange.json": {
			ID: "2b8e4d17-93c5-4b60-8a7d-1f0c6e5d4b3a", Source: SourceHealth, Time: at("2026-03-01T06:00:00Z"), Account: account, Region: region,
			Detail: &ScheduledChange{
				InstanceIDs: []string{"i-0f60718293a4b5c6d"}, Code: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
				Status:    HealthStatusUpcoming,
				StartTime: at("2026-03-15T06:00:00Z"), EndTime: at("2026-03-15T08:00:00Z"),
				EventARN:        "arn:aws:health:us-east-1::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED_5c1d",
				CommunicationID: "6f0d2c9b7a-1", AffectedAccount: account, Region: region, Page: 1, TotalPages: 1,
			},
		},
		"scheduledchange_older.json": {
			ID: "e4c3b2a1-7d6e-4f58-9a0b-8c7d6e5f4a3b", Source: SourceHealth, Time: at("2026-03-01T06:00:00Z"), Account: account, Region: region,
			Detail: &ScheduledChange{
				InstanceIDs: []string{"i-0718293a4b5c6d7e8"}, Code: "AWS_EC2_INSTANCE_STOP_SCHEDULED",
				StartTime:       at("2026-03-05T15:10:09Z"),
				EventARN:        "arn:aws:health:us-east-1::event/AWS_EC2_INSTANCE_STOP_SCHEDULED_9e2f",
				AffectedAccount: account, Page: 1, TotalPages: 1,
			},
		},
		"capacityreservationinterruption.json": {
			ID: "7e1d9c34-0b6a-4f52-a1c8-3d5e8f7b2a90", Source: SourceEC2, Time: at("2026-03-14T11:00:00Z"), Account: account, Region: region,
			Detail: &CapacityReservationInterruption{
				InstanceID: "i-0d4e5f60718293a4b", Action: ActionTerminate, TerminationTime: at("2026-03-14T11:02:00Z"),
				AvailabilityZoneID: "use1-az1", Lifecycle: "interruptible-capacity-reservation",
			},
		},
		"capacityblockexpiration.json": {
			ID: "c9a8b7d6-1e2f-4a3b-8c4d-5e6f70819203", Source: SourceEC2, Time: at("2026-03-14T10:50:00Z"), Account: account, Region: region,
			Detail: &CapacityBlockExpiration{ReservationID: "cr-0e5f60718293a4b5c", EndDate: at("2026-03-14T11:30:00Z")},
		},
		"deliverytest.json": {
			ID: "5f0e6f6b-52a8-4c0e-b0f7-9a3d1c2b8e11", Source: SourceInstall, Time: at("2026-03-14T09:28:40Z"), Account: account, Region: region,
			Detail: &DeliveryTest{Cluster: "prod", ID: "c7a7d6b0-6a2f-4a53-9a34-9d4a6a1f0e52"},
		},
		"freezeorder.json": {
			ID: "3c1e9d52-7b0a-4e86-9f3d-5a6b7c8d9e0f", Source: "com.example.incidents", Time: at("2026-03-14T09:28:40Z"),
			Account: account, Region: region,
			Detail: &FreezeOrder{
				Cluster: "prod", NodePool: "batch", Reason: "INC-12", Until: at("2026-03-14T11:00:00Z"), Who: "alice",
			},
		},
		"thaworder.json": {
			ID: "4d2f0e63-8c1b-4f97-8a4e-6b7c8d9e0f1a", Source: "com.example.incidents", Time: at("2026-03-14T10:12:03Z"),
			Account: account, Region: region,
			Detail: &ThawOrder{Cluster: "prod", NodePool: "batch", Who: "alice"},
		},
	}
}

func TestSamples(t *testing.T) {
	files, err := filepath.Glob("*.json")
	if err != nil {
		t.Fatal(err)
	}
	want := samples()
	if len(files) != len(want) {
		t.Errorf("there are %d sample files, and %d are known", len(files), len(want))
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			got, err := Decode(readSample(t, file))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want[file]) {
				t.Errorf("got  %+v %+v\nwant %+v %+v", got, got.Detail, want[file], want[file].Detail)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	for file, want := range samples() {
		t.Run(file, func(t *testing.T) {
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(text)
			if err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v %+v\nwant %+v %+v\nby way of %s", got, got.Detail, want, want.Detail, text)
			}
		})
	}
}

// TestEncodedEventsAreMatchedByTheRules checks the fields that the stack's rules look
// at, since a simulated event must go the way of a real one.
func TestEncodedEventsAreMatchedByTheRules(t *testing.T) {
	for file, event := range samples() {
		t.Run(file, func(t *testing.T) {
			var sample, encoded struct {
				DetailType string `json:"detail-type"`
				Source     string `json:"source"`
				Detail     struct {
					State, Service, EventTypeCategory string
				} `json:"detail"`
			}
			if err := json.Unmarshal(readSample(t, file), &sample); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &encoded); err != nil {
				t.Fatal(err)
			}
			if sample != encoded {
				t.Errorf("encoded with %+v, the sample has %+v", encoded, sample)
			}
		})
	}
}

func TestEncodeWithoutDetail(t *testing.T) {
	if _, err := json.Marshal(Event{ID: "1"}); err == nil || !strings.Contains(err.Error(), "detail is missing") {
		t.Errorf("got %v, want that the detail is missing", err)
	}
}

// TestLenient holds the shapes in which AWS disagrees with itself.
func TestLenient(t *testing.T) {
	tests := []struct {
		name, text string
		want       Detail
	}{
		{
			"detail_type with an underscore",
			`{"detail_type":"EC2 Instance Rebalance Recommendation","time":"2026-01-01T00:00:00Z","detail":{"instance-id":"i-0a"}}`,
			&RebalanceRecommendation{InstanceID: "i-0a"},
		},
		{
			"resources as one string",
			`{"detail-type":"Capacity Block Expiration Warning","time":"2026-01-01T00:00:00Z","resources":"arn:aws:ec2:us-east-1:123456789012:capacity-reservation/cr-0a","detail":{}}`,
			&CapacityBlockExpiration{ReservationID: "cr-0a"},
		},
		{
			"the other name of the expiration of a capacity block",
			`{"detail-type":"Capacity Block Reservation Expiration Warning","time":"2026-01-01T00:00:00Z","detail":{"capacity-reservation-id":"cr-0a"}}`,
			&CapacityBlockExpiration{ReservationID: "cr-0a"},
		},
		{
			"azId",
			`{"detail-type":"EC2 Capacity Reservation Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":{"instance-id":"i-0a","azId":"use1-az2"}}`,
			&CapacityReservationInterruption{InstanceID: "i-0a", AvailabilityZoneID: "use1-az2"},
		},
		{
			"an action that nobody knows",
			`{"detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":{"instance-id":"i-0a","instance-action":"evaporate"}}`,
			&SpotInterruption{InstanceID: "i-0a", Action: "evaporate"},
		},
		{
			"pages as numbers, backup as boolean, entities twice and of other kinds",
			`{"detail-type":"AWS Health Event","account":"1","time":"2026-01-01T00:00:00Z","resources":["i-0b","arn:aws:ec2:us-east-1:1:dedicated-host/h-0a"],
			"detail":{"service":"EC2","eventTypeCategory":"scheduledChange","statusCode":"closed","page":2,"totalPages":3,"backupEvent":true,
			"affectedEntities":[{"entityValue":"arn:aws:ec2:us-east-1:1:instance/i-0b"},{"entityValue":"i-0a"},{"entityValue":"vol-0a"}]}}`,
			&ScheduledChange{
				InstanceIDs: []string{"i-0a", "i-0b"}, Status: HealthStatusClosed, AffectedAccount: "1", Page: 2,
				TotalPages: 3, Backup: true,
			},
		},
		{
			"an entity that the change is over for, in both places",
			`{"detail-type":"AWS Health Event","account":"1","time":"2026-01-01T00:00:00Z","resources":["i-0a","i-0b"],"detail":{"service":"EC2","eventTypeCategory":"scheduledChange","statusCode":"OPEN",
			"affectedEntities":[{"entityValue":"arn:aws:ec2:us-east-1:1:instance/i-0a","status":"RESOLVED"},{"entityValue":"i-0b","status":"PENDING"}]}}`,
			&ScheduledChange{
				InstanceIDs: []string{"i-0b"}, ResolvedIDs: []string{"i-0a"}, Status: HealthStatusOpen, AffectedAccount: "1", Page: 1, TotalPages: 1,
			},
		},
		{
			"a day of the month with a zero before it",
			`{"detail-type":"AWS Health Event","account":"1","time":"2026-01-01T00:00:00Z","detail":{"service":"EC2","eventTypeCategory":"scheduledChange","startTime":"Thu, 05 Mar 2026 15:10:09 GMT","affectedEntities":[]}}`,
			&ScheduledChange{
				InstanceIDs: []string{}, StartTime: at("2026-03-05T15:10:09Z"), AffectedAccount: "1", Page: 1,
				TotalPages: 1,
			},
		},
		{
			"a public event, about a region",
			`{"detail-type":"AWS Health Event","account":"1","time":"2026-01-01T00:00:00Z","detail":{"service":"EC2","eventTypeCategory":"scheduledChange"}}`,
			&ScheduledChange{InstanceIDs: []string{}, AffectedAccount: "1", Page: 1, TotalPages: 1},
		},
		{
			"fields that decide nothing, and cannot be read",
			`{"detail-type":"AWS Health Event","account":"1","time":"2026-01-01T00:00:00Z","detail":{"service":"EC2","eventTypeCategory":"scheduledChange",
			"statusCode":"ajar","endTime":"soon","page":"0","totalPages":"many",
			"affectedEntities":[{},{"entityValue":"arn:aws:ec2:us-east-1:1:instance/0a"},{"entityValue":"i-0a","status":"UNIMPAIRED"},{"entityValue":"i-0b"}]}}`,
			&ScheduledChange{
				InstanceIDs: []string{"i-0b"}, ResolvedIDs: []string{"i-0a"}, Status: "ajar", AffectedAccount: "1", Page: 1,
				TotalPages: 1,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Decode([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Detail, test.want) {
				t.Errorf("got %+v, want %+v", got.Detail, test.want)
			}
		})
	}
}

// TestMalformed damages an event in one place, and expects an error that names it.
func TestMalformed(t *testing.T) {
	const (
		spot   = `{"detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":`
		state  = `{"detail-type":"EC2 Instance State-change Notification","time":"2026-01-01T00:00:00Z","detail":`
		health = `{"detail-type":"AWS Health Event","time":"2026-01-01T00:00:00Z","detail":{"service":"EC2","eventTypeCategory":"scheduledChange",`
		block  = `{"detail-type":"Capacity Block Expiration Warning","time":"2026-01-01T00:00:00Z","detail":`
		order  = `{"detail-type":"whittle.freeze","time":"2026-01-01T00:00:00Z","detail":`
		ends   = `{"detail-type":"EC2 Capacity Reservation Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":`
	)
	tests := []struct {
		name, text, field, want string
	}{
		{"nothing", ``, "", "not the JSON of an event"},
		{"no JSON", `hello`, "", "not the JSON of an event"},
		{"cut short", spot + `{"instance-id":"i-0a"`, "", "not the JSON of an event"},
		{"a list", `[]`, "", "not the JSON of an event"},
		{"null", `null`, "detail-type", "is missing"},
		{"resources of numbers", `{"resources":[1]}`, "", "want a list of strings"},
		{"no detail-type", `{"detail":{"instance-id":"i-0a"}}`, "detail-type", "is missing"},
		{
			"no detail", `{"detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z"}`,
			"detail", "is missing",
		},
		{
			"no time", `{"detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-0a"}}`,
			"time", "is missing",
		},
		{
			"a time that is none",
			`{"detail-type":"EC2 Spot Instance Interruption Warning","time":"soon","detail":{"instance-id":"i-0a"}}`,
			"time", `is "soon"`,
		},
		{"detail of the wrong form", spot + `"i-0a"}`, "detail", "has not the form"},
		{"detail is null", spot + `null}`, "detail", "is missing"},
		{"no instance", spot + `{"instance-action":"terminate"}}`, "detail.instance-id", "is missing"},
		{"an instance that is none", spot + `{"instance-id":"ip-10-0-0-1"}}`, "detail.instance-id", "begins with i-"},
		{"an instance with no more than a prefix", spot + `{"instance-id":"i-"}}`, "detail.instance-id", "begins with i-"},
		{"a state change without instance", state + `{"state":"running"}}`, "detail.instance-id", "is missing"},
		{"a state change without state", state + `{"instance-id":"i-0a"}}`, "detail.state", "is missing"},
		{"a part of a state", state + `{"instance-id":"i-0a","state":"stop"}}`, "detail.state", `is "stop"`},
		{
			"a rebalance without instance",
			`{"detail-type":"EC2 Instance Rebalance Recommendation","time":"2026-01-01T00:00:00Z","detail":{}}`,
			"detail.instance-id", "is missing",
		},
		{"the end of a reservation without instance", ends + `{}}`, "detail.instance-id", "is missing"},
		{
			"the end of a reservation at no time", ends + `{"instance-id":"i-0a","instance-termination-time":"soon"}}`,
			"detail.instance-termination-time", `is "soon"`,
		},
		{"a block without reservation", block + `{}}`, "detail.capacity-reservation-id", "is missing"},
		{
			"a block with another id", block + `{"capacity-reservation-id":"i-0a"}}`, "detail.capacity-reservation-id",
			"begins with cr-",
		},
		{
			"a block with no end", block + `{"capacity-reservation-id":"cr-0a","end-date":"soon"}}`, "detail.end-date",
			`is "soon"`,
		},
		{
			"a Health event without service",
			`{"detail-type":"AWS Health Event","time":"2026-01-01T00:00:00Z","detail":{}}`, "detail.service",
			"is missing",
		},
		{
			"a Health event without category",
			`{"detail-type":"AWS Health Event","time":"2026-01-01T00:00:00Z","detail":{"service":"EC2"}}`,
			"detail.eventTypeCategory", "is missing",
		},
		{"a Health event at no time", health + `"startTime":"soon","affectedEntities":[]}}`, "detail.startTime", `is "soon"`},
		{"a freeze of a pool that cannot be", order + `{"nodePool":"Batch"}}`, "detail.nodePool", `is "Batch"`},
		{"a freeze until no time", order + `{"until":"soon"}}`, "detail.until", `is "soon"`},
		{"a freeze with a misspelt field", order + `{"nodepol":"batch"}}`, "detail", `unknown field "nodepol"`},
		{"a freeze with a field of another kind", order + `{"reason":7}}`, "detail", "reason"},
		{"a long reason", order + `{"reason":"` + strings.Repeat("x", 257) + `"}}`, "detail.reason", "at most 256"},
		{"a long name", order + `{"who":"` + strings.Repeat("x", 129) + `"}}`, "detail.who", "at most 128"},
		{"a Health event on a page that is a list", health + `"page":[],"affectedEntities":[]}}`, "detail", "want a string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Decode([]byte(test.text))
			if err == nil {
				t.Fatal("decoded")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
			if errors.Is(err, ErrUnknown) {
				t.Errorf("%q passes for an event that is not known", err)
			}
			var field *FieldError
			if errors.As(err, &field) != (test.field != "") || field != nil && field.Field != test.field {
				t.Errorf("got %q, want an error of the field %q", err, test.field)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	for name, text := range map[string]string{
		"detail-type":              `{"detail-type":"EC2 Fleet Instance Change","time":"2026-01-01T00:00:00Z","detail":{}}`,
		"detail.service":           `{"detail-type":"AWS Health Event","time":"2026-01-01T00:00:00Z","detail":{"service":"RDS","eventTypeCategory":"scheduledChange"}}`,
		"detail.eventTypeCategory": `{"detail-type":"AWS Health Event","time":"2026-01-01T00:00:00Z","detail":{"service":"EC2","eventTypeCategory":"issue"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(text))
			if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want one of an unknown event that names %s", err, name)
			}
		})
	}
}

func TestInstances(t *testing.T) {
	for file, want := range map[string][]string{
		"spotinterruption.json":                {"i-0a1b2c3d4e5f60718"},
		"rebalancerecommendation.json":         {"i-0b2c3d4e5f6071829"},
		"statechange.json":                     {"i-0c3d4e5f60718293a"},
		"scheduledchange.json":                 {"i-0f60718293a4b5c6d"},
		"scheduledchange_older.json":           {"i-0718293a4b5c6d7e8"},
		"capacityreservationinterruption.json": {"i-0d4e5f60718293a4b"},
		"capacityblockexpiration.json":         nil,
		"deliverytest.json":                    nil,
	} {
		event, err := Decode(readSample(t, file))
		if err != nil {
			t.Fatal(err)
		}
		if got := event.Detail.Instances(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is about %q, want %q", file, got, want)
		}
	}
}

func TestLeaving(t *testing.T) {
	for state, want := range map[State]bool{
		StatePending: false, StateRunning: false, StateStopping: true, StateStopped: true, StateShuttingDown: true,
		StateTerminated: true, "": false,
	} {
		if got := state.Leaving(); got != want {
			t.Errorf("%q is leaving: %v, want %v", state, got, want)
		}
	}
}

// TestKeyOfCopies checks that the copy from the backup region has the same key, and
// another page another.
func TestKeyOfCopies(t *testing.T) {
	one := ScheduledChange{CommunicationID: "a", AffectedAccount: "1", EventARN: "arn:one", Page: 1}
	backup, second, other := one, one, one
	backup.Backup, backup.EventARN = true, "arn:two"
	second.Page = 2
	other.AffectedAccount = "2"
	if one.Key() != backup.Key() {
		t.Errorf("the copy has the key %q, want %q", backup.Key(), one.Key())
	}
	if one.Key() == second.Key() || one.Key() == other.Key() {
		t.Errorf("another page or account has the same key %q", one.Key())
	}
	older := ScheduledChange{AffectedAccount: "1", EventARN: "arn:one", Page: 1}
	if !strings.Contains(older.Key(), "arn:one") {
		t.Errorf("the key %q of an event without communicationId does not name it", older.Key())
	}
}

func readSample(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestCheckOrigin asks whether an event is of AWS, the account and the region.
func TestCheckOrigin(t *testing.T) {
	const account, region = "123456789012", "us-east-1"
	for file, event := range samples() {
		if err := event.CheckOrigin(account, region); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for field, damage := range map[string]func(*Event){
			"source": func(e *Event) {
				if e.Source = "nobody"; e.Detail.source() == "" {
					e.Source = "aws.ec2"
				}
			},
			"account": func(e *Event) { e.Account = "000000000000" },
			"region": func(e *Event) {
				e.Region = "mars-1"
				if change, ok := e.Detail.(*ScheduledChange); ok {
					other := *change
					other.Region = "mars-1"
					e.Detail = &other
				}
			},
		} {
			forged := event
			damage(&forged)
			var wrong *FieldError
			if err := forged.CheckOrigin(account, region); !errors.As(err, &wrong) || wrong.Field != field {
				t.Errorf("%s: a foreign %s gives %v", file, field, err)
			}
		}
	}
	backup := samples()["scheduledchange.json"]
	backup.Region = "us-west-2"
	if err := backup.CheckOrigin(account, region); err != nil {
		t.Errorf("a copy from the backup region: %v", err)
	}
}
