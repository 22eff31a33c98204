package dashboard_test

import (
	"os"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/widget"
)

func TestLook(t *testing.T) {
	w, err := widget.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range clusters() {
		var html string
		options := widget.Options{Cluster: "prod", Endpoint: "arn:aws:lambda:us-east-1:123456789012:function:whittle-prod-console"}
		if shown == nil {
			html, err = w.Failure(errUnreachable, options)
		} else {
			html, err = w.Render(shown, options)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name, len(html))
		os.WriteFile("/tmp/console-work/html/"+name+".html", []byte(html), 0o644)
	}
}
