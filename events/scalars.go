package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// textList is a list of strings. Some events have a single string instead.
type textList []string

// UnmarshalJSON reads a list of strings, one string, or null.
func (l *textList) UnmarshalJSON(data []byte) error {
	var list []string
	if err := json.Unmarshal(data, &list); err == nil {
		*l = list
		return nil
	}
	var single string
	if err := json.Unmarshal(data, &single); err != nil {
		return fmt.Errorf("want a list of strings, got %s", data)
	}
	*l = textList{single}
	return nil
}

// text is a string. Some events have a number or a boolean instead.
type text string

// UnmarshalJSON reads a string, a number, a boolean, or null.
func (t *text) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	switch value := value.(type) {
	case nil:
	case string:
		*t = text(value)
	case float64, bool:
		*t = text(data)
	default:
		return fmt.Errorf("want a string, got %s", data)
	}
	return nil
}

// readTime parses a time in RFC 3339, or in the RFC 1123 form of AWS Health, with one or two digits
// for the day of the month. The empty text is the zero time.
func readTime(field, value string) (time.Time, error) {
	value = strings.TrimSpace(value)
	if value == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700"} {
		if parsed, err := time.Parse(layout, value); err == nil {
			return parsed.UTC(), nil
		}
	}
	return time.Time{}, wrong(field, value, "a time in RFC 3339 or RFC 1123")
}

// writeTime writes a time in RFC 3339, and the zero time as the empty text.
func writeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
