//go:build browser

package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/functions/console/widget"
	"github.com/whittle-dev/whittle/testdata/lab/chromium"
	"github.com/whittle-dev/whittle/testdata/lab/dashboard"
)

// browsing is the input of browser.mjs.
type browsing struct {
	Executable string            `json:"executable"`
	Folder     string            `json:"folder"` // of the pictures
	Pages      map[string]string `json:"pages"`  // URLs by the cluster's name
}

// TestBrowser opens the page of each cluster in a real Chromium, in both themes and five widths. It
// uses the page and writes a picture of each to build/pages.
func TestBrowser(t *testing.T) {
	browser, err := chromium.Prepare(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs(filepath.Join("..", "..", "..", "build", "pages"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	given := browsing{Executable: browser.Executable, Folder: folder, Pages: map[string]string{}}
	for name, shown := range clusters() {
		given.Pages[name] = show(t, shown)
	}
	input, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "node", "browser.mjs")
	command.Env = append(os.Environ(), browser.Environment...)
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("browser.mjs: %v\n%s", err, out)
	}
	var seen struct {
		Pictures int
		Version  string
		Faults   []string
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatalf("browser.mjs printed %s: %v", out, err)
	}
	for _, fault := range seen.Faults {
		t.Error(fault)
	}
	if want := 10 * len(given.Pages); seen.Pictures != want {
		t.Errorf("%d pictures, want %d", seen.Pictures, want)
	}
	t.Logf("Chromium %s, %d pictures in %s", seen.Version, seen.Pictures, folder)
}

// show serves the page of a cluster. A request to /break makes its function fail until
// one to /mend.
func show(t *testing.T, shown *view.View) string {
	t.Helper()
	made, err := widget.New()
	if err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	page, err := dashboard.Handler("prod", func(_ context.Context, event []byte) ([]byte, error) {
		if broken.Load() {
			return nil, errors.New("the console function failed: out of order")
		}
		var asked struct {
			NodePool string `json:"nodePool"`
		}
		if err := json.Unmarshal(event, &asked); err != nil {
			return nil, err
		}
		options := widget.Options{
			Cluster: "prod", NodePool: asked.NodePool,
			Endpoint: "arn:aws:lambda:us-east-1:123456789012:function:whittle-prod-console",
		}
		var html string
		var err error
		if shown == nil {
			html, err = made.Failure(errUnreachable, options)
		} else {
			html, err = made.Render(shown, options)
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(html)
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.HandleFunc("/break", func(http.ResponseWriter, *http.Request) { broken.Store(true) })
	mux.HandleFunc("/mend", func(http.ResponseWriter, *http.Request) { broken.Store(false) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + dashboard.Path
}
