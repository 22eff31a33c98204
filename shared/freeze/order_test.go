package freeze_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
)

func at(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }

func TestOrdersByEvents(t *testing.T) {
	frozen := freeze.Order{Source: "ci", At: at(0)}
	thawed := freeze.Order{Source: "ci", At: at(10), Thaw: true}
	for name, test := range map[string]struct {
		before map[string]string
		orders []freeze.Order
		at     time.Time
		held   string // what holds then
	}{
		"for an hour":            {nil, []freeze.Order{frozen}, at(59), "frozen by ci until Mon 2 Mar 13:00 UTC"},
		"and no longer":          {nil, []freeze.Order{frozen}, at(60), ""},
		"thawed":                 {nil, []freeze.Order{frozen, thawed}, at(11), ""},
		"the thaw comes first":   {nil, []freeze.Order{thawed, frozen}, at(11), ""},
		"twice, around the thaw": {nil, []freeze.Order{frozen, thawed, frozen}, at(11), ""},
		"frozen anew": {nil, []freeze.Order{frozen, thawed, {Source: "ci", At: at(12), Who: "bob", Reason: "INC"}}, at(13),
			"frozen by bob by ci until Mon 2 Mar 13:12 UTC (INC)"},
		"until": {nil, []freeze.Order{{Source: "ci", At: at(0), Until: at(120)}}, at(119), "14:00 UTC"},
		"a person's lasts longer": {map[string]string{"freeze": "who: alice\ndrains: true"}, []freeze.Order{frozen}, at(90),
			"frozen by alice until somebody thaws it"},
		"a person's is broken": {
			map[string]string{"freeze": "until: soon"}, []freeze.Order{frozen}, at(90), "cannot be read"},
		"a person's is thawed": {map[string]string{"freeze": "who: alice"}, []freeze.Order{thawed}, at(11), ""},
		"a later order of a person": {map[string]string{"freeze": "who: alice\nsince: 2026-03-02T12:20:00Z"},
			[]freeze.Order{thawed}, at(21), "frozen by alice"},
		"a pool": {
			nil, []freeze.Order{{Pool: "batch", Source: "ci", At: at(0)}, thawed}, at(20), `nodepool "batch" is frozen`},
	} {
		data := maps.Clone(test.before)
		if data == nil {
			data = map[string]string{}
		}
		for _, order := range test.orders {
			if says, err := order.Apply(data, at(12)); err != nil || says == "" {
				t.Errorf("%s: %q, %v", name, says, err)
			}
		}
		held := ""
		if one := freeze.Read(data).Of(freeze.Disruptions, "batch", test.at); one != nil {
			held = one.String()
		}
		if (held == "") != (test.held == "") || !strings.Contains(held, test.held) {
			t.Errorf("%s: held is %q, want %q", name, held, test.held)
		}
	}
}

func TestRefusedOrders(t *testing.T) {
	for want, order := range map[string]freeze.Order{
		"detail.until 2026-03-02T11:00:00Z has passed":         {At: at(-90), Until: at(-60)},
		"detail.until 2026-03-02T12:00:00Z has passed":         {At: at(-60)}, // an hour late, without until
		"detail.until 2026-05-01T12:00:00Z is more than 30 da": {At: at(0), Until: at(60 * 24 * 60)},
	} {
		data := map[string]string{}
		says, err := order.Apply(data, now)
		if !freeze.IsRefused(err) || !strings.Contains(err.Error(), want) || len(data) > 0 {
			t.Errorf("%q, %v, want %s", says, err, want)
		}
	}
}

// TestEventsCannotFillTheConfigMap holds that a program which freezes ever other pools ends at a bound, and
// goes on once its freezes have ended.
func TestEventsCannotFillTheConfigMap(t *testing.T) {
	data, refusals := map[string]string{"sleep": "Mon", "freeze": "who: alice"}, 0
	fill := func(from int, when time.Time) {
		for i := range 200 {
			order := freeze.Order{Pool: fmt.Sprintf("pool-%d", from+i), Source: "ci", At: when}
			if _, err := order.Apply(data, when); freeze.IsRefused(err) {
				refusals++
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(0, at(0))
	if len(data) != 101 || refusals != 101 {
		t.Errorf("%d keys after %d refusals", len(data), refusals)
	}
	fill(1000, at(180))
	if len(data) != 101 || data["freeze"] == "" || data["sleep"] == "" || data["freeze.pool-1000"] == "" {
		t.Errorf("later there are %d keys", len(data))
	}
}
