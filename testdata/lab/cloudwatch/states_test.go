package cloudwatch

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	source "github.com/whittle-dev/whittle/shared/alarm"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// reader is a function that reads alarms from the service.
func reader(t *testing.T, service *Service, names ...string) func() (*freeze.Alarms, error) {
	t.Helper()
	server := wire.NewServer()
	service.Register(server)
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	var watched []freeze.Watched
	for _, name := range names {
		watched = append(watched, freeze.Watched{Name: name})
	}
	asked := source.New(aws.Config{
		Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}, source.Settings{Watched: watched}, time.Now)
	return func() (*freeze.Alarms, error) { return asked.Read(t.Context()) }
}

func stateOf(read *freeze.Alarms) string {
	var all []string
	for _, one := range read.Alarms {
		all = append(all, one.Name+" "+one.State)
	}
	return strings.Join(all, ", ")
}

// TestAlarmsAreReadInWhole holds that pages, composite alarms and alarms that do not exist are told apart.
func TestAlarmsAreReadInWhole(t *testing.T) {
	service := create(t, properties(nil))
	service.People = People{AccountID: "123456789012", Region: "us-east-1", Page: 1}
	service.Make("errors", false)
	service.Make("shop", true)
	service.Make("other", false)
	var changes []Change
	service.People.Announce = func(_ context.Context, change Change) { changes = append(changes, change) }
	read := reader(t, service, "errors", "shop", "letters", "gone")
	service.SetState(t.Context(), "shop", Alarm, "a test")
	service.SetState(t.Context(), "shop", Alarm, "again")
	const want = "errors OK, gone MISSING, letters INSUFFICIENT_DATA, shop ALARM"
	if got, err := read(); err != nil || stateOf(got) != want || got.Alarms[3].Since.IsZero() {
		t.Errorf("read %+v, %v", got, err)
	}
	if len(changes) != 1 || changes[0].ARN != "arn:aws:cloudwatch:us-east-1:123456789012:alarm:shop" ||
		!strings.Contains(string(changes[0].Detail), `"value":"ALARM"`) {
		t.Errorf("announced are %+v", changes)
	}
}

// TestAnAnswerMayBeBehindItsEvent is the unkind answer: the state before the change.
func TestAnAnswerMayBeBehindItsEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := New()
		service.People.Lag = 10 * time.Second
		service.Make("errors", false)
		time.Sleep(time.Minute)
		service.SetState(t.Context(), "errors", Alarm, "a test")
		for _, want := range []string{OK, Alarm} {
			if got := service.People.shown(service.People.alarms["errors"]); got != want {
				t.Errorf("shown is %s, want %s", got, want)
			}
			time.Sleep(10 * time.Second)
		}
	})
}
