package kubernetes

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestReportGivesSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var output strings.Builder
		report := startReport(&output, "waiting")
		time.Sleep(reportInterval + time.Second)
		report.say("building")
		listing := &packageListing{}
		report.setStageFunc(func() string { return strings.Repeat("*", listing.count()) })
		for _, piece := range []string{"errors\nunicode/u", "tf8\n# example.com/a\na.go:1:2: undefined: b\nio\n"} {
			if n, err := listing.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Errorf("writing gave %d, %v", n, err)
			}
		}
		time.Sleep(reportInterval)
		report.close()
		want := "control plane: waiting, 10s so far\ncontrol plane: building\ncontrol plane: ***, 20s so far\n"
		if output.String() != want {
			t.Errorf("it told\n%snot\n%s", output.String(), want)
		}
		if want := "# example.com/a\na.go:1:2: undefined: b\n"; listing.messages() != want {
			t.Errorf("the messages are %q, not %q", listing.messages(), want)
		}
	})
}
