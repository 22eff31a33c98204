package interrupt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/function"
)

// silentFleet announces nothing and knows no reservation.
type silentFleet struct{}

func (silentFleet) Announced(context.Context) (map[string]bool, error) { return map[string]bool{}, nil }
func (silentFleet) ReservationEnd(context.Context, string) (time.Time, error) {
	return time.Time{}, nil
}

// brokenFleet cannot be asked.
type brokenFleet struct{ silentFleet }

func (brokenFleet) Announced(context.Context) (map[string]bool, error) {
	return nil, errors.New("throttled")
}

// announcingFleet has announced work for some instances.
type announcingFleet struct {
	silentFleet
	announced map[string]bool
}

func (a announcingFleet) Announced(context.Context) (map[string]bool, error) { return a.announced, nil }

// TestForeignMessagesAreDropped holds that a message which no rule of the stack passes on neither
// acts nor comes back.
func TestForeignMessagesAreDropped(t *testing.T) {
	h, mail := newHandler(t, nil)
	instance := ours(t, "origin")
	genuine := batch(t, &events.SpotInterruption{InstanceID: instance}).Records[0].Body
	for old, forged := range map[string]string{
		`"source":"aws.ec2"`:       `"source":"nobody"`,
		`"account":"123456789012"`: `"account":"000000000000"`,
		`"region":"us-east-1"`:     `"region":"mars-1"`,
	} {
		body := strings.Replace(genuine, old, forged, 1)
		if body == genuine {
			t.Fatalf("%s has no %s", genuine, old)
		}
		message := lambdaevents.SQSEvent{Records: []lambdaevents.SQSMessage{{MessageId: "0", Body: body}}}
		if back := failed(t, h, message); len(back) > 0 {
			t.Errorf("%s comes back", forged)
		}
		if isEnding(t, "origin") || isTainted(t, "origin") || len(mail.sent) > 0 {
			t.Fatalf("%s ends the node", forged)
		}
	}
	if back := failed(t, h, batch(t, &events.SpotInterruption{InstanceID: instance})); len(back) > 0 {
		t.Errorf("the genuine message comes back: %v", back)
	}
	if !isEnding(t, "origin") {
		t.Error("the genuine message does not end the node")
	}
}

func TestManyNodesEndByTheWordOfEC2(t *testing.T) {
	h, _ := newHandler(t, nil)
	change := &events.ScheduledChange{Status: events.HealthStatusOpen}
	var names []string
	for i := range response.MaximumNamed + 1 {
		names = append(names, fmt.Sprintf("many%d", i))
		change.InstanceIDs = append(change.InstanceIDs, ours(t, names[i]))
	}
	ending := func() (count int) {
		for _, name := range names {
			if isEnding(t, name) {
				count++
			}
		}
		return count
	}
	h.fleet = brokenFleet{}
	if back := failed(t, h, batch(t, change)); len(back) != 1 || ending() != 0 {
		t.Errorf("EC2 cannot be asked: %v come back and %d nodes end, want the message and none", back, ending())
	}
	h.fleet = silentFleet{}
	if back := failed(t, h, batch(t, change)); len(back) != 0 || ending() != 0 {
		t.Errorf("EC2 confirms nothing: %v come back and %d nodes end, want none", back, ending())
	}
	h.fleet = announcingFleet{announced: map[string]bool{change.InstanceIDs[0]: true, change.InstanceIDs[1]: true}}
	if back := failed(t, h, batch(t, change)); len(back) != 0 || ending() != 2 {
		t.Errorf("EC2 confirms two: %v come back and %d nodes end, want two", back, ending())
	}
}

func TestTheAccountIsThatOfTheQueue(t *testing.T) {
	for url, want := range map[string]string{
		"https://sqs.us-east-1.amazonaws.com/123456789012/whittle-prod-interrupt": "123456789012",
		"http://127.0.0.1:4566/123456789012/i":                                    "123456789012",
		"https://sqs.us-east-1.amazonaws.com/whittle-prod-interrupt":              "",
		"https://sqs.us-east-1.amazonaws.com/12345678901/i":                       "",
	} {
		settings := function.SettingsFrom(func(string) string { return url })
		if got := accountOf(settings, "INTERRUPT_QUEUE_URL"); got != want || (settings.Err() == nil) != (want != "") {
			t.Errorf("%s: account %q, %v, want %q", url, got, settings.Err(), want)
		}
	}
}
