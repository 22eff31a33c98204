package view

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/freeze"
)

func TestFreezesAreShown(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	pool := func(name string) api.NodePool {
		return api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Freezes: freeze.Read(map[string]string{
			"freeze":       "who: alice\nreason: \"INC\\x1b[31m-12\"\nuntil: 2026-03-02T14:00:00Z",
			"freeze.batch": "who: bob\ndrains: true\nlaunches: true",
			"freeze.gone":  "until: soon",
			"freeze.web":   "who: carol\nuntil: 2026-03-02T12:00:00Z",
		})}
	}
	shown := Of(&Cluster{NodePools: []api.NodePool{pool("batch"), pool("web")}}, at)
	want := []string{
		"the cluster is frozen by alice until Mon 2 Mar 14:00 UTC (INC",
		`nodepool "batch" is frozen by bob until somebody thaws it; it holds disruption, launches, drains`,
		`nodepool "gone" is frozen by an order that cannot be read: data.freeze.gone: until: "soon" is not a time`,
	}
	if len(shown.Freezes) != len(want) || !strings.HasSuffix(shown.Freezes[2].Message, "there is no such nodepool") {
		t.Fatalf("freezes %+v", shown.Freezes)
	}
	var text strings.Builder
	if err := shown.WriteTables(&text, Form{}); err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(text.String()), " ")
	for i, part := range want {
		if !strings.Contains(shown.Freezes[i].Message, part) || !strings.Contains(table, "FROZEN: "+part) {
			t.Errorf("lacks %q:\n%s", part, text.String())
		}
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Error("a person's words reach the terminal as they are")
	}
	encoded, err := json.Marshal(shown)
	if err != nil || !strings.Contains(string(encoded),
		`{"nodePool":"batch","who":"bob","launches":true,"drains":true,"message":"nodepool \"batch\" is frozen by bob`) {
		t.Errorf("%v: %s", err, encoded)
	}
	reasons := strings.Join(shown.NodePools[1].Reasons, "; ")
	if !strings.Contains(reasons, "the cluster is frozen by alice") {
		t.Errorf("the pool says %q", reasons)
	}
}

// TestAlarmsAreShown has a name that a terminal would obey.
func TestAlarmsAreShown(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	alarms := freeze.Alarms{Read: at, Alarms: []freeze.Alarm{
		{Name: "5xx\x1b[31m", State: freeze.StateAlarm, Since: at, Scope: freeze.Scope{Pool: "batch"}},
		{Name: "quiet", State: freeze.StateOK},
	}}
	alarms.Judge(false)
	data, err := alarms.Text()
	if err != nil {
		t.Fatal(err)
	}
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Freezes: freeze.Read(map[string]string{
		freeze.AlarmsKey: data, "freeze.batch": "who: alice"})}
	shown := Of(&Cluster{NodePools: []api.NodePool{pool}}, at)
	var text strings.Builder
	if err := shown.WriteTables(&text, Form{}); err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		`FROZEN: nodepool "batch" is frozen by alice`,
		`FROZEN: nodepool "batch" is frozen by the CloudWatch alarm "5xx`,
		`which is in ALARM since Mon 2 Mar 12:00 UTC; it holds disruption`,
	} {
		if !strings.Contains(table, want) {
			t.Errorf("lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "\x1b") || strings.Contains(table, "quiet") {
		t.Errorf("shows\n%s", table)
	}
	encoded, err := json.Marshal(shown.Freezes)
	if err != nil || !strings.Contains(string(encoded), `"state":"ALARM"`) ||
		!strings.Contains(string(encoded), `"alarm":"5xx`) {
		t.Errorf("%v: %s", err, encoded)
	}
	late := Of(&Cluster{NodePools: []api.NodePool{pool}}, at.Add(freeze.AlarmsBelieved))
	if last := late.Freezes[0].Message; len(late.Freezes) != 3 || !strings.Contains(last, "have not been read since") {
		t.Errorf("later it shows %+v", late.Freezes)
	}
}
