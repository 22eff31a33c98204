// Package terminal lays out text on a terminal: tables, wrapped text, bars and colours.
package terminal

import (
	"slices"
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

// Color is the number of a colour in ECMA-48 escape sequences.
type Color string

const (
	Plain  Color = ""
	Bold   Color = "1"
	Red    Color = "31"
	Green  Color = "32"
	Yellow Color = "33"
	Dim    Color = "2"
)

// Paint colours a text where the output supports it.
func (s Style) Paint(c Color, text string) string {
	if !s.Color || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Cell is one cell of a table.
type Cell struct {
	Text  string
	Color Color
	// Right aligns the text to the right, as for numbers.
	Right bool
}

// Header returns the first row of a table. A name after > is aligned to the right.
func Header(names ...string) []Cell {
	row := make([]Cell, len(names))
	for i, name := range names {
		plainName, right := strings.CutPrefix(name, ">")
		row[i] = Cell{Text: plainName, Color: Bold, Right: right}
	}
	return row
}

// gap separates columns.
const gap = "  "

// Table lays out rows in columns. It cuts the last column to the width.
func (s Style) Table(rows [][]Cell) string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
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
			shown := c.Text
			if last && !c.Right && s.Width > 0 {
				shown = Cut(shown, s.Width-used)
			}
			padding := strings.Repeat(" ", max(widths[i]-utf8.RuneCountInString(shown), 0))
			switch {
			case c.Right:
				text.WriteString(padding + s.Paint(c.Color, shown))
			case last:
				text.WriteString(s.Paint(c.Color, shown))
			default:
				text.WriteString(s.Paint(c.Color, shown) + padding)
			}
			used += widths[i]
		}
		text.WriteString("\n")
	}
	return text.String()
}

// Fit lays out rows as Table does. While they are wider than the output, it leaves out the optional
// columns, which are numbered from 0, one after the other.
func (s Style) Fit(rows [][]Cell, optional ...int) string {
	for i := 0; s.Width > 0 && i < len(optional) && minimum(rows) > s.Width; i++ {
		gone := optional[i]
		for _, earlier := range optional[:i] {
			if earlier < gone {
				gone--
			}
		}
		fewer := make([][]Cell, len(rows))
		for j, row := range rows {
			fewer[j] = row
			if gone < len(row) {
				fewer[j] = slices.Delete(slices.Clone(row), gone, gone+1)
			}
		}
		rows = fewer
	}
	if over := minimum(rows) - s.Width; s.Width > 0 && over > 0 {
		rows = shorterNames(rows, over)
	}
	return s.Table(rows)
}

// leastName is the width to which the first column may be cut.
const leastName = 12

// shorterNames cuts the first column by a number of characters, as far as its names stay readable.
func shorterNames(rows [][]Cell, by int) [][]Cell {
	widest := 0
	for _, row := range rows {
		if len(row) > 0 {
			widest = max(widest, utf8.RuneCountInString(row[0].Text))
		}
	}
	shorter := make([][]Cell, len(rows))
	for i, row := range rows {
		shorter[i] = slices.Clone(row)
		if len(row) > 0 {
			shorter[i][0].Text = Cut(row[0].Text, max(widest-by, leastName))
		}
	}
	return shorter
}

// leastLast is the width to which the last column may be cut.
const leastLast = 20

// minimum returns the width of the rows with their last column cut.
func minimum(rows [][]Cell) int {
	short := make([][]Cell, len(rows))
	for i, row := range rows {
		short[i] = slices.Clone(row)
		if last := len(row) - 1; last >= 0 && !row[last].Right {
			short[i][last].Text = Cut(row[last].Text, leastLast)
		}
	}
	return Width(short)
}

// Width returns the width of the rows.
func Width(rows [][]Cell) int {
	s := Style{}
	widest := 0
	for line := range strings.Lines(s.Table(rows)) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return widest
}

// Cut shortens a text to a number of characters.
func Cut(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	if length <= 0 {
		return ""
	}
	return string([]rune(text)[:length-1]) + "…"
}

// minimumWrap is the shortest line of wrapped text, even on a narrower output.
const minimumWrap = 30

// Wrap breaks a text into indented lines that fit the width.
func (s Style) Wrap(text, first, indent string) string {
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

// Bar draws a fraction from 0 to 1 with a number of characters.
func Bar(part float64, length int) string {
	eighths := int(min(max(part, 0), 1)*float64(length*8) + 0.5)
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += blocks[rest-1]
	}
	return text + strings.Repeat("░", length-utf8.RuneCountInString(text))
}
