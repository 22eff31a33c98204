package legacy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Level says how much a change matters.
type Level int

const (
	// Noted changes keep the old meaning as far as v1 has it. The conversion writes out a default,
	// or v1 expresses the field in another way.
	Noted Level = iota
	// Lost changes give up something that no longer exists. Nodes are launched without it.
	Lost
	// Blocking changes keep the object from being converted until somebody acts.
	Blocking
)

// Change is one difference of meaning between an old object and what it became.
type Change struct {
	// Kind and Name identify the old object.
	Kind, Name string
	// Field is the path of the old field.
	Field string
	// Target is the path in the new object that the change is about; empty for all of it.
	Target string
	// Text says what is different now.
	Text string
	// Remedy says what to do; empty if there is nothing to do.
	Remedy string
	Level  Level
}

// Message names the field, says what is different and what to do.
func (c Change) Message() string {
	text := c.Field + ": " + c.Text
	if c.Remedy != "" {
		text += ": " + c.Remedy
	}
	return text
}

// String is Message with the object before it.
func (c Change) String() string { return fmt.Sprintf("%s %q: %s", c.Kind, c.Name, c.Message()) }

// changes collects the changes of one old object.
type changes struct {
	kind, name string
	list       []Change
}

func (c *changes) add(level Level, field, target, text, remedy string) {
	c.list = append(c.list, Change{
		Kind: c.kind, Name: c.name, Field: field, Target: target, Text: text, Remedy: remedy, Level: level,
	})
}

// addInvalid adds a blocking change for each *api.FieldError in err, unless one is there about the
// same field. The function old returns the old path for a path of v1.
func (c *changes) addInvalid(err error, old func(string) string) {
	var joined interface{ Unwrap() []error }
	if err == nil {
		return
	}
	errs := []error{err}
	if errors.As(err, &joined) {
		errs = joined.Unwrap()
	}
	for _, err := range errs {
		var field *api.FieldError
		if !errors.As(err, &field) {
			c.add(Blocking, "spec", "", err.Error(), "")
			continue
		}
		if c.isBlockedAt(old(field.Path)) {
			continue
		}
		text := field.Problem
		if field.Value != nil {
			text = fmt.Sprintf("%q %s", fmt.Sprint(field.Value), text)
		}
		c.add(Blocking, old(field.Path), field.Path, text, "")
	}
}

// isBlockedAt reports whether a blocking change is about the field. The family and the selector of
// images count as one field.
func (c *changes) isBlockedAt(field string) bool {
	for i := range c.list {
		known := c.list[i].Field
		images := strings.Contains(known, ".ami") && strings.Contains(field, ".ami")
		if c.list[i].Level == Blocking && (images || known == field) {
			return true
		}
	}
	return false
}

// IsBlocked reports whether a change keeps the object from being converted.
func IsBlocked(list []Change) bool {
	for i := range list {
		if list[i].Level == Blocking {
			return true
		}
	}
	return false
}

// renamed returns a function that replaces the beginning of a path. Pairs are the new beginning and
// the old one. The first that fits counts.
func renamed(pairs ...string) func(string) string {
	return func(path string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if rest, ok := strings.CutPrefix(path, pairs[i]); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return pairs[i+1] + rest
			}
		}
		return path
	}
}
