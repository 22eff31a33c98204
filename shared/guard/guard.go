// Package guard confines a panic to the object whose content caused it. Functions read what people
// write, partly with the code of others. A defect there must not stop the work on other objects.
//
// Its place: deciding packages and functions call it around the work on one object. The error goes
// the way of every other error about the object, so that an event or a condition shows it.
package guard

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Panic is the error of work that panicked.
type Panic struct {
	// Value is what the work panicked with.
	Value any
	// At is the line of code that panicked, such as parser.go:99.
	At string
}

// Error says what happened and what a person can do.
func (p *Panic) Error() string {
	return fmt.Sprintf("a defect in Whittle (%v, %s) keeps it from working on this object: "+
		"undo the object's last change, and report the defect", p.Value, p.At)
}

// IsPanic reports whether the error comes from a panic.
func IsPanic(err error) bool {
	var found *Panic
	return errors.As(err, &found)
}

// Run does the work and returns its error. It returns a *Panic if the work panics.
func Run(work func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Panic{Value: value, At: origin()}
		}
	}()
	return work()
}

// origin is the innermost line that panicked outside of package runtime. A deferred function calls
// it.
func origin() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
	}
}
