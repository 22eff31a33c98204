package spread_test

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/spread"
)

const zones = `{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}`

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want int
	}{
		"nothing":        {"", 0},
		"an empty list":  {"[]", 0},
		"YAML":           {"- maxSkew: 2\n  topologyKey: kubernetes.io/hostname\n  whenUnsatisfiable: ScheduleAnyway\n", 1},
		"JSON":           {`[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":2}]`, 1},
		"one key twice":  {"[" + zones + "," + strings.Replace(zones, "DoNotSchedule", "ScheduleAnyway", 1) + "]", 2},
		"with policies":  {"[{nodeTaintsPolicy: Honor, nodeAffinityPolicy: Ignore, " + zones[1:] + "]", 1},
		"no keys at all": {"[{matchLabelKeys: [], " + zones[1:] + "]", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := spread.Parse(test.text)
			if err != nil || len(got) != test.want {
				t.Errorf("%v, %v: want %d constraints", got, err, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"a skew of nothing": {"maxSkew: 1", "maxSkew: 0", "[1].maxSkew is 0: write a number above 0"},
		"no skew":           {"maxSkew: 1, ", "", "[1].maxSkew is 0"},
		"no key":            {"topologyKey: topology.kubernetes.io/zone, ", "", "[1].topologyKey is missing"},
		"a key with spaces": {"topology.kubernetes.io/zone", "a zone", `[1].topologyKey is "a zone"`},
		"another action": {"DoNotSchedule", "Never",
			`[1].whenUnsatisfiable is "Never": write DoNotSchedule or ScheduleAnyway`},
		"no action":        {", whenUnsatisfiable: DoNotSchedule", "", `[1].whenUnsatisfiable is ""`},
		"a selector":       {"{max", "{labelSelector: {}, max", "[1].labelSelector is set: leave it out"},
		"label keys":       {"{max", "{matchLabelKeys: [app], max", "[1].matchLabelKeys is set: leave it out"},
		"a repetition":     {"", "", `[1].topologyKey repeats "topology.kubernetes.io/zone" with DoNotSchedule`},
		"an unknown field": {"{max", "{skew: 1, max", `unknown field "[1].skew"`},
		"another case":     {"maxSkew", "maxskew", `unknown field "[1].maxskew"`},
		"a field twice":    {"{max", "{maxSkew: 2, max", `"maxSkew" already set`},
		"no domains":       {"{max", "{minDomains: 0, max", "[1].minDomains is 0"},
		"preferred domains": {"maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule",
			"minDomains: 2, maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway", "[1].minDomains is set"},
		"another policy": {"{max", "{nodeTaintsPolicy: Never, max",
			`[1].nodeTaintsPolicy is "Never": write Honor or Ignore`},
		"another affinity": {"{max", "{nodeAffinityPolicy: All, max",
			`[1].nodeAffinityPolicy is "All": write Honor or Ignore`},
		"a number for a key":    {"topology.kubernetes.io/zone", "1", "topologyKey"},
		"no YAML":               {"{max", "{{max", "neither YAML nor JSON"},
		"a map around the list": {"{max", "defaultConstraints: [{max", "neither YAML nor JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			second := zones
			if test.old != "" {
				second = strings.Replace(zones, test.old, test.new, 1)
			}
			got, err := spread.Parse("[" + zones + ", " + second + "]")
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, %v: want an error of one line with %q", got, err, test.want)
			}
		})
	}
	if _, err := spread.Parse("podTopologySpread: {defaultConstraints: []}"); err == nil {
		t.Error("a map is no list")
	}
}
