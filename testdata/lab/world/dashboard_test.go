package world_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// checkPage reads the page of the deployed console function, with its own role's rights, after all
// nodes are gone.
func checkPage(t *testing.T, w *world.World, setup scenario.Setup) {
	for _, test := range []struct {
		name, method, path, body string
		want                     []string
	}{
		{
			"the page", http.MethodGet, "", "",
			[]string{
				"<title>Whittle · " + setup.Name + "</title>", "<h1>" + setup.Name + "</h1>", "ago: ", "Last plan",
				"<h2>Nodes</h2>", "Catalogue: 1334 instance types", "What happened", "launched</span>", "terminated</span>",
				"From the functions&#39; logs of ",
			},
		},
		{
			"a button", http.MethodPost, "widget", `{"nodePool": "lonely"}`,
			[]string{`chosen" tabindex="0" role="button">lonely</a>`, "not ready"},
		},
		{"the documentation", http.MethodPost, "widget", `{"describe": true}`, []string{"### Widget parameters"}},
	} {
		content := askPage(t, w, test.method, test.path, test.body)
		for _, part := range test.want {
			if !strings.Contains(content, part) {
				t.Errorf("%s lacks %q:\n%s", test.name, part, content)
			}
		}
	}
}

// getPage returns the dashboard's page as HTML.
func getPage(t *testing.T, w *world.World) string {
	t.Helper()
	return askPage(t, w, http.MethodGet, "", "")
}

func askPage(t *testing.T, w *world.World, method, path, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.DashboardURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s %q: status %d, %v: %s", method, path, response.StatusCode, err, content)
	}
	return string(content)
}
