package own_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/events/own"
)

// TestSamples reads each sample strictly, so that sample and type have the same fields, and writes it
// again.
func TestSamples(t *testing.T) {
	for _, detail := range own.All() {
		name := strings.ToLower(strings.ReplaceAll(detail.DetailType(), " ", "")) + ".json"
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		var sample struct {
			Source     string          `json:"source"`
			DetailType string          `json:"detail-type"`
			Detail     json.RawMessage `json:"detail"`
		}
		if err := json.Unmarshal(text, &sample); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if sample.Source != own.Source || sample.DetailType != detail.DetailType() {
			t.Errorf("%s is %q from %q", name, sample.DetailType, sample.Source)
		}
		read := reflect.New(reflect.TypeOf(detail))
		decoder := json.NewDecoder(bytes.NewReader(sample.Detail))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(read.Interface()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := json.Marshal(read.Interface())
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if json.Unmarshal(sample.Detail, &want) != nil || json.Unmarshal(again, &got) != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s is %s, written again %s", name, sample.Detail, again)
		}
		if got["version"] != float64(own.Version) || got["cluster"] == "" {
			t.Errorf("%s has the version %v and the cluster %v", name, got["version"], got["cluster"])
		}
	}
}
