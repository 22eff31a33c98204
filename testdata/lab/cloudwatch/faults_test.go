package cloudwatch

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// The functions that ticks wake, and how often.
var ticked = map[string]time.Duration{
	"provision": 10 * time.Second, "lifecycle": time.Minute, "disrupt": 20 * time.Second,
}

// resource is one of the synthesized template.
type resource struct {
	Type       string
	Properties map[string]any
}

// installation is the alarms of the synthesized template, and what has happened to the cluster's metrics.
// Its time is virtual. Zero is when a fault begins.
type installation struct {
	t         *testing.T
	resources map[string]resource
	service   *Service
	values    map[string]map[time.Duration][]float64 // by series, and by the beginning of the minute
}

func install(t *testing.T) *installation {
	t.Helper()
	text, err := os.ReadFile("../../../infra/testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct{ Resources map[string]resource }
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	made := &installation{t, template.Resources, New(), map[string]map[time.Duration][]float64{}}
	for id, r := range template.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		request := cloudformation.Request{GeneratedName: id, Properties: made.resolve(r.Properties).(map[string]any)}
		if _, err := (alarmType{made.service}).Create(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// resolve puts the names of functions and queues in the place of references to them.
func (i *installation) resolve(value any) any {
	switch value := value.(type) {
	case []any:
		for at := range value {
			value[at] = i.resolve(value[at])
		}
	case map[string]any:
		if id, is := value["Ref"].(string); is {
			return i.resources[id].Properties["FunctionName"]
		}
		if path, is := value["Fn::GetAtt"].([]any); is {
			return i.resources[path[0].(string)].Properties["QueueName"]
		}
		for name := range value {
			value[name] = i.resolve(value[name])
		}
	}
	return value
}

// setting returns a number of the function or queue of a name.
func (i *installation) setting(kind, name, property string) time.Duration {
	i.t.Helper()
	for _, r := range i.resources {
		if number, is := r.Properties[property].(float64); is && r.Type == kind &&
			(r.Properties["FunctionName"] == "whittle-prod-"+name || r.Properties["QueueName"] == "whittle-prod-"+name) {
			return time.Duration(number) * time.Second
		}
	}
	i.t.Fatalf("%s %s has no %s", kind, name, property)
	return 0
}

// receives is how often a queue's message is tried.
func (i *installation) receives(queue string) int {
	for _, r := range i.resources {
		if policy, is := r.Properties["RedrivePolicy"].(map[string]any); is &&
			r.Properties["QueueName"] == "whittle-prod-"+queue {
			return int(policy["maxReceiveCount"].(float64))
		}
	}
	i.t.Fatalf("no queue %s has a dead-letter queue", queue)
	return 0
}

func key(m Metric) string {
	return strings.Join(append([]string{m.Namespace, m.Name}, slices.Sorted(maps.Values(m.Dimensions))...), " ")
}

func (i *installation) add(series string, at time.Duration, value float64) {
	if i.values[series] == nil {
		i.values[series] = map[time.Duration][]float64{}
	}
	minute := (at + 100*time.Hour).Truncate(time.Minute) - 100*time.Hour // rounded down, also before zero
	i.values[series][minute] = append(i.values[series][minute], value)
}

// own adds a value of Whittle's, where the default detail writes it.
func (i *installation) own(name string, at time.Duration, value float64) {
	for _, m := range metrics.All() {
		if string(m.Name) == name && metrics.DetailFew.Has(m) && metrics.DetailFew.Writes(m, value) {
			i.add("Whittle "+name+" prod", at, value)
		}
	}
}

func (i *installation) invoke(function string, at time.Duration, fails bool) {
	i.add("AWS/Lambda Invocations whittle-prod-"+function, at, 1)
	if fails {
		i.add("AWS/Lambda Errors whittle-prod-"+function, at, 1)
	}
}

// ringing returns the alarms that ring at a time.
func (i *installation) ringing(at time.Duration) []string {
	i.t.Helper()
	found, err := i.service.Ringing(noon.Add(at), func(metric Metric, from, _ time.Time) ([]float64, error) {
		return i.values[key(metric)][from.Sub(noon)], nil
	})
	if err != nil {
		i.t.Fatal(err)
	}
	for at := range found {
		found[at] = strings.TrimPrefix(found[at], "whittle-prod-")
	}
	return found
}

// live lets the functions work from one time to another, except those that a fault leaves out.
func (i *installation) live(from, to time.Duration, without ...string) {
	for function, every := range ticked {
		for at := from; at < to; at += every {
			if !slices.Contains(without, function) {
				i.invoke(function, at, false)
			}
		}
	}
	for at := from; at < to; at += time.Minute {
		if !slices.Contains(without, "ticker") {
			i.invoke("ticker", at, false)
		}
		if !slices.Contains(without, "provision") {
			i.own("OldestPodPendingSeconds", at, 20)
		}
		if !slices.Contains(without, "lifecycle") {
			i.own("CatalogAgeSeconds", at, float64((at+100*time.Hour)%time.Hour/time.Second))
		}
	}
	for at := from; at < to; at += time.Hour {
		if !slices.Contains(without, "catalog") {
			i.invoke("catalog", at, false)
		}
	}
}

// fails lets a function fail from zero on, as Lambda then invokes it again.
func (i *installation) fails(function string, lasts time.Duration, to time.Duration) {
	if every, is := ticked[function]; is {
		for at := time.Duration(0); at < to; at += every {
			i.invoke(function, at, true)
		}
		return
	}
	every := time.Minute
	if function == "catalog" {
		every = time.Hour
	}
	for at := time.Duration(0); at < to; at += every {
		// Lambda repeats the event of a schedule twice, after one and two minutes.
		for _, pause := range []time.Duration{0, lasts + time.Minute, 2*lasts + 3*time.Minute} {
			i.invoke(function, at+pause, true)
		}
	}
}

// comesBack is when a message of interrupt's queue that fails is tried again.
func comesBack(age time.Duration) time.Duration {
	if age < 2*time.Minute {
		return 2 * time.Second
	}
	return 30 * time.Second
}

// message is tried until it is a dead letter.
func (i *installation) message(queue string, to time.Duration, again func(age time.Duration) time.Duration,
	try func(at time.Duration)) {
	at := time.Duration(0)
	for range i.receives(queue) {
		try(at)
		at += again(at)
	}
	for ; at < to; at += time.Minute {
		i.add("AWS/SQS ApproximateNumberOfMessagesVisible whittle-prod-dead", at, 1)
	}
}

// A way in which a function fails, as its metrics show it.
const (
	returns    = "it returns an error"
	dies       = "it dies"
	unpolled   = "nobody starts it"
	unreadable = "it cannot read a message"
)

// TestEveryFaultRings breaks each function in each way, and expects an alarm within five minutes. Install
// answers to CloudFormation, which fails the deployment. Console answers to the person who looks at the
// page. Without watch the ticks go on. So no alarm has to name the three.
func TestEveryFaultRings(t *testing.T) {
	for _, function := range []string{"ticker", "provision", "lifecycle", "disrupt", "interrupt", "catalog"} {
		for fault, way := range map[string]string{
			"no rights in the cluster": returns, "no network": returns, "a panic": dies, "a time-out": dies,
			"no rights on the queue": unpolled, "no concurrency left": unpolled, "a poison message": unreadable,
		} {
			scheduled := function == "ticker" || function == "catalog"
			if scheduled && (way == unpolled || way == unreadable) {
				continue // no queue wakes it
			}
			t.Run(function+"/"+fault, func(t *testing.T) {
				i := install(t)
				i.live(-time.Hour, 0)
				bound, stays, lasts := 5*time.Minute, 30*time.Minute, time.Second
				if fault == "a time-out" {
					lasts = i.setting("AWS::Lambda::Function", function, "Timeout")
				}
				if function == "catalog" {
					stays = 15 * time.Minute // the next try is an hour later
				}
				if function == "catalog" && fault == "a time-out" {
					bound = 10 * time.Minute // Lambda tries a third time after seven
				}
				i.breaks(function, way, lasts, stays)
				i.rings(bound, stays)
			})
		}
	}
}

// breaks lets a function fail in a way from zero on, and the others live.
func (i *installation) breaks(function, way string, lasts, until time.Duration) {
	without := []string{function}
	switch {
	case way == unreadable:
		without = nil
		i.poisons(function, until)
	case function == "interrupt":
		i.loses(way, until)
	case way != unpolled:
		i.fails(function, lasts, until)
	}
	if function == "ticker" {
		without = append(without, "provision", "lifecycle", "disrupt")
	}
	i.live(0, until, without...)
}

// poisons puts a message into the function's queue that it cannot read.
func (i *installation) poisons(function string, until time.Duration) {
	again := comesBack
	if function != "interrupt" {
		hidden := i.setting("AWS::SQS::Queue", function, "VisibilityTimeout")
		again = func(time.Duration) time.Duration { return hidden }
	}
	i.message(function, until, again, func(at time.Duration) {
		i.own("FailedMessages", at, 1)
		i.own("UnreadableMessages", at, 1)
	})
}

// loses sends a spot warning to an interrupt that fails.
func (i *installation) loses(way string, until time.Duration) {
	switch way {
	case returns:
		i.message("warnings", until, comesBack, func(at time.Duration) { i.own("FailedMessages", at, 1) })
	case dies:
		hidden := i.setting("AWS::SQS::Queue", "warnings", "VisibilityTimeout")
		i.message("warnings", until, func(time.Duration) time.Duration { return hidden },
			func(at time.Duration) { i.invoke("interrupt", at, true) })
	case unpolled:
		for at := time.Duration(0); at < until; at += time.Minute {
			// SQS measures once a minute, here at its beginning.
			i.add("AWS/SQS ApproximateAgeOfOldestMessage whittle-prod-warnings", at, at.Seconds())
		}
	}
}

// rings checks that nothing rings before zero, something at the latest after the bound, and that it does
// not stop while the fault stays.
func (i *installation) rings(bound, until time.Duration) {
	i.t.Helper()
	if early := i.ringing(0); len(early) > 0 {
		i.t.Errorf("before the fault %v ring", early)
	}
	first := time.Duration(-1)
	for at := time.Minute; at <= until; at += time.Minute {
		ringing := i.ringing(at)
		if len(ringing) > 0 && first < 0 {
			first = at
			i.t.Logf("%v ring after %s", ringing, at)
		}
		if len(ringing) == 0 && first >= 0 {
			i.t.Errorf("nothing rings after %s any more", at)
			return
		}
	}
	if first < 0 || first > bound {
		i.t.Errorf("the first alarm rings after %s (-1ns: never), want at most %s", first, bound)
	}
}

// TestDeadLettersRing holds for dead letters that come without a failure that rings, and for metrics
// that are late.
func TestDeadLettersRing(t *testing.T) {
	for late := range 5 {
		i := install(t)
		i.service.Lateness["AWS/SQS"] = time.Duration(late) * time.Minute
		i.live(-time.Hour, time.Hour)
		for at := time.Duration(0); at < time.Hour; at += time.Minute {
			i.add("AWS/SQS ApproximateNumberOfMessagesVisible whittle-prod-dead", at, 1)
		}
		i.rings(5*time.Minute, time.Hour)
	}
}

// TestUndeliveredEventsRing holds for events that come to no queue, so that no function hears of them.
func TestUndeliveredEventsRing(t *testing.T) {
	i := install(t)
	i.live(-time.Hour, time.Hour)
	for at := time.Duration(0); at < time.Hour; at += time.Minute {
		i.add("AWS/SQS ApproximateNumberOfMessagesVisible whittle-prod-undelivered", at, 1)
	}
	i.rings(5*time.Minute, time.Hour)
}

// TestNothingRingsOnAQuietDay has single failures whose second try succeeds, and metrics that are late
// by different times.
func TestNothingRingsOnAQuietDay(t *testing.T) {
	i := install(t)
	const day = 24 * time.Hour
	i.live(-time.Hour, day)
	hour := 0
	for at := time.Duration(0); at < day; at += time.Hour {
		function := []string{"provision", "lifecycle", "disrupt", "interrupt", "ticker", "catalog"}[hour%6]
		hour++
		i.invoke(function, at+10*time.Minute, true)
		for try := range time.Duration(5) {
			i.own("FailedMessages", at+10*time.Minute+try*2*time.Second, 1)
		}
		i.own("LaunchFailures", at+30*time.Minute, 1)
		i.own("LaunchFailures", at+30*time.Minute+10*time.Second, 1)
		for minute := range 60 {
			// A message that comes back at once twice is at most this old.
			i.add("AWS/SQS ApproximateAgeOfOldestMessage whittle-prod-warnings", at+time.Duration(minute)*time.Minute,
				float64(minute%2*30))
		}
	}
	for at := time.Duration(0); at <= day; at += time.Minute {
		i.service.Lateness["AWS/SQS"] = at / time.Minute % 4 * time.Minute
		i.service.Lateness["AWS/Lambda"] = at / time.Minute % 3 * time.Minute
		if ringing := i.ringing(at); len(ringing) > 0 {
			t.Errorf("after %s %v ring", at, ringing)
		}
	}
}

// TestStandbyAloneRings holds that a catalogue that nobody measures in standby is not said to be old.
func TestStandbyAloneRings(t *testing.T) {
	i := install(t)
	const until = 5 * time.Hour
	i.live(-time.Hour, 0)
	i.live(0, until, "lifecycle")
	for at := time.Duration(0); at < until; at += time.Minute {
		i.invoke("lifecycle", at, false)
		i.own("Standby", at, 9)
	}
	for at := 10 * time.Minute; at <= until; at += time.Minute {
		if ringing := i.ringing(at); !slices.Equal(ringing, []string{"standby"}) {
			t.Fatalf("after %s %v ring", at, ringing)
		}
	}
}

// TestAMissingCatalogueRings holds for a catalogue that nobody has written, which lifecycle measures as
// one that is a week old.
func TestAMissingCatalogueRings(t *testing.T) {
	i := install(t)
	i.live(0, 2*time.Hour, "lifecycle")
	for at := time.Duration(0); at < 2*time.Hour; at += time.Minute {
		i.invoke("lifecycle", at, false)
		i.own("CatalogAgeSeconds", at, (7 * 24 * time.Hour).Seconds())
	}
	if early, late := i.ringing(50*time.Minute), i.ringing(65*time.Minute); len(early) > 0 ||
		!slices.Equal(late, []string{"catalog-old"}) {
		t.Errorf("%v and %v ring", early, late)
	}
}

// TestAnAlarmEndsWithItsFewValues holds for values that are written only from half of the threshold on: the alarm
// rings once, for as long as the trouble lasts, and ends a few minutes after the last value.
func TestAnAlarmEndsWithItsFewValues(t *testing.T) {
	for name, test := range map[string]struct {
		metric          string
		every           time.Duration // between two values
		threshold, lead time.Duration // lead is how long the alarm waits beyond the threshold
	}{
		"pods-unserved": {"OldestPodPendingSeconds", 10 * time.Second, 10 * time.Minute, 0},
		"catalog-old":   {"CatalogAgeSeconds", time.Minute, 24 * time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			i := install(t)
			const slack = 5 * time.Minute
			ends := test.threshold + test.lead + 2*time.Hour
			i.live(-time.Hour, ends+2*time.Hour)
			for at := time.Duration(0); at < ends; at += test.every {
				i.own(test.metric, at, at.Seconds())
			}
			for at := time.Duration(0); at < ends+2*time.Hour; at += time.Minute {
				rings := slices.Contains(i.ringing(at), name)
				begins := test.threshold + test.lead
				if rings && at < begins || !rings && at > begins+slack && at < ends || rings && at > ends+slack {
					t.Fatalf("after %s it rings: %t. The trouble lasts until %s", at, rings, ends)
				}
			}
		})
	}
}

// TestLaunchFailuresDoNotFlap holds for a refused class: its claim is tried with growing pauses, ends
// after five minutes, and the next one begins when the refusal lapses after ten.
func TestLaunchFailuresDoNotFlap(t *testing.T) {
	for _, lapses := range []time.Duration{10*time.Minute + 10*time.Second, 12 * time.Minute, 15 * time.Minute} {
		t.Run(fmt.Sprint(lapses), func(t *testing.T) {
			i := install(t)
			const until = 4 * time.Hour
			i.live(-time.Hour, until)
			for at := time.Duration(0); at < until; at += lapses {
				for _, try := range []time.Duration{0, 10, 20, 60, 140} {
					i.own("LaunchFailures", at+try*time.Second, 1)
				}
			}
			i.rings(5*time.Minute, until)
		})
	}
}
