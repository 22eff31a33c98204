package wire

import (
	"encoding/json"
	"testing"
	"time"
)

func TestTime(t *testing.T) {
	want := time.Date(2026, time.November, 21, 10, 0, 0, 500_000_000, time.UTC)
	written, err := json.Marshal(Time{want})
	if err != nil || string(written) != "1795255200.500" {
		t.Errorf("written as %s, %v", written, err)
	}
	for _, text := range []string{
		string(written), "1795255200.5", `"1795255200.5"`, `"2026-11-21T10:00:00.5Z"`, `"2026-11-21T11:00:00.5+01:00"`,
	} {
		var read Time
		if err := json.Unmarshal([]byte(text), &read); err != nil || !read.Equal(want) {
			t.Errorf("%s is read as %v, %v", text, read, err)
		}
	}
	var read Time
	if err := json.Unmarshal([]byte(`"tomorrow"`), &read); err == nil {
		t.Errorf("%q was read as %v", "tomorrow", read)
	}
}
