package events

import (
	"errors"
	"fmt"
)

// ErrUnknown is wrapped by the error of Decode for a well-formed event of a kind that this package
// does not know. Such an event needs no retry.
var ErrUnknown = errors.New("no such event is known")

// FieldError names a missing or wrong field of an event. Decoding the event again returns the same
// error.
type FieldError struct {
	// Field is the path of the field in the event's JSON, such as detail.instance-id.
	Field string
	// Problem describes the problem of the field.
	Problem string
}

// Error returns the field and its problem.
func (e *FieldError) Error() string {
	return e.Field + " " + e.Problem
}

func missing(field, want string) error {
	return &FieldError{Field: field, Problem: "is missing, want " + want}
}

func wrong(field string, value any, want string) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf("is %q, want %s", value, want)}
}

func unknown(field, value string) error {
	return fmt.Errorf("%s %q: %w", field, value, ErrUnknown)
}
