package day

import (
	"strings"
	"testing"
	"time"
)

func TestTheTableSaysWhoIsAhead(t *testing.T) {
	first := Figures{Dollars: 0.5, PendingWorst: time.Second, Limited: 3, Renewed: Renewal{Took: time.Minute, Left: 1}}
	second := Figures{Dollars: 0.4, PendingWorst: 2 * time.Second, Limited: 4, Renewed: Renewal{Took: time.Hour}}
	var out strings.Builder
	if err := Write(&out, [2]string{"Karpenter", "Whittle"}, [2]Figures{first, second}); err != nil {
		t.Fatal(err)
	}
	for text, ahead := range map[string]string{
		"price of": "Whittle", "99th": "Karpenter", "that run": "Whittle", "open pool": "Whittle", "calls to AWS": "equal",
	} {
		if !strings.Contains(out.String(), text) {
			t.Fatalf("the table lacks %q:\n%s", text, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, text) && !strings.HasSuffix(strings.TrimSpace(line), ahead) {
				t.Errorf("%q is ahead in the row %q", ahead, line)
			}
		}
	}
}
