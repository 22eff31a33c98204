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

// Options control how a view is shown.
type Options struct {
	// Cluster is the cluster's name.
	Cluster string
	// NodePool is the only pool to show; empty for all.
	NodePool string
	// Theme is light or dark. Any other value follows the browser's preference.
	Theme string
	// Endpoint is the ARN of the function that buttons call. Without it there are no buttons.
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

// Render returns the view as HTML.
func (w *Widget) Render(shown *view.View, options Options) (string, error) {
	return w.execute(pageOf(shown, options))
}

// Failure returns the error as HTML.
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
