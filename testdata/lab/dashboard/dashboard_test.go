package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/dashboard"
)

// echo is a function that answers with its event in a widget.
func echo(_ context.Context, event []byte) ([]byte, error) {
	return json.Marshal("<b>" + string(event) + "</b>")
}

func serve(t *testing.T, invoke dashboard.Invoke) string {
	t.Helper()
	handler, err := dashboard.Handler("prod & more", invoke)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + dashboard.Path
}

// ask returns the answer's status, header and body.
func ask(t *testing.T, method, url, body string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(content)
}

func TestThePageHoldsTheWidget(t *testing.T) {
	url := serve(t, echo)
	status, header, page := ask(t, http.MethodGet, url, "")
	for _, part := range []string{
		"<title>Whittle · prod &amp; more</title>", `<main id="widget"><b>{`, `"widgetContext"`, `<script src="page.js">`,
	} {
		if status != http.StatusOK || !strings.Contains(page, part) {
			t.Errorf("%d, lacks %q:\n%s", status, part, page)
		}
	}
	// The widget's content may have styles and no scripts.
	policy := header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self'") ||
		strings.Contains(policy, "script-src 'self' 'unsafe-inline'") {
		t.Errorf("policy %q", policy)
	}
	if status, header, script := ask(t, http.MethodGet, url+"page.js", ""); status != http.StatusOK ||
		!strings.HasPrefix(header.Get("Content-Type"), "text/javascript") || script == "" {
		t.Errorf("page.js: %d %q", status, header.Get("Content-Type"))
	}
}

func TestAButtonsParametersReachTheFunction(t *testing.T) {
	status, _, widget := ask(t, http.MethodPost, serve(t, echo)+"widget",
		`{"nodePool": "gpu", "widgetContext": {"theme": "made up"}}`)
	if status != http.StatusOK || !strings.Contains(widget, `"nodePool":"gpu"`) || strings.Contains(widget, "made up") {
		t.Errorf("%d %s", status, widget)
	}
}

func TestFailuresAreShown(t *testing.T) {
	fails := serve(t, func(context.Context, []byte) ([]byte, error) { return nil, errors.New("the <function> failed") })
	number := serve(t, func(context.Context, []byte) ([]byte, error) { return []byte("7"), nil })
	for _, test := range []struct {
		name, method, url, body string
		status                  int
		want                    string
	}{
		{"the function, in the page", http.MethodGet, fails, "", http.StatusOK, "the &lt;function&gt; failed"},
		{"the function", http.MethodPost, fails + "widget", "{}", http.StatusBadGateway, "the <function> failed"},
		{"its answer", http.MethodPost, number + "widget", "", http.StatusBadGateway, "something else than a string"},
		{"no JSON", http.MethodPost, number + "widget", "{", http.StatusBadGateway, "no JSON object"},
		{"too much", http.MethodPost, number + "widget", strings.Repeat(" ", 100<<10), http.StatusBadRequest, "too large"},
		{"no such page", http.MethodGet, number + "nowhere", "", http.StatusNotFound, ""},
		{"not to be written", http.MethodPut, number, "", http.StatusMethodNotAllowed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, _, body := ask(t, test.method, test.url, test.body)
			if status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %q, want %d with %q", status, body, test.status, test.want)
			}
		})
	}
}
