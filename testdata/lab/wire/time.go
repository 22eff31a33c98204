package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Time is a time as the JSON protocols write it: seconds since 1970, with milliseconds.
type Time struct{ time.Time }

// MarshalJSON never writes an exponent, which some SDKs do not read.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(json.Number(strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)))
}

// UnmarshalJSON also takes RFC 3339, which templates have.
func (t *Time) UnmarshalJSON(data []byte) error {
	text := string(bytes.Trim(data, `"`))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		t.Time = time.UnixMilli(int64(seconds * 1000))
		return nil
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("%s is neither seconds since 1970 nor a time such as 2026-11-21T10:00:00Z", data)
	}
	t.Time = parsed
	return nil
}
