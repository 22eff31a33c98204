package events

import (
	"errors"
	"fmt"
)

// ErrUnknown is wrapped by the error of Decode for an event that is whole but of a kind
// that this package has no type for. Such an event is not worth a retry.
var ErrUnknown = errors.New("no such event is known")

// FieldError says which field of an event is missing or wrong. Reading the event again
// gives the same error.
type FieldError struct {
	// Field is the path of the field in the event's JSON, such as detail.instance-id.
	Field string
	// Problem says what is wrong with it.
	Problem string
}

// Error gives both in one line.
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
