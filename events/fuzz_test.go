package events

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// FuzzDecode looks for texts that make Decode panic, give half an event, or give one
// that does not survive being written and read.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(
		`{"detail_type":"EC2 Instance State-change Notification","time":"2026-01-01T00:00:00Z","resources":"x","detail":{"instance-id":"i-0","state":"running"}}`,
	))
	f.Add([]byte(`null`))
	f.Fuzz(decodeAndCheck)
}

// The others look at one kind of event each: what is fuzzed is the detail, within an
// envelope that is whole.

func FuzzSpotInterruption(f *testing.F) {
	fuzzDetail(
		f,
		spotInterruptionType,
		`{"instance-id":"i-0a","instance-action":"terminate"}`,
		`{"instance-id":"i-0a","instance-action":null,"new":[1]}`,
		`{"instance-id":7}`,
	)
}

func FuzzRebalanceRecommendation(f *testing.F) {
	fuzzDetail(f, rebalanceRecommendationType, `{"instance-id":"i-0a"}`, `{"instance-id":""}`, `[]`)
}

func FuzzStateChange(f *testing.F) {
	fuzzDetail(
		f, stateChangeType, `{"instance-id":"i-0a","state":"shutting-down"}`,
		`{"instance-id":"i-0a","state":"stop"}`, `{"instance-id":"i-0a","state":["running"]}`,
	)
}

func FuzzScheduledChange(f *testing.F) {
	fuzzDetail(
		f,
		healthType,
		`{"service":"EC2","eventTypeCategory":"scheduledChange","startTime":"Sat, 5 Jun 2027 15:10:09 GMT","affectedEntities":[{"entityValue":"i-0a","tags":{}}]}`,
		`{"service":"EC2","eventTypeCategory":"scheduledChange","statusCode":"closed","communicationId":"c","affectedAccount":1,"page":2,"totalPages":"3","backupEvent":true,
			"affectedEntities":[{"entityValue":"arn:aws:ec2:us-east-1:1:instance/i-0b","status":"RESOLVED"},{"entityValue":"vol-0a"}]}`,
		`{"service":"EC2","eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"arn:aws:ec2:us-east-1:1:instance/"}]}`,
		`{"service":"RDS"}`,
	)
}

func FuzzCapacityReservationInterruption(f *testing.F) {
	fuzzDetail(
		f,
		capacityReservationInterruptionType,
		`{"instance-id":"i-0a","instance-action":"terminate","instance-termination-time":"2026-03-14T11:02:00Z","availability-zone-id":"use1-az1","instance-lifecycle":"capacity-block"}`,
		`{"instance-id":"i-0a","azId":"use1-az1"}`,
		`{"instance-id":"i-0a","instance-termination-time":"soon"}`,
	)
}

func FuzzCapacityBlockExpiration(f *testing.F) {
	fuzzDetail(
		f, capacityBlockExpirationType, `{"capacity-reservation-id":"cr-0a","end-date":"2026-01-01T11:30:00Z"}`,
		`{"end-date":"2026-01-01T11:30:00Z"}`, `{"capacity-reservation-id":"cr-"}`,
	)
}

func FuzzFreezeOrder(f *testing.F) {
	fuzzDetail(
		f, freezeOrderType, `{"cluster":"prod","nodePool":"batch","reason":"x","until":"2026-01-01T11:30:00Z","who":"alice"}`,
		`{"nodePool":7}`, `{}`,
	)
}

func fuzzDetail(f *testing.F, detailType string, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed), "arn:aws:ec2:us-east-1:1:capacity-reservation/cr-0a")
	}
	f.Fuzz(func(t *testing.T, detail []byte, resource string) {
		if !json.Valid(detail) {
			return // what is no JSON at all is the other fuzzer's
		}
		text, err := json.Marshal(map[string]any{
			"detail-type": detailType, "account": "1", "region": "us-east-1", "time": "2026-01-01T00:00:00Z",
			"resources": []string{resource}, "detail": json.RawMessage(detail),
		})
		if err != nil {
			t.Fatal(err)
		}
		decodeAndCheck(t, text)
	})
}

// decodeAndCheck decodes what may be an event, and holds what comes of it against what
// Decode and the details promise.
func decodeAndCheck(t *testing.T, text []byte) {
	event, err := Decode(text)
	if err != nil {
		if event.Detail != nil {
			t.Errorf("an event and the error %v", err)
		}
		return
	}
	checkDetail(t, event.Detail)
	written, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(written)
	if err != nil {
		t.Fatalf("%v in %s", err, written)
	}
	if event.Source == "" {
		event.Source = event.Detail.source() // as it is written
	}
	if !reflect.DeepEqual(again, event) {
		t.Errorf("got  %+v %+v\nfrom %+v %+v\nby way of %s", again, again.Detail, event, event.Detail, written)
	}
}

// checkDetail checks what those who act on a detail rely on.
func checkDetail(t *testing.T, detail Detail) {
	t.Helper()
	for _, id := range detail.Instances() {
		if !isInstanceID(id) {
			t.Errorf("%q is no instance", id)
		}
	}
	switch detail := detail.(type) {
	case *StateChange:
		if detail.State == "" {
			t.Error("a state change to no state")
		}
	case *ScheduledChange:
		if detail.Page < 1 || detail.TotalPages < 1 {
			t.Errorf("page %d of %d", detail.Page, detail.TotalPages)
		}
		if detail.StartTime.Location() != time.UTC {
			t.Errorf("the start %v is not in UTC", detail.StartTime)
		}
	case *CapacityBlockExpiration:
		if len(detail.ReservationID) <= len(reservationPrefix) {
			t.Errorf("%q is no reservation", detail.ReservationID)
		}
	case *FreezeOrder, *ThawOrder: // about no instance
	case *DeliveryTest:
		if detail.Cluster == "" || detail.ID == "" {
			t.Errorf("%+v names nothing", detail)
		}
	default:
		if len(detail.Instances()) != 1 {
			t.Errorf("%s is about %q, want one instance", detail.DetailType(), detail.Instances())
		}
	}
}
