// Package widget writes the view of a cluster as the HTML of a CloudWatch custom
// widget: no script, its styles with it, in light and in dark. What comes from the
// cluster is escaped.
package widget

import (
	_ "embed" // of the template and its styles
	"fmt"
	"html/template"
	"strings"

	"github.com/whittle-dev/whittle/functions/console/view"
)

//go:embed widget.html
var markup string

//go:embed widget.css
var styles string

// Options say how a view is shown.
type Options struct {
	// Cluster is its name.
	Cluster string
	// NodePool is the only pool to show; empty for all.
	NodePool string
	// Theme is light or dark; with any other the browser's preference decides.
	Theme string
	// Endpoint is the ARN of the function that a button calls; without one there are no buttons.
	Endpoint string
}

// Widget renders views.
type Widget struct {
	template *template.Template
}

// New parses the template.
func New() (*Widget, error) {
	parsed, err := template.New("widget").Parse(markup)
	if err != nil {
		return nil, fmt.Errorf("parsing the widget's template: %w", err)
	}
	return &Widget{template: parsed}, nil
}

// Render writes the view.
func (w *Widget) Render(shown *view.View, options Options) (string, error) {
	return w.execute(pageOf(shown, options))
}

// Failure writes why there is no view.
func (w *Widget) Failure(failure error, options Options) (string, error) {
	return w.execute(page{Options: options, Failure: failure.Error()})
}

func (w *Widget) execute(shown page) (string, error) {
	shown.Styles = template.CSS(styles)
	if shown.Theme != "light" && shown.Theme != "dark" {
		shown.Theme = "auto"
	}
	var out strings.Builder
	if err := w.template.Execute(&out, shown); err != nil {
		return "", fmt.Errorf("writing the widget: %w", err)
	}
	return out.String(), nil
}
