package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/whittle-dev/whittle/functions/console/report"
)

// styleOf is how to write to out: as wide as the terminal is and with colours, unless it
// is none or the person wants none (https://no-color.org).
func styleOf(out io.Writer) report.Style {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return report.Style{}
	}
	style := report.Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		style.Width = width
	}
	return style
}
