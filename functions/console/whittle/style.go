package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/terminal"
)

// styleOf returns the style for out: the terminal's width, and colours unless out is no terminal or
// the user wants none (https://no-color.org).
func styleOf(out io.Writer) terminal.Style {
	if safe, ok := out.(*printable.Writer); ok {
		out = safe.Out
	}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return terminal.Style{}
	}
	style := terminal.Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		style.Width = width
	}
	return style
}
