package control_test

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/control"
	"github.com/whittle-dev/whittle/shared/release"
)

func TestReleaseOrders(t *testing.T) {
	states := map[string]*release.State{
		"batch": {Stage: release.Halted, Old: 3, Record: release.Record{Release: "b1", Halted: now, Why: "bad"}},
		"web":   {Stage: release.First, Old: 9, Record: release.Record{Release: "w1"}},
		"done":  {Stage: release.Done, Record: release.Record{Release: "d1"}},
		"off":   {Stage: release.Off, Old: 2, Record: release.Record{Release: "o1"}},
	}
	for _, test := range []struct {
		ordered    control.Release
		keys, says string
		err        string
	}{
		{ordered: control.Release{Verb: release.Continue, Pool: "batch", Who: "al"}, keys: "release.batch",
			says: `nodepool "batch": its release is continued by al; drift replaces 3 nodes within the budgets`},
		{ordered: control.Release{Verb: release.Abort, Who: "al"}, keys: "release.batch release.web",
			says: "its release is aborted by al; 9 nodes keep what they have until"},
		{ordered: control.Release{Verb: release.Abort, Pool: "done"},
			err: `-pool: no release of nodepool "done" is under way: there are those of batch, web`},
		{ordered: control.Release{Verb: release.Abort, Pool: "off"}, err: "there are those of batch, web"},
	} {
		changes, says, err := control.ReleaseOf(test.ordered, states, now)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) || changes != nil {
				t.Errorf("%+v: %v, %v", test.ordered, changes, err)
			}
			continue
		}
		orders := release.ReadOrders(changes)
		if err != nil || !strings.Contains(says, test.says) || len(changes) != len(strings.Fields(test.keys)) {
			t.Errorf("%+v: %v, %q, %v", test.ordered, changes, says, err)
		}
		for _, key := range strings.Fields(test.keys) {
			pool := strings.TrimPrefix(key, "release.")
			order := orders.Of(pool, states[pool].Record.Release)
			if order == nil || order.Verb != test.ordered.Verb || order.Problem != "" || orders.Of(pool, "next") != nil {
				t.Errorf("%+v: %+v", test.ordered, order)
			}
		}
	}
	if _, _, err := control.ReleaseOf(control.Release{Verb: release.Abort}, nil, now); err == nil {
		t.Error("no release is aborted")
	}
}
