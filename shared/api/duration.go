package api

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"time"
)

// Never is the text of a NillableDuration that has no end.
const Never = "Never"

// NillableDuration is a duration or the word Never.
//
// The zero value is unset. JSON omits it, and Default replaces it. A value with Raw and without
// Duration is Never.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
type NillableDuration struct {
	*time.Duration
	// Raw is the text as a person wrote it. It keeps an update from turning 720h into 720h0m0s,
	// which would look like a change of the spec.
	Raw []byte `hash:"ignore"`
}

// DurationOf returns d as a NillableDuration.
func DurationOf(d time.Duration) NillableDuration {
	return NillableDuration{Duration: &d}
}

// NeverDuration returns the NillableDuration Never.
func NeverDuration() NillableDuration {
	return NillableDuration{Raw: []byte(Never)}
}

// IsZero reports whether d is unset. Never and 0s are set.
func (d NillableDuration) IsZero() bool {
	return d.Duration == nil && len(d.Raw) == 0
}

// IsNever reports whether d was set to Never.
func (d NillableDuration) IsNever() bool {
	return d.Duration == nil && len(d.Raw) > 0
}

// String returns Raw, or the duration in Go's format, or an empty string for the unset value.
func (d NillableDuration) String() string {
	switch {
	case len(d.Raw) > 0:
		return string(d.Raw)
	case d.Duration != nil:
		return d.Duration.String()
	}
	return ""
}

// MarshalJSON writes the text of String, or null for the unset value.
func (d NillableDuration) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(d.String())
}

// isLong matches what the API server takes for a duration.
var isLong = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)

// UnmarshalJSON reads null or a JSON string that is Never or a Go duration. One of more than 292 years,
// which Go cannot express and the API server accepts, counts as that long. It returns an error for anything
// else.
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
	if err != nil && isLong.MatchString(*text) {
		parsed, err = math.MaxInt64, nil
	}
	if err != nil {
		return fmt.Errorf("reading a duration: want a number with h, m or s such as \"10m\", or \"Never\", got %q", *text)
	}
	*d = NillableDuration{Duration: &parsed, Raw: []byte(*text)}
	return nil
}
