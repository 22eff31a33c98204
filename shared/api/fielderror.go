package api

import (
	"errors"
	"fmt"
)

// FieldError is one thing that is wrong with an object.
//
// +kubebuilder:object:generate=false
type FieldError struct {
	// Kind and Name say which object.
	Kind, Name string
	// Path is the field's place in the object's JSON, such as
	// spec.template.spec.requirements[0].operator.
	Path string
	// Value is what is there.
	Value any
	// Problem says what is wrong with it and how to mend it.
	Problem string
	// Reason is the condition's reason where the kind of problem has one of its own,
	// else empty.
	Reason string
}

// Error gives the whole in one line.
func (e *FieldError) Error() string {
	switch value := e.Value.(type) {
	case nil:
		return fmt.Sprintf("%s %q: %s: %s", e.Kind, e.Name, e.Path, e.Problem)
	case string:
		return fmt.Sprintf("%s %q: %s: %q %s", e.Kind, e.Name, e.Path, value, e.Problem)
	default:
		return fmt.Sprintf("%s %q: %s: %v %s", e.Kind, e.Name, e.Path, value, e.Problem)
	}
}

// findings collects what is wrong with one object.
//
// +kubebuilder:object:generate=false
type findings struct {
	kind, name string
	errs       []error
}

// add notes a problem of a value that is there.
func (f *findings) add(path string, value any, problem string, arguments ...any) {
	f.errs = append(f.errs, &FieldError{Kind: f.kind, Name: f.name, Path: path, Value: value, Problem: fmt.Sprintf(problem, arguments...)})
}

// because notes a problem whose kind has a reason of its own.
func (f *findings) because(reason, path string, value any, problem string, arguments ...any) {
	f.errs = append(f.errs, &FieldError{Kind: f.kind, Name: f.name, Path: path, Value: value, Problem: fmt.Sprintf(problem, arguments...), Reason: reason})
}

// missing notes a problem that has no value of its own.
func (f *findings) missing(path, problem string, arguments ...any) {
	f.add(path, nil, problem, arguments...)
}

// err is everything that was noted, or nil.
func (f *findings) err() error {
	return errors.Join(f.errs...)
}
