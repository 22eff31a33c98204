package report

import (
	"strings"
	"unicode/utf8"
)

// Style is the layout of text on a terminal.
type Style struct {
	// Width is the number of characters in a line; zero means no limit.
	Width int
	// Color reports whether the output supports colours.
	Color bool
}

// color is the number of a colour in ECMA-48 escape sequences.
type color string

const (
	plain  color = ""
	bold   color = "1"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	dim    color = "2"
)

func (s Style) paint(c color, text string) string {
	if !s.Color || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// cell is one cell of a table.
type cell struct {
	text  string
	color color
	// right aligns the text to the right, as for numbers.
	right bool
}

// gap separates columns.
const gap = "  "

// table lays out rows in columns. It cuts the last column to the width.
func (s Style) table(rows [][]cell) string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		used := 0
		for i, c := range row {
			if i > 0 {
				text.WriteString(gap)
				used += len(gap)
			}
			last := i == len(row)-1
			shown := c.text
			if last && !c.right && s.Width > 0 {
				shown = cut(shown, s.Width-used)
			}
			padding := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(shown), 0))
			switch {
			case c.right:
				text.WriteString(padding + s.paint(c.color, shown))
			case last:
				text.WriteString(s.paint(c.color, shown))
			default:
				text.WriteString(s.paint(c.color, shown) + padding)
			}
			used += widths[i]
		}
		text.WriteString("\n")
	}
	return text.String()
}

// width returns the width of the rows.
func width(rows [][]cell) int {
	s := Style{}
	widest := 0
	for line := range strings.Lines(s.table(rows)) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return widest
}

// cut shortens a text to a number of characters.
func cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(length-1, 0)]) + "…"
}

// minimumWrap is the shortest line of wrapped text, even on a narrower output.
const minimumWrap = 30

// wrap breaks a text into indented lines that fit the width.
func (s Style) wrap(text, first, indent string) string {
	if s.Width == 0 {
		return first + text + "\n"
	}
	room := max(s.Width-utf8.RuneCountInString(indent), minimumWrap)
	var lines strings.Builder
	line, prefix := "", first
	flush := func() {
		lines.WriteString(prefix + line + "\n")
		line, prefix = "", indent
	}
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	flush()
	return lines.String()
}

// blocks are one to seven eighths of a block.
var blocks = [...]string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar draws a fraction from 0 to 1 with a number of characters.
func bar(part float64, length int) string {
	eighths := int(min(max(part, 0), 1)*float64(length*8) + 0.5)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += blocks[rest-1]
	}
	return text + strings.Repeat("░", length-utf8.RuneCountInString(text))
}
