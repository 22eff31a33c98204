package api

import (
	"errors"
	"fmt"
)

// FieldError is one problem of an object.
//
// +kubebuilder:object:generate=false
type FieldError struct {
	// Kind and Name identify the object.
	Kind, Name string
	// Path is the field's place in the object's JSON, such as
	// spec.template.spec.requirements[0].operator.
	Path string
	// Value is the field's value, or nil where the problem is about a missing or whole field.
	Value any
	// Problem describes the problem and its remedy.
	Problem string
	// Choices are valid values, of which somebody may have meant one; empty where there is no list of them.
	Choices []string
	// Reason is the condition's reason for this kind of problem, or empty where there is no special
	// one.
	Reason string
}

// Error returns one line with object, field, value, problem and remedy.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s %q: %s: %s", e.Kind, e.Name, e.Path, e.Text())
}

// Text returns the value, the problem and its remedy, without object and field.
func (e *FieldError) Text() string {
	switch value := e.Value.(type) {
	case nil:
		return e.Problem
	case string:
		return fmt.Sprintf("%q %s", value, e.Problem)
	default:
		return fmt.Sprintf("%v %s", value, e.Problem)
	}
}

// findings collects the problems of one object.
//
// +kubebuilder:object:generate=false
type findings struct {
	kind, name string
	errs       []error
}

// add records a problem with the value of a field.
func (f *findings) add(path string, value any, problem string, arguments ...any) {
	f.addWithReason("", path, value, problem, arguments...)
}

// addWithReason records a problem that has its own condition reason.
func (f *findings) addWithReason(reason, path string, value any, problem string, arguments ...any) {
	f.errs = append(f.errs, &FieldError{
		Kind: f.kind, Name: f.name, Path: path, Value: value, Problem: fmt.Sprintf(problem, arguments...), Reason: reason,
	})
}

// choose records a problem with the value of a field, and the values that it may have.
func (f *findings) choose(path string, value any, choices []string, problem string, arguments ...any) {
	f.errs = append(f.errs, &FieldError{
		Kind: f.kind, Name: f.name, Path: path, Value: value, Problem: fmt.Sprintf(problem, arguments...), Choices: choices,
	})
}

// addField records a problem with a field that is missing, or with the field as a whole.
func (f *findings) addField(path, problem string, arguments ...any) {
	f.add(path, nil, problem, arguments...)
}

// err returns all recorded problems, joined, or nil.
func (f *findings) err() error {
	return errors.Join(f.errs...)
}
