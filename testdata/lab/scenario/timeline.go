package scenario

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Timeline prints events as they happen, with the seconds since its start.
type Timeline struct {
	out   io.Writer
	start time.Time

	mutex sync.Mutex
	lines []Line
}

// Line is one event.
type Line struct {
	At   time.Duration // since the start
	What string        // one word: pending, launched, running ...
	Text string
}

// NewTimeline starts a timeline that prints to out.
func NewTimeline(out io.Writer) *Timeline {
	return &Timeline{out: out, start: time.Now()}
}

// Add prints a line.
func (t *Timeline) Add(what, format string, arguments ...any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	line := Line{At: time.Since(t.start), What: what, Text: fmt.Sprintf(format, arguments...)}
	t.lines = append(t.lines, line)
	_, _ = fmt.Fprintf(t.out, "%6.1fs  %-12s %s\n", line.At.Seconds(), line.What, line.Text)
}

// Lines returns the lines so far.
func (t *Timeline) Lines() []Line {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return append([]Line(nil), t.lines...)
}
