package function_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/function"
)

// settings has the variables of the map.
func settings(variables map[string]string) *function.Settings {
	return function.SettingsFrom(func(name string) string { return variables[name] })
}

func TestRequiredSettingsNameAllThatIsMissing(t *testing.T) {
	s := settings(map[string]string{"SET": "value", "EMPTY": ""})
	if got := s.Required("SET"); got != "value" || s.Err() != nil {
		t.Errorf("the variable is %q, the error %v", got, s.Err())
	}
	s.Required("EMPTY")
	s.Required("MISSING")
	err := s.Err()
	if err == nil {
		t.Fatal("no error")
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		if !strings.Contains(line, "EMPTY") && !strings.Contains(line, "MISSING") {
			t.Errorf("the error says %q", line)
		}
	}
	if !strings.Contains(err.Error(), "EMPTY") || !strings.Contains(err.Error(), "MISSING") {
		t.Errorf("error is %v, want one that names both variables", err)
	}
}

func TestSettingsOfTheProcess(t *testing.T) {
	t.Setenv("WHITTLE_TEST_SET", "value")
	s := (function.Deps{}).Settings()
	if got := s.Required("WHITTLE_TEST_SET"); got != "value" || s.Err() != nil {
		t.Errorf("the variable is %q, the error %v", got, s.Err())
	}
}

// policy is a setting like those of the planner.
type policy string

func TestChoices(t *testing.T) {
	for _, test := range []struct {
		value string
		want  policy
		fails string
	}{
		{"", "Respect", ""},
		{"Respect", "Respect", ""},
		{"Ignore", "Ignore", ""},
		{
			"ignore", "",
			`environment variable PREFERENCE_POLICY is "ignore": set it to Respect or Ignore, or leave it out for Respect`,
		},
	} {
		s := settings(map[string]string{"PREFERENCE_POLICY": test.value})
		got, err := function.Choice[policy](s, "PREFERENCE_POLICY", "Respect", "Ignore"), s.Err()
		if got != test.want || test.fails == "" && err != nil ||
			test.fails != "" && (err == nil || err.Error() != test.fails) {
			t.Errorf("%q: %q, error %v, want %q, error %q", test.value, got, err, test.want, test.fails)
		}
	}
}

func TestSwitches(t *testing.T) {
	for value, want := range map[string]bool{"": false, "false": false, "true": true} {
		s := settings(map[string]string{"DISABLE_DRY_RUN": value})
		if got := s.Enabled("DISABLE_DRY_RUN"); got != want || s.Err() != nil {
			t.Errorf("%q: %v, error %v", value, got, s.Err())
		}
	}
	s := settings(map[string]string{"DISABLE_DRY_RUN": "yes"})
	if s.Enabled("DISABLE_DRY_RUN") || s.Err() == nil || !strings.Contains(s.Err().Error(), "set it to false or true") {
		t.Errorf("a switch that is yes: error %v", s.Err())
	}
}

func TestParsedSettings(t *testing.T) {
	s := settings(map[string]string{"COUNT": "3", "WORD": "three"})
	if got := function.Parsed(s, "COUNT", "write a number", strconv.Atoi); got != 3 {
		t.Errorf("the count is %d", got)
	}
	if got := function.Parsed(s, "UNSET", "write a number", strconv.Atoi); got != 0 || s.Err() != nil {
		t.Errorf("an unset count is %d, the error %v", got, s.Err())
	}
	function.Parsed(s, "WORD", "write a number", strconv.Atoi)
	if err := s.Err(); err == nil || err.Error() != `environment variable WORD is "three": write a number` {
		t.Errorf("error is %v", err)
	}
}

func TestDefaultSpreadIsChecked(t *testing.T) {
	const name = "DEFAULT_TOPOLOGY_SPREAD"
	for value, want := range map[string]int{
		"": 0, `[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]`: 1,
	} {
		s := settings(map[string]string{name: value})
		if got := function.DefaultSpread(s); len(got) != want || s.Err() != nil {
			t.Errorf("%q: %v, error %v", value, got, s.Err())
		}
	}
	s := settings(map[string]string{name: `[{"maxSkew":0,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]`})
	if got, err := function.DefaultSpread(s), s.Err(); got != nil || err == nil ||
		!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "[0].maxSkew is 0: write a number above 0") {
		t.Errorf("a skew of 0: %v, error %v", got, err)
	}
}
