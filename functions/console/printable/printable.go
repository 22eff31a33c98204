// Package printable keeps the text of others from steering a terminal. Events, conditions, names and
// annotations may hold escape sequences that hide lines, change what a person sees, or answer for
// them.
package printable

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// requestID is the part of an AWS error that only AWS's support can use. Logs keep it.
var requestID = regexp.MustCompile(`(https response error )?StatusCode: \d+, RequestID: [0-9A-Za-z-]*,? ?`)

// Line returns the text in one line without control characters and ids of requests. Runs of white space become
// one space.
func Line(text string) string {
	strip := func(r rune) rune {
		if isControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}
	return requestID.ReplaceAllString(strings.Join(strings.Fields(strings.Map(strip, text)), " "), "")
}

// Short returns at most so many characters of a text. A sign tells that there is more.
func Short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// isControl reports whether the rune steers a terminal: a control character of C0 or C1, or one
// that changes the direction of text.
func isControl(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Writer writes text to Out and shows each control character as \u followed by its number, which
// is also how JSON writes it. Tabs, line ends and the colours of package report pass.
type Writer struct {
	Out io.Writer
	// rest is the beginning of a character or of a colour.
	rest []byte
}

// NewWriter returns a writer for the output of a command. The caller calls Flush at the end.
func NewWriter(out io.Writer) *Writer { return &Writer{Out: out} }

// Write writes everything but an unfinished character at the end, which the next call continues.
func (w *Writer) Write(text []byte) (int, error) {
	w.rest = append(w.rest, text...)
	return len(text), w.write(false)
}

// Flush writes what an unfinished character left.
func (w *Writer) Flush() error { return w.write(true) }

func (w *Writer) write(all bool) error {
	var safe bytes.Buffer
	for len(w.rest) > 0 {
		length, unfinished := color(w.rest)
		if length == 0 {
			unfinished = unfinished || !utf8.FullRune(w.rest)
		}
		if unfinished && !all {
			break
		}
		if length == 0 {
			length = character(&safe, w.rest)
		} else {
			safe.Write(w.rest[:length])
		}
		w.rest = w.rest[length:]
	}
	w.rest = bytes.Clone(w.rest)
	_, err := w.Out.Write(safe.Bytes())
	return err
}

// character writes the first character of the text and returns its length.
func character(safe *bytes.Buffer, text []byte) int {
	r, length := utf8.DecodeRune(text)
	if isControl(r) && r != '\n' && r != '\t' {
		fmt.Fprintf(safe, `\u%04x`, r)
	} else {
		safe.WriteRune(r)
	}
	return length
}

// color returns the length of the colour at the beginning of the text. Unfinished says that the
// text may be the beginning of one.
func color(text []byte) (length int, unfinished bool) {
	for _, code := range []string{"0", "1", "2", "31", "32", "33"} {
		sequence := []byte("\x1b[" + code + "m")
		if bytes.HasPrefix(text, sequence) {
			return len(sequence), false
		}
		unfinished = unfinished || bytes.HasPrefix(sequence, text)
	}
	return 0, unfinished
}
