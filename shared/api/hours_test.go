package api_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/hours"
)

func poolWith(annotations map[string]string) *api.NodePool {
	return &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: annotations}}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestRest(t *testing.T) {
	nights := map[string]string{
		api.SleepAnnotationKey: "Mon-Fri 20:00-07:00; Sat,Sun", api.TimeZoneAnnotationKey: "Europe/Berlin",
		api.WakeAheadAnnotationKey: "10m",
	}
	order := &hours.Order{SleepUntil: moment(t, "2026-03-10T12:00:00Z"), Reason: "offsite"}
	for _, test := range []struct {
		name           string
		annotations    map[string]string
		order          *hours.Order
		now            string
		asleep, waking bool
		says           string
	}{
		{name: "no windows", now: "2026-03-09T12:00:00Z"},
		{"awake", nights, nil, "2026-03-09T12:00:00Z", false, false, "it sleeps from Mon 9 Mar 20:00 Europe/Berlin"},
		{"asleep", nights, nil, "2026-03-09T20:00:00Z", true, false, "it sleeps until Tue 10 Mar 07:00 Europe/Berlin"},
		{"before it wakes", nights, nil, "2026-03-10T05:49:59Z", true, false,
			"it sleeps until Tue 10 Mar 07:00 Europe/Berlin"},
		{"it wakes ahead", nights, nil, "2026-03-10T05:50:00Z", false, true,
			"it wakes: its sleep ends at Tue 10 Mar 07:00 Europe/Berlin"},
		{"one window after the other", nights, nil, "2026-03-07T05:55:00Z", true, false,
			"it sleeps until Mon 9 Mar 00:00 Europe/Berlin"},
		{"always", map[string]string{api.SleepAnnotationKey: "Mon-Sun"}, nil, "2026-03-07T05:55:00Z", true, false,
			"it sleeps for more than a year"},
		{"the cluster", nil, order, "2026-03-10T05:55:00Z", true, false,
			"the cluster sleeps until Tue 10 Mar 12:00 UTC (offsite)"},
		{"the cluster wakes", nil, order, "2026-03-10T11:55:00Z", false, true,
			"the cluster wakes: its sleep ends at Tue 10 Mar 12:00 UTC"},
		{"the pool wakes in a sleeping cluster", nights, order, "2026-03-10T05:55:00Z", true, false,
			"the cluster sleeps until Tue 10 Mar 13:00 Europe/Berlin (offsite)"},
		{"the pool sleeps longer than the cluster", map[string]string{api.SleepAnnotationKey: "Tue"}, order,
			"2026-03-10T11:55:00Z", true, false, "it sleeps until Wed 11 Mar 00:00 UTC"},
		{"the order is over", nil, order, "2026-03-10T12:00:00Z", false, false, ""},
		{"a broken window", map[string]string{api.SleepAnnotationKey: "at night"}, nil,
			"2026-03-09T23:00:00Z", false, false, ""},
		{"a broken zone", map[string]string{api.SleepAnnotationKey: "Mon-Sun", api.TimeZoneAnnotationKey: "Mars"}, nil,
			"2026-03-09T23:00:00Z", false, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := poolWith(test.annotations)
			pool.ClusterOrder = test.order
			rest := pool.Rest(moment(t, test.now))
			if rest.Asleep != test.asleep || rest.Waking != test.waking || rest.String() != test.says {
				t.Errorf("asleep %t, waking %t: %s", rest.Asleep, rest.Waking, rest)
			}
		})
	}
}

func TestMaintenance(t *testing.T) {
	window := map[string]string{
		api.MaintenanceWindowAnnotationKey: "Sun 02:00-04:00", api.TimeZoneAnnotationKey: "America/New_York"}
	for _, test := range []struct {
		name        string
		annotations map[string]string
		now         string
		closed      bool
		says        string
	}{
		{"no window", nil, "2026-03-09T12:00:00Z", false, ""},
		{"closed", window, "2026-03-14T12:00:00Z", true, "its maintenance window opens at Sun 15 Mar 02:00 America/New_York"},
		{"open", window, "2026-03-15T06:00:00Z", false,
			"its maintenance window is open until Sun 15 Mar 04:00 America/New_York"},
		{"open from the end of the gap", window, "2026-03-08T07:00:00Z", false,
			"its maintenance window is open until Sun 8 Mar 04:00 America/New_York"},
		{"broken", map[string]string{api.MaintenanceWindowAnnotationKey: "later"}, "2026-03-15T06:00:00Z", true,
			"no maintenance window opens"},
	} {
		maintenance := poolWith(test.annotations).Maintenance(moment(t, test.now))
		if maintenance.Closed != test.closed || maintenance.String() != test.says {
			t.Errorf("%s: closed %t: %s", test.name, maintenance.Closed, maintenance)
		}
	}
}

func TestBrokenHoursNameTheirField(t *testing.T) {
	for key, value := range map[string]string{
		api.TimeZoneAnnotationKey: "Berlin", api.SleepAnnotationKey: "Mon-Fri 20-07", api.WakeAheadAnnotationKey: "soon",
		api.MaintenanceWindowAnnotationKey: "",
	} {
		pool := poolWith(map[string]string{key: value})
		err := pool.ValidateAll()
		want := `NodePool "web": metadata.annotations[` + key + `]: "` + value + `" `
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", key, err)
		}
		if err := pool.Validate(); err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s keeps the pool from its nodes: %v", key, err)
		}
		if says := pool.HoursProblem(); !strings.Contains(says, want) {
			t.Errorf("%s: it says %q", key, says)
		}
	}
}

func TestABrokenSleepLeavesThePoolAwake(t *testing.T) {
	for _, test := range []struct {
		annotations map[string]string
		awake, shut bool
	}{
		{map[string]string{api.SleepAnnotationKey: "at night"}, true, false},
		{map[string]string{api.SleepAnnotationKey: "Mon-Sun", api.TimeZoneAnnotationKey: "Mars"}, true, false},
		{map[string]string{api.SleepAnnotationKey: "Mon-Sun", api.WakeAheadAnnotationKey: "soon"}, false, false},
		{map[string]string{api.MaintenanceWindowAnnotationKey: "at night"}, false, true},
	} {
		says := poolWith(test.annotations).HoursProblem()
		if strings.Contains(says, "the pool stays awake") != test.awake ||
			strings.Contains(says, "no maintenance window of the pool opens") != test.shut || strings.Contains(says, "\n") {
			t.Errorf("%v: it says %q", test.annotations, says)
		}
	}
	if says := poolWith(map[string]string{api.SleepAnnotationKey: "Mon-Sun"}).HoursProblem(); says != "" {
		t.Errorf("a window that can be read says %q", says)
	}
}
