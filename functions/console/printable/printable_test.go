package printable_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"

	"github.com/whittle-dev/whittle/functions/console/printable"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"EC2: Run, https response error StatusCode: 403, RequestID: 5f8d-1, api error X: no": "EC2: Run, api error X: no",
		"two\n lines\tand a tab":          "two lines and a tab",
		"\x1b[2J\x1b]0;title\aready":      "[2J]0;titleready",
		"\u009b31mred\u202ereversed\x7f":  "31mredreversed",
		"Größe µ € 漢字 is text of its own": "Größe µ € 漢字 is text of its own",
	} {
		if got := printable.Line(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestWriter(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n":                       "a\tb\n",
		"\x1b[1mbold\x1b[0m":           "\x1b[1mbold\x1b[0m",
		"\x1b[8mhidden":                `\u001b[8mhidden`,
		"\x1b]52;c;clip\a\rover":       `\u001b]52;c;clip\u0007\u000dover`,
		"\u009b2J\u202eabc":            `\u009b2J\u202eabc`,
		"Größe 漢字":                     "Größe 漢字",
		"\x9b2J":                       "\ufffd2J",
		"ends in an escape \x1b[3":     `ends in an escape \u001b[3`,
		"ends in half a char \xe6\xbc": "ends in half a char \ufffd\ufffd",
	} {
		for _, step := range []int{1, 2, len(text)} {
			var out bytes.Buffer
			w := printable.NewWriter(&out)
			for rest := []byte(text); len(rest) > 0; rest = rest[min(step, len(rest)):] {
				if n, err := w.Write(rest[:min(step, len(rest))]); err != nil || n != min(step, len(rest)) {
					t.Fatal(n, err)
				}
			}
			if err := w.Flush(); err != nil || out.String() != want {
				t.Errorf("%q in steps of %d became %q, want %q", text, step, out.String(), want)
			}
		}
	}
}

// FuzzWriter looks for a control character that gets through, and for JSON that changes.
func FuzzWriter(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\u009b\u2066")
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		w := printable.NewWriter(&out)
		if err := json.NewEncoder(w).Encode(text); err != nil {
			t.Fatal(err)
		}
		var again string
		if err := json.Unmarshal(out.Bytes(), &again); err != nil || again != string([]rune(text)) {
			t.Errorf("%q became %q: %v", text, again, err)
		}
		for _, r := range out.String() {
			if unicode.IsControl(r) && r != '\n' {
				t.Errorf("%q: the output %q has %U", text, out.String(), r)
			}
		}
	})
}
