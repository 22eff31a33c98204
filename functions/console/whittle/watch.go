package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/whittle-dev/whittle/functions/console/live"
	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/functions/console/view"
)

// refreshEvery is the time between two readings of status -watch.
const refreshEvery = 2 * time.Second

// errNoTerminal says that nobody could see the live view.
var errNoTerminal = errors.New("-watch needs a terminal: leave it out")

// The sequences of ECMA-48 and xterm that the live view writes.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // another screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	topLeft     = "\x1b[H"
	clearRest   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// reading is a view, or why there is none.
type reading struct {
	view *view.View
	err  error
}

// watching is what the live view reads, and how it begins.
type watching struct {
	read func(context.Context) (*view.View, error)
	// explain explains a node or claim in words for the style.
	explain func(ctx context.Context, name string, style terminal.Style) (string, error)
	model   live.Model
}

// explained is the explanation of a node.
type explained struct{ name, text string }

// watchStatus shows the live view until a key or the context ends it. The terminal is then as before.
func watchStatus(ctx context.Context, w watching, in io.Reader, out io.Writer) error {
	keyboard, screen, err := terminalOf(in, out)
	if err != nil {
		return err
	}
	before, err := term.MakeRaw(int(keyboard.Fd()))
	if err != nil {
		return fmt.Errorf("preparing the terminal: %w", err)
	}
	defer func() {
		fmt.Fprint(screen, leaveScreen)
		_ = term.Restore(int(keyboard.Fd()), before)
	}()
	fmt.Fprint(screen, enterScreen)

	keys, readings, explanations := make(chan string), make(chan reading, 1), make(chan explained)
	go readKeys(ctx, keyboard, keys)
	begin := func() {
		made, err := w.read(ctx)
		readings <- reading{made, err}
	}
	go begin()
	model := w.model
	var shown reading
	next := time.NewTimer(refreshEvery)
	defer next.Stop()
	reads := true
	for {
		if err := draw(screen, model, shown); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case key := <-keys:
			var ask live.Ask
			if model, ask = model.Key(key, shown.view); ask.Quit {
				return nil
			}
			if ask.Explain != "" {
				go w.tell(ctx, ask.Explain, styleOf(screen), explanations)
			}
		case got := <-explanations:
			model = model.Explained(got.name, got.text)
		case got := <-readings:
			if got.view == nil {
				got.view = shown.view // the last one, which draw calls old
			}
			shown, reads = got, false
			next.Reset(refreshEvery)
		case <-next.C:
			if !reads {
				reads = true
				go begin()
			}
		}
	}
}

// tell sends the explanation of a node, or why there is none.
func (w *watching) tell(ctx context.Context, name string, style terminal.Style, to chan<- explained) {
	style.Color = false // the screen cuts lines
	text, err := w.explain(ctx, name, style)
	if err != nil {
		text = style.Wrap("it cannot be explained: "+printable.Line(oneLine(err)), "", "  ")
	}
	select {
	case to <- explained{name, text}:
	case <-ctx.Done():
	}
}

// terminalOf returns the terminal that both streams belong to.
func terminalOf(in io.Reader, out io.Writer) (keyboard, screen *os.File, err error) {
	if safe, ok := out.(*printable.Writer); ok {
		out = safe.Out
	}
	keyboard, readable := in.(*os.File)
	screen, writable := out.(*os.File)
	if !readable || !writable || !term.IsTerminal(int(keyboard.Fd())) || !term.IsTerminal(int(screen.Fd())) {
		return nil, nil, errNoTerminal
	}
	return keyboard, screen, nil
}

// draw writes the whole screen at once, so that it does not flicker.
func draw(screen *os.File, model live.Model, shown reading) error {
	width, height, err := term.GetSize(int(screen.Fd()))
	if err != nil {
		return fmt.Errorf("asking for the terminal's size: %w", err)
	}
	style, problem := styleOf(screen), ""
	style.Width = width
	if shown.err != nil {
		problem = printable.Line(oneLine(shown.err))
	}
	var text strings.Builder
	text.WriteString(topLeft)
	lines := model.Lines(shown.view, problem, style, height)
	for i, line := range lines {
		text.WriteString(line + clearRest)
		if i < len(lines)-1 {
			text.WriteString("\r\n")
		}
	}
	text.WriteString(clearBelow)
	_, err = io.WriteString(screen, text.String())
	return err
}

// readKeys sends the keys of a raw terminal, until nobody wants them or the terminal is gone.
func readKeys(ctx context.Context, keyboard io.Reader, keys chan<- string) {
	buffer := make([]byte, 64)
	for ctx.Err() == nil {
		n, err := keyboard.Read(buffer)
		if err != nil {
			return
		}
		for _, key := range keysOf(string(buffer[:n])) {
			select {
			case keys <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}

// keysOf names the keys of what a terminal sent at once.
func keysOf(text string) []string {
	named := []struct{ sent, name string }{
		{"\x1b[A", "up"}, {"\x1b[B", "down"}, {"\x1bOA", "up"}, {"\x1bOB", "down"}, {"\x1b", "escape"}, {"\r", "enter"},
		{"\n", "enter"}, {"\x7f", "backspace"}, {"\b", "backspace"}, {"\x03", "ctrl-c"},
	}
	var keys []string
next:
	for text != "" {
		for _, one := range named {
			if rest, ok := strings.CutPrefix(text, one.sent); ok {
				keys, text = append(keys, one.name), rest
				continue next
			}
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		if r >= ' ' {
			keys = append(keys, string(r))
		}
	}
	return keys
}
