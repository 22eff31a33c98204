package check

import (
	"io"
	"strings"
)

// leastWidth is the width below which text is not wrapped any further.
const leastWidth = 50

// Write prints a line for each finding, and the remedy below it. No line is longer than the width,
// except for words that are; 0 means any length.
func Write(out io.Writer, findings []Finding, width int) error {
	subjects := 0
	for _, finding := range findings {
		subjects = max(subjects, len(finding.Subject))
	}
	const states = len(Problem)
	indent := states + 2 + subjects + 2
	room := 0
	if width > 0 {
		room = max(width, leastWidth) - indent
	}
	var text strings.Builder
	for _, finding := range findings {
		head := pad(string(finding.State), states) + "  " + pad(finding.Subject, subjects) + "  "
		writeWrapped(&text, head, indent, finding.Text, room)
		if finding.Remedy != "" {
			writeWrapped(&text, strings.Repeat(" ", indent)+"→ ", indent+2, finding.Remedy, room-2)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func pad(text string, width int) string { return text + strings.Repeat(" ", max(0, width-len(text))) }

// writeWrapped writes the text after the head, in lines of room characters that are indented alike.
func writeWrapped(out *strings.Builder, head string, indent int, text string, room int) {
	out.WriteString(head)
	used := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case room > 0 && used+1+len(word) > room:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			used = 0
		default:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used += len(word)
	}
	out.WriteByte('\n')
}
