package freeze_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
)

// dataOf is the ConfigMap's data with the alarms.
func dataOf(t *testing.T, alarms freeze.Alarms) map[string]string {
	t.Helper()
	text, err := alarms.Text()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{freeze.AlarmsKey: text}
}

func TestAlarmsFreezeWhatTheyAreAbout(t *testing.T) {
	alarms := freeze.Alarms{Read: now, Alarms: []freeze.Alarm{
		{Name: "quiet", State: freeze.StateOK},
		{Name: "errors", State: freeze.StateAlarm, Since: now, Scope: freeze.Scope{Pool: "batch"}},
		{Name: "nodata", State: freeze.StateInsufficientData, Scope: freeze.Scope{Pool: "web"}},
		{Name: "gpu", State: freeze.StateAlarm, Scope: freeze.Scope{Class: "gpu"}},
	}}
	alarms.PoolsOfClasses(map[string]string{"train": "gpu", "batch": "default", "serve": "gpu"})
	for name, test := range map[string]struct {
		onInsufficientData bool
		held               []string
	}{
		"by default":           {false, []string{"batch", "serve", "train"}},
		"on insufficient data": {true, []string{"batch", "serve", "train", "web"}},
	} {
		alarms.Judge(test.onInsufficientData)
		read := freeze.Read(dataOf(t, alarms))
		var held []string
		for _, pool := range []string{"", "batch", "other", "serve", "train", "web"} {
			if read.Of(freeze.Disruptions, pool, now) != nil {
				held = append(held, pool)
			}
			if read.Of(freeze.Launches, pool, now) != nil || read.Of(freeze.Drains, pool, now) != nil {
				t.Errorf("%s: an alarm holds launches or drains of %q", name, pool)
			}
		}
		if !slices.Equal(held, test.held) {
			t.Errorf("%s: held are %q, want %q", name, held, test.held)
		}
	}
	alarms.Alarms = append(alarms.Alarms, freeze.Alarm{Name: "all", State: freeze.StateAlarm, Holds: true})
	if read := freeze.Read(dataOf(t, alarms)); read.Of(freeze.Disruptions, "other", now) == nil {
		t.Error("an alarm of the whole cluster leaves a pool alone")
	}
}

func TestAlarmsThatAreNotReadFreezeTheCluster(t *testing.T) {
	alarms := freeze.Alarms{Read: now, Alarms: []freeze.Alarm{{Name: "quiet", State: freeze.StateOK}}}
	read := freeze.Read(dataOf(t, alarms))
	for after, want := range map[time.Duration]string{
		0:                                      "",
		freeze.AlarmsBelieved - 1:              "",
		freeze.AlarmsBelieved:                  "CloudWatch alarms have not been read since Mon 2 Mar 12:00 UTC",
		freeze.AlarmsBelieved + 2000*time.Hour: "have not been read since",
	} {
		said := ""
		if held := read.Of(freeze.Disruptions, "batch", now.Add(after)); held != nil {
			said = held.String()
		}
		if (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("after %s it says %q", after, said)
		}
	}
	if active := read.Active(now); len(active) != 0 {
		t.Errorf("active are %+v", active)
	}
	for _, text := range []string{"", "soon", "{}", `{"read":"soon"}`, "[]"} {
		read := freeze.Read(map[string]string{freeze.AlarmsKey: text})
		held := read.Of(freeze.Disruptions, "batch", now)
		if held == nil || !strings.Contains(held.String(), "data.alarms") ||
			!strings.Contains(held.String(), "remove the key") {
			t.Errorf("%q is read as %+v", text, held)
		}
	}
}

func TestAlarmsInWords(t *testing.T) {
	for want, one := range map[string]freeze.Alarm{
		`the cluster is frozen by the CloudWatch alarm "errors", which is in ALARM since Mon 2 Mar 12:00 UTC`: {
			Name: "errors", State: freeze.StateAlarm, Since: now},
		`nodepool "a" is frozen by the CloudWatch alarm "errors" for ec2nodeclass "gpu", which is in ALARM`: {
			Name: "errors", State: freeze.StateAlarm, Scope: freeze.Scope{Class: "gpu"}, Pools: []string{"a"}},
		`nodepool "a" is frozen by the CloudWatch alarm "errors", which does not exist: make it, or take it out of ` +
			`the setting freezeAlarms`: {Name: "errors", State: freeze.StateMissing, Scope: freeze.Scope{Pool: "a"}},
	} {
		alarms := freeze.Alarms{Read: now, Alarms: []freeze.Alarm{one}}
		alarms.Judge(false)
		active := freeze.Read(dataOf(t, alarms)).Active(now)
		if len(active) != 1 || active[0].String() != want || active[0].Holds() != "disruption" {
			t.Errorf("%+v, want %q", active, want)
		}
	}
}

func TestScopes(t *testing.T) {
	for text, want := range map[string]freeze.Scope{
		"all": {}, "nodepool/batch": {Pool: "batch"}, "ec2nodeclass/gpu": {Class: "gpu"},
	} {
		if read, err := freeze.ParseScope(text); err != nil || read != want || read.String() != text {
			t.Errorf("%q is %+v, %v", text, read, err)
		}
	}
	for _, text := range []string{"", "batch", "nodepool/", "ec2nodeclass/", "NodePool/batch"} {
		if read, err := freeze.ParseScope(text); err == nil || !strings.Contains(err.Error(), "nodepool/NAME") {
			t.Errorf("%q is %+v, %v", text, read, err)
		}
	}
}

// TestAlarmsAndPeopleSideBySide holds that neither ends the freeze of the other.
func TestAlarmsAndPeopleSideBySide(t *testing.T) {
	alarms := freeze.Alarms{Read: now, Alarms: []freeze.Alarm{
		{Name: "errors", State: freeze.StateAlarm, Since: now, Holds: true},
		{Name: "latency", State: freeze.StateAlarm, Since: now, Holds: true},
	}}
	data := dataOf(t, alarms)
	person := freeze.Freeze{Who: "alice", Until: now.Add(time.Minute), Drains: true}
	data[freeze.KeyOf("")] = person.Text()
	before := freeze.Read(data).Active(now)
	if len(before) != 3 {
		t.Fatalf("active are %+v", before)
	}
	alarms.Alarms = alarms.Alarms[1:]
	after := freeze.Read(dataOf(t, alarms)).Active(now)
	began, ended := freeze.Changed(before, after)
	if len(began) != 0 || len(ended) != 2 || ended[0].Who != "alice" || ended[1].Alarm != "errors" {
		t.Errorf("began %+v, ended %+v", began, ended)
	}
	if held := freeze.Read(data).Of(freeze.Disruptions, "", now); held.Alarm != "errors" {
		t.Errorf("the one that lasts longest is %+v", held)
	}
}

func TestWatchedAlarms(t *testing.T) {
	const arn = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:5xx: shop"
	for text, want := range map[string]freeze.Watched{
		"errors":                {Name: "errors"},
		" 5xx: shop=all":        {Name: "5xx: shop"},
		arn:                     {Name: "5xx: shop", ARN: arn},
		arn + "=nodepool/batch": {Name: "5xx: shop", ARN: arn, Scope: freeze.Scope{Pool: "batch"}},
	} {
		if read, err := freeze.ParseWatched(text); err != nil || read != want {
			t.Errorf("%q is %+v, %v", text, read, err)
		}
	}
	for text, want := range map[string]string{
		"errors=batch":                     `"batch" is no scope`,
		"a=b=nodepool/c":                   "is no scope",
		"":                                 "is no name",
		"=all":                             "is no name",
		"arn:aws:sns:us-east-1:1:topic":    "is no ARN of a CloudWatch alarm",
		strings.Repeat("x", 256) + "=all":  "1 to 255",
		"arn:aws:cloudwatch:::alarm:error": "is no ARN",
	} {
		if read, err := freeze.ParseWatched(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v", text, read, err)
		}
	}
	watched, err := freeze.ParseWatched(arn)
	if region, account := watched.Place(); err != nil || region != "us-east-1" || account != "123456789012" {
		t.Errorf("its place is %q, %q", region, account)
	}
}

func TestReading(t *testing.T) {
	const arn = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:foreign"
	made := freeze.Reading([]freeze.Watched{
		{Name: "rings"}, {Name: "quiet"}, {Name: "gone"}, {Name: "foreign", ARN: arn}, {Name: "new"},
		{Name: "rings", Scope: freeze.Scope{Pool: "batch"}},
	}, map[string]freeze.Described{
		"rings": {State: freeze.StateAlarm, Since: now.Add(time.Millisecond)}, "quiet": {State: freeze.StateOK},
		"foreign": {ARN: strings.Replace(arn, "us-east-1", "eu-west-1", 1), State: freeze.StateOK},
		"new":     {State: freeze.StateInsufficientData}, "other": {State: freeze.StateAlarm},
	}, false, now)
	var got []string
	for _, one := range made.Alarms {
		state := one.Name + " " + one.Scope.String() + " " + one.State
		if one.Holds {
			state += " holds"
		}
		got = append(got, state)
	}
	want := []string{
		"foreign all MISSING holds", "gone all MISSING holds", "new all INSUFFICIENT_DATA", "quiet all OK",
		"rings all ALARM holds", "rings nodepool/batch ALARM holds",
	}
	if !slices.Equal(got, want) || !slices.Equal(made.Missing(), []string{"foreign", "gone"}) {
		t.Errorf("got %q, missing %q", got, made.Missing())
	}
}
