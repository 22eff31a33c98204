package dashboard

import (
	"bytes"
	"context"
	_ "embed" // of the page and its script
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
)

// Path is where the page is, on the server that it is mounted on.
const Path = "/console/"

// maximumEvent limits the page's requests, which are a button's parameters.
const maximumEvent = 64 << 10

//go:embed page.html
var page string

//go:embed page.js
var script []byte

// Invoke calls the console function with an event and returns its answer. A failure of the function
// is an error.
type Invoke func(ctx context.Context, event []byte) ([]byte, error)

// Handler serves the page below Path.
func Handler(cluster string, invoke Invoke) (http.Handler, error) {
	parsed, err := template.New("page").Parse(page)
	if err != nil {
		return nil, fmt.Errorf("parsing the dashboard's page: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path+"{$}", func(w http.ResponseWriter, r *http.Request) {
		widget, err := ask(r.Context(), invoke, nil)
		if err != nil {
			widget = template.HTML("<p>" + template.HTMLEscapeString(err.Error()) + "</p>")
		}
		var out bytes.Buffer
		if err := parsed.Execute(&out, map[string]any{"Cluster": cluster, "Widget": widget}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(w, "text/html; charset=utf-8", out.Bytes())
	})
	mux.HandleFunc("GET "+Path+"page.js", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, "text/javascript; charset=utf-8", script)
	})
	mux.HandleFunc("POST "+Path+"widget", func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maximumEvent))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		widget, err := ask(r.Context(), invoke, event)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		answer(w, "text/html; charset=utf-8", []byte(widget))
	})
	return mux, nil
}

// answer sends the content. Like CloudWatch the page runs no script of the widget's.
func answer(w http.ResponseWriter, contentType string, content []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; base-uri 'none'; "+
			"form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(content) // fails only if the client is gone
}

// ask calls the function with a button's parameters, if any, and CloudWatch's context
// beside them. Without a theme there the widget takes the browser's.
func ask(ctx context.Context, invoke Invoke, parameters []byte) (template.HTML, error) {
	event := map[string]any{}
	if len(parameters) > 0 {
		if err := json.Unmarshal(parameters, &event); err != nil {
			return "", fmt.Errorf("the parameters %.100q are no JSON object: %w", parameters, err)
		}
	}
	event["widgetContext"] = map[string]any{
		"dashboardName": "local", "widgetId": "widget-1", "locale": "en", "forms": map[string]any{"all": map[string]any{}},
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return "", fmt.Errorf("encoding the event: %w", err)
	}
	answer, err := invoke(ctx, payload)
	if err != nil {
		return "", err
	}
	var widget string
	if err := json.Unmarshal(answer, &widget); err != nil {
		return "", errors.New("the function answered with something else than a string")
	}
	return template.HTML(widget), nil
}
