package control_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/console/control"
	"github.com/whittle-dev/whittle/shared/freeze"
)

func TestFreezeAndThaw(t *testing.T) {
	data := map[string]string{"sleep": "Mon"}
	apply := func(changes control.Changes) *freeze.Freezes {
		maps.Copy(data, changes)
		maps.DeleteFunc(data, func(_, value string) bool { return value == "" })
		return freeze.Read(data)
	}
	for _, step := range []struct {
		ordered control.Freeze
		says    string
	}{
		{control.Freeze{Who: "alice", Reason: " INC-12 ", For: "2h"},
			"the cluster is frozen by alice until Sat 28 Mar 22:00 UTC (INC-12): disruption"},
		{control.Freeze{Pool: "batch", Who: "bob", Launches: true, Drains: true},
			`nodepool "batch" is frozen by bob until somebody thaws it: disruption, launches, drains`},
		{control.Freeze{Pool: "web", Who: "bob", For: "2026-03-30T07:00:00Z"}, "until Mon 30 Mar 07:00 UTC: disruption"},
	} {
		changes, says, err := control.FreezeOf(step.ordered, []string{"batch", "web"}, now)
		if err != nil || !strings.Contains(says, step.says) || len(changes) != 1 {
			t.Fatalf("%v, %q, %v", changes, says, err)
		}
		apply(changes)
	}
	all := freeze.Read(data)
	if len(all.All) != 3 || all.All[0].Reason != "INC-12" || !all.All[0].Since.Equal(now) {
		t.Fatalf("%+v", all)
	}
	changes, says := control.Thaw("", all, now)
	all = apply(changes)
	if all.Of(freeze.Disruptions, "other", now) != nil || all.Of(freeze.Launches, "batch", now) == nil ||
		!strings.HasPrefix(says, `the cluster is thawed. Still, nodepool "batch" is frozen by bob`) {
		t.Errorf("%s; left are %+v", says, all)
	}
	changes, says = control.Thaw("", all, now)
	if changes != nil || !strings.HasPrefix(says, "the cluster was not frozen. Still,") {
		t.Errorf("a second thaw: %v, %s", changes, says)
	}
	changes, _ = control.Thaw("web", all, now)
	all = apply(changes)
	changes, says = control.Thaw("batch", all, now)
	if all = apply(changes); all != nil || says != `nodepool "batch" is thawed` || data["sleep"] == "" {
		t.Errorf("%s; left are %v", says, data)
	}
	if changes, says := control.Thaw("web", nil, now); changes != nil || says != `nodepool "web" was not frozen` {
		t.Errorf("%v, %s", changes, says)
	}
}

func TestThawRemovesABrokenOrder(t *testing.T) {
	broken := freeze.Read(map[string]string{"freeze": "until: soon", "freezes": "x"})
	changes, says := control.Thaw("", broken, now)
	if len(changes) != 1 || changes["freeze"] != "" || !strings.Contains(says, "data.freezes is no key") {
		t.Errorf("%v, %s", changes, says)
	}
}

func TestFreezeSaysHowToMend(t *testing.T) {
	for want, ordered := range map[string]control.Freeze{
		`-pool: there is no nodepool "wep": there are batch, web`: {Pool: "wep"},
		`-for: "-1h" has passed`:                                  {For: "-1h"},
		`-for: "soon" is neither`:                                 {For: "soon"},
		"more than a year":                                        {For: "9000h"},
	} {
		changes, _, err := control.FreezeOf(ordered, []string{"batch", "web"}, now)
		if changes != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", ordered, err)
		}
	}
	if _, _, err := control.FreezeOf(control.Freeze{Pool: "unread"}, nil, now.Add(time.Hour)); err != nil {
		t.Errorf("without the right to list pools: %v", err)
	}
}
