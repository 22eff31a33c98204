package function

import (
	"errors"
	"fmt"
	"strings"
)

// Settings reads a function's environment variables. It collects what is wrong with them, so that
// one error names every variable that a person has to mend.
type Settings struct {
	lookup   func(name string) string
	problems []error
}

// SettingsFrom reads variables through lookup, which returns an empty string for one that is unset.
func SettingsFrom(lookup func(name string) string) *Settings { return &Settings{lookup: lookup} }

// Err returns an error that names each variable that is missing or has a value that is not
// allowed. It returns nil when all variables that were read so far are valid.
func (s *Settings) Err() error { return errors.Join(s.problems...) }

// Required returns a variable that must be set: the stack sets it.
func (s *Settings) Required(name string) string {
	value := s.lookup(name)
	if value == "" {
		problem := fmt.Errorf("environment variable %s is not set: the stack sets it; by hand, export it first", name)
		s.problems = append(s.problems, problem)
	}
	return value
}

// Optional returns a variable, and an empty string when it is unset.
func (s *Settings) Optional(name string) string { return s.lookup(name) }

// Enabled returns whether a switch is true. It is off when the variable is false or unset.
func (s *Settings) Enabled(name string) bool { return Choice(s, name, "false", "true") == "true" }

// Choice returns the value of a variable that has a few allowed values. The first of them is the
// default.
func Choice[T ~string](s *Settings, name string, allowed ...T) T {
	value := T(s.lookup(name))
	if value == "" {
		return allowed[0]
	}
	names := make([]string, len(allowed))
	for i := range allowed {
		if value == allowed[i] {
			return value
		}
		names[i] = string(allowed[i])
	}
	s.invalid(name, fmt.Sprintf("set it to %s, or leave it out for %s", strings.Join(names, " or "), names[0]))
	return ""
}

// Parsed returns what parse makes of a variable, and the zero value when the variable is unset.
// The error of a value that parse refuses ends with advice, which names the allowed values.
func Parsed[T any](s *Settings, name, advice string, parse func(text string) (T, error)) T {
	var none T
	text := s.lookup(name)
	if text == "" {
		return none
	}
	value, err := parse(text)
	if err != nil {
		s.invalid(name, advice)
		return none
	}
	return value
}

func (s *Settings) invalid(name, advice string) {
	s.problems = append(s.problems, fmt.Errorf("environment variable %s is %q: %s", name, s.lookup(name), advice))
}
