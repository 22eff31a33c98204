package control_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/console/control"
	"github.com/whittle-dev/whittle/shared/hours"
)

// now is Saturday, 28 March 2026, 21:00 in Berlin. The clock goes ahead in this night.
var now = time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC)

// after is the order once the changes are written.
func after(t *testing.T, data map[string]string, changes control.Changes) *hours.Order {
	t.Helper()
	all := map[string]string{}
	maps.Copy(all, data)
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	order, err := hours.ReadOrder(all)
	if err != nil {
		t.Fatal(err)
	}
	return order
}

func TestSleep(t *testing.T) {
	for _, test := range []struct {
		name    string
		ordered control.Sleep
		inside  bool
		changes string
		says    string
	}{
		{"a duration", control.Sleep{Until: "10h"}, true, "2026-03-29T06:00:00Z", "until Sun 29 Mar 06:00 UTC"},
		{"a time of the clock", control.Sleep{Until: "07:00", Zone: "Europe/Berlin"}, true, "2026-03-29T05:00:00Z",
			"until Sun 29 Mar 07:00 Europe/Berlin"},
		{"a time in the gap", control.Sleep{Until: "02:30", Zone: "Europe/Berlin"}, true, "2026-03-29T01:00:00Z", "03:00"},
		{"a date", control.Sleep{Until: "2026-03-30 07:00", Zone: "Europe/Berlin"}, true, "2026-03-30T05:00:00Z", "Mon 30"},
		{"an instant", control.Sleep{Until: "2026-03-30T07:00:00Z"}, true, "2026-03-30T07:00:00Z", "Mon 30 Mar 07:00 UTC"},
		{"windows", control.Sleep{Windows: "22:00-06:00", Zone: "Europe/Berlin"}, false, "2026-03-28T21:00:00Z",
			"from Sat 28 Mar 22:00 Europe/Berlin"},
		{"an open window", control.Sleep{Windows: "20:00-06:00", Zone: "Europe/Berlin"}, true, "2026-03-29T04:00:00Z",
			"until Sun 29 Mar 06:00 Europe/Berlin"},
	} {
		changes, says, err := control.Of(test.ordered, nil, now)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		sleep := after(t, map[string]string{"other": "1"}, changes).Sleep(now)
		want, _ := time.Parse(time.RFC3339, test.changes)
		if sleep.Inside != test.inside || !sleep.Changes.Equal(want) || !strings.Contains(says, test.says) {
			t.Errorf("%s: %+v, %s", test.name, sleep, says)
		}
	}
}

func TestSleepSaysHowToMend(t *testing.T) {
	for want, ordered := range map[string]control.Sleep{
		"give -until":      {},
		"two orders":       {Until: "1h", Windows: "Sat"},
		"-time-zone":       {Until: "1h", Zone: "Mars"},
		"neither a":        {Until: "tomorrow"},
		"has passed":       {Until: "-1h"},
		"more than a year": {Until: "2036-03-30 07:00"},
		`day "weekend"`:    {Windows: "weekend"},
	} {
		changes, _, err := control.Of(ordered, nil, now)
		if changes != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", ordered, err)
		}
	}
}

func TestWake(t *testing.T) {
	windows := map[string]string{hours.OrderSleep: "20:00-06:00", hours.OrderTimeZone: "Europe/Berlin"}
	for _, test := range []struct {
		name string
		data map[string]string
		says string
	}{
		{"one sleep", map[string]string{hours.OrderSleepUntil: "2026-03-29T06:00:00Z"}, "the cluster is awake"},
		{"an open window", windows, "count again after Sun 29 Mar 06:00 Europe/Berlin"},
		{"windows without an end", map[string]string{hours.OrderSleep: "Mon-Sun"}, "are removed"},
		{"later windows", map[string]string{
			hours.OrderSleep: "22:00-06:00", hours.OrderSleepUntil: "2026-03-28T20:30:00Z"}, "sleeps from Sat 28 Mar 22:00 UTC"},
	} {
		changes, says := control.Wake(after(t, test.data, nil), now)
		if sleep := after(t, test.data, changes).Sleep(now); sleep.Inside || !strings.Contains(says, test.says) {
			t.Errorf("%s: %+v, %s", test.name, sleep, says)
		}
	}
	if changes, says := control.Wake(nil, now); changes != nil || !strings.Contains(says, "does not sleep") {
		t.Errorf("%v, %s", changes, says)
	}
}
