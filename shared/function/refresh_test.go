package function

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestAnUpgradeOfTheClusterIsSeenByAWarmContainer(t *testing.T) {
	clearEnvironment(t)
	bundle := base64.StdEncoding.EncodeToString([]byte(authority(t)))
	upgraded := func(w http.ResponseWriter) {
		fmt.Fprintf(
			w,
			`{"cluster": {"endpoint": "https://prod.example.com", "version": "1.37", "certificateAuthority": {"data": %q}}}`,
			bundle,
		)
	}
	config, calls := eksAnswers(t, active(bundle), active(bundle), gone, upgraded)
	connection := NewConnection(config, "prod")
	now := time.Now()
	connection.now = func() time.Time { return now }
	client := func(want string, asked int64) any {
		t.Helper()
		client, err := connection.Client(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if client.Endpoint.Version != want || calls.Load() != asked {
			t.Errorf("version %s after %d questions, want %s after %d", client.Endpoint.Version, calls.Load(), want, asked)
		}
		return client
	}
	first := client("1.36", 1)
	now = now.Add(refreshAfter)
	if client("1.36", 2) != first {
		t.Error("connections are given up though nothing has changed")
	}
	now = now.Add(refreshAfter)
	client("1.36", 3) // EKS does not answer as it should: what was known serves on
	client("1.37", 4)
	client("1.37", 4)
}
