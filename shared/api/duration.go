package api

import (
	"encoding/json"
	"fmt"
	"time"
)

// Never is what a NillableDuration says when the thing it times does not happen.
const Never = "Never"

// NillableDuration is a duration or the word Never.
//
// The zero value is unset: it is left out of JSON, and Default replaces it. A value
// with Raw and no Duration is Never.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
type NillableDuration struct {
	*time.Duration
	// Raw is the text as it was written, so that writing an object back does not
	// turn 720h into 720h0m0s, which would read as a change by someone.
	Raw []byte `hash:"ignore"`
}

// DurationOf is the NillableDuration of d.
func DurationOf(d time.Duration) NillableDuration {
	return NillableDuration{Duration: &d}
}

// NeverDuration is the NillableDuration that says Never.
func NeverDuration() NillableDuration {
	return NillableDuration{Raw: []byte(Never)}
}

// IsZero reports whether d is unset, which is not the same as Never or as 0s.
func (d NillableDuration) IsZero() bool {
	return d.Duration == nil && len(d.Raw) == 0
}

// IsNever reports whether d was set to Never.
func (d NillableDuration) IsNever() bool {
	return d.Duration == nil && len(d.Raw) > 0
}

// String gives the text as it was written, Never, or the duration as Go prints it.
// The unset value gives the empty string.
func (d NillableDuration) String() string {
	switch {
	case len(d.Raw) > 0:
		return string(d.Raw)
	case d.Duration != nil:
		return d.Duration.String()
	}
	return ""
}

// MarshalJSON writes the text that was read, or the duration. An unset value that is
// not left out is null.
func (d NillableDuration) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(d.String())
}

// UnmarshalJSON reads a JSON string that is Never or a Go duration, or null.
func (d *NillableDuration) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("reading a duration: want a string such as \"10m\" or \"Never\", got %s", data)
	}
	switch {
	case text == nil:
		*d = NillableDuration{}
		return nil
	case *text == Never:
		*d = NeverDuration()
		return nil
	}
	parsed, err := time.ParseDuration(*text)
	if err != nil {
		return fmt.Errorf("reading a duration: want a number with h, m or s such as \"10m\", or \"Never\", got %q", *text)
	}
	*d = NillableDuration{Duration: &parsed, Raw: []byte(*text)}
	return nil
}
