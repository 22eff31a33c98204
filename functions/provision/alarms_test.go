package provision

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/alarm"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/testdata/lab/cloudwatch"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// alarms is a CloudWatch, and the containers that read it.
type alarms struct {
	*environment
	service *cloudwatch.Service
	server  *wire.Server
	source  *alarm.Source
	bus     *bus
	after   time.Duration // how far the containers' clock is ahead
}

func newAlarms(t *testing.T, setting string, names ...string) *alarms {
	t.Helper()
	a := &alarms{
		environment: newEnvironment(t), service: cloudwatch.New(), server: wire.NewServer(), bus: &bus{},
	}
	a.order(nil)
	a.service.People.AccountID, a.service.People.Region = "123456789012", "us-east-1"
	for _, name := range names {
		a.service.Make(name, false)
	}
	a.service.Register(a.server)
	url, err := a.server.Listen()
	a.try(err)
	t.Cleanup(func() { _ = a.server.Close() })
	watched, err := alarm.Parse(setting)
	a.try(err)
	a.source = alarm.New(aws.Config{
		Region: "us-east-1", BaseEndpoint: &url, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}, alarm.Settings{Watched: watched, Tagged: len(watched) == 0}, a.now)
	return a
}

func (a *alarms) now() time.Time { return time.Now().Add(a.after) }

// wakes gives the batch to a new container.
func (a *alarms) wakes(batch events.SQSEvent) {
	a.t.Helper()
	handler := a.handler(alive())
	handler.alarms, handler.now = a.source, a.now
	handler.publisher = publish.NewFor(a.bus, "default", time.Now, func() {})
	if answer, err := handler.handle(a.t.Context(), batch); err != nil || len(answer.BatchItemFailures) > 0 {
		a.t.Fatal(answer, err)
	}
}

// event is the message of the rule about alarms.
func event() events.SQSEvent {
	body := fmt.Sprintf(`{"cluster":%q,"reason":"alarm"}`, clusterName)
	return events.SQSEvent{Records: []events.SQSMessage{{MessageId: "alarm", Body: body}}}
}

func (a *alarms) set(name, state string) { a.service.SetState(a.t.Context(), name, state, "a test") }

// held says what holds disruption of a pool.
func (a *alarms) held(pool string) string {
	a.t.Helper()
	frozen, err := inventory.Freezes(a.t.Context(), a.client)
	a.try(err)
	if held := frozen.Of(freeze.Disruptions, pool, a.now()); held != nil {
		return held.String()
	}
	return ""
}

func TestAnEventAboutAnAlarmFreezesAtOnce(t *testing.T) {
	a := newAlarms(t, `["errors"]`, "errors")
	a.wakes(tick("1"))
	if held := a.held("default"); held != "" || len(a.bus.sent) > 0 {
		t.Fatalf("a quiet alarm: %q, %q", held, a.bus.sent)
	}
	a.set("errors", cloudwatch.Alarm)
	both := event()
	both.Records = append(both.Records, tick("2").Records...)
	a.wakes(both)
	if held := a.held("default"); !strings.Contains(held, `by the CloudWatch alarm "errors", which is in ALARM since`) {
		t.Errorf("the event comes, and held is %q", held)
	}
	a.wakes(event()) // once more
	if told := strings.Join(a.bus.sent, "\n"); len(a.bus.sent) != 1 ||
		!strings.Contains(told, `Freeze Began`) || !strings.Contains(told, `"alarm":"errors","state":"ALARM"`) {
		t.Errorf("the bus has %s", told)
	}
	if told := a.events("default", api.EventReasonFrozen); len(told) != 1 || !strings.Contains(told[0], `"errors"`) {
		t.Errorf("the pool is told %q", told)
	}
	a.set("errors", cloudwatch.OK)
	a.wakes(event())
	if held := a.held("default"); held != "" || len(a.bus.sent) != 2 || !strings.Contains(a.bus.sent[1], "Freeze Ended") {
		t.Errorf("the alarm is over: %q, %q", held, a.bus.sent)
	}
}

// TestATickFindsALostEvent also has events that come late: each is a reason to read, and no state.
func TestATickFindsALostEvent(t *testing.T) {
	a := newAlarms(t, `["errors=nodepool/batch"]`, "errors")
	a.set("errors", cloudwatch.Alarm)
	a.wakes(tick("1"))
	if a.held("batch") == "" || a.held("default") != "" {
		t.Errorf("held are batch: %q, and default: %q", a.held("batch"), a.held("default"))
	}
	a.set("errors", cloudwatch.OK)
	a.wakes(event()) // of the first change
	if held := a.held("batch"); held != "" {
		t.Errorf("a late event holds %q", held)
	}
}

func TestAlarmsOfAClassFreezeItsPools(t *testing.T) {
	a := newAlarms(t, `["errors=ec2nodeclass/default"]`, "errors")
	a.set("errors", cloudwatch.Alarm)
	a.wakes(tick("1"))
	if a.held("default") == "" || a.held("other") != "" {
		t.Errorf("held are default: %q, and other: %q", a.held("default"), a.held("other"))
	}
}

// TestAlarmsThatAreNotReadCountForMinutes also tries a new container, which knows nothing.
func TestAlarmsThatAreNotReadCountForMinutes(t *testing.T) {
	a := newAlarms(t, `["errors"]`, "errors")
	a.wakes(event())
	a.server.Authorize(func(context.Context, *wire.Call) error {
		return wire.Errorf("InternalFailure", 500, "CloudWatch is down")
	})
	a.after = freeze.AlarmsBelieved - 10*time.Second
	a.wakes(event())
	if held := a.held("default"); held != "" {
		t.Errorf("within minutes held is %q", held)
	}
	a.after += 20 * time.Second
	a.wakes(event())
	if held := a.held("default"); !strings.Contains(held, "have not been read since") {
		t.Errorf("later held is %q", held)
	}
	if told := strings.Join(a.events("default", api.EventReasonFrozen), "; "); !strings.Contains(told, "not been read") {
		t.Errorf("the pool is told %q", told)
	}
}

func TestAnAlarmThatIsGoneFreezes(t *testing.T) {
	a := newAlarms(t, `["errors"]`)
	a.wakes(event())
	if held := a.held("default"); !strings.Contains(held, `alarm "errors", which does not exist`) {
		t.Errorf("held is %q", held)
	}
}

// TestWithoutTheSettingAlarmsAreForgotten holds that a setting that is taken back leaves no freeze, and that
// orders of people stay.
func TestWithoutTheSettingAlarmsAreForgotten(t *testing.T) {
	a := newAlarms(t, `["errors"]`, "errors")
	a.freezes(freeze.Freeze{Pool: "batch", Who: "bob"})
	a.set("errors", cloudwatch.Alarm)
	a.wakes(event())
	a.source = nil
	a.wakes(event()) // a late one
	if a.held("default") == "" {
		t.Error("an event without the setting changes something")
	}
	a.wakes(tick("1"))
	stored, err := a.core.CoreV1().ConfigMaps("whittle-system").Get(
		t.Context(), inventory.ControlName, metav1.GetOptions{})
	a.try(err)
	if a.held("default") != "" || a.held("batch") == "" || len(stored.Data) != 1 {
		t.Errorf("left is %v", stored.Data)
	}
	if len(a.bus.sent) == 0 || !strings.Contains(a.bus.sent[len(a.bus.sent)-1], "Freeze Ended") {
		t.Errorf("the bus has %q", a.bus.sent)
	}
}

// TestAnOlderReadingDoesNotReplaceALaterOne is two containers that read at once.
func TestAnOlderReadingDoesNotReplaceALaterOne(t *testing.T) {
	a := newAlarms(t, `["errors"]`, "errors")
	late, err := a.source.Read(t.Context())
	a.try(err)
	a.set("errors", cloudwatch.Alarm)
	a.wakes(event())
	a.try(inventory.PutAlarms(t.Context(), a.client, late))
	if a.held("default") == "" {
		t.Error("an older reading ends the freeze")
	}
}

// TestATaggedAlarmFreezesItsPool has alarms that only tags name.
func TestATaggedAlarmFreezesItsPool(t *testing.T) {
	a := newAlarms(t, "", "errors", "other")
	a.set("errors", cloudwatch.Alarm)
	a.set("other", cloudwatch.Alarm)
	a.wakes(tick("1"))
	if held := a.held("batch"); held != "" {
		t.Errorf("without a tag held is %q", held)
	}
	a.service.Tag("errors", freeze.AlarmTagKey, "nodepool/batch")
	a.wakes(event())
	if a.held("batch") == "" || a.held("default") != "" {
		t.Errorf("held are batch: %q, and default: %q", a.held("batch"), a.held("default"))
	}
}
