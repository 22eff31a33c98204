package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screenOf collects what a program writes to its terminal.
type screenOf struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *screenOf) read(terminal *os.File) {
	buffer := make([]byte, 4096)
	for {
		n, err := terminal.Read(buffer)
		s.mutex.Lock()
		s.text.Write(buffer[:n])
		s.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits until the last screen is as wanted.
func (s *screenOf) wait(t *testing.T, what string, is func(screen string) bool) {
	t.Helper()
	for range 300 {
		s.mutex.Lock()
		text := s.text.String()
		s.mutex.Unlock()
		if is(text[max(strings.LastIndex(text, topLeft), 0):]) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%s: the screen is %q", what, s.text.String())
}

// watchInTerminal drives the command in a pseudo-terminal, as a person does.
func watchInTerminal(t *testing.T, kubeconfig string) {
	binary := filepath.Join(t.TempDir(), "whittle")
	if text, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	command := exec.CommandContext(t.Context(), binary, "status", "-watch", "-kubeconfig", kubeconfig)
	command.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Rows: 20, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	screen := &screenOf{}
	go screen.read(terminal)
	press := func(keys string) {
		if _, err := terminal.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	has := func(part string) func(string) bool {
		return func(screen string) bool { return strings.Contains(screen, part) }
	}
	screen.wait(t, "the nodes", has("general-1"))
	screen.wait(t, "the sum", has("1 nodes, 1 joining, 0 leaving; $"))
	press("\r")
	screen.wait(t, "an explanation", has("Why does it exist?"))
	screen.wait(t, "its keys", has("escape back"))
	press("\x1b")
	screen.wait(t, "the nodes again", has("1 nodes, 1 joining"))
	press("p")
	screen.wait(t, "sorted by price", has("[p price]"))
	press("/nothing\r")
	screen.wait(t, "a filter", func(screen string) bool { return !strings.Contains(screen, "general-1") })
	press("\x1b")
	screen.wait(t, "no filter", has("general-1"))
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 8, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	press("n")
	screen.wait(t, "a smaller screen", func(screen string) bool {
		return strings.Count(screen, "\r\n") < 8 && strings.Contains(screen, "[n name]") == false && has("general-1")(screen)
	})
	press("q")
	if err := command.Wait(); err != nil {
		t.Errorf("quitting: %v", err)
	}
	screen.wait(t, "the screen of before", has(leaveScreen))
}

func TestWatchNeedsATerminal(t *testing.T) {
	err := watchStatus(t.Context(), watching{}, strings.NewReader(""), &bytes.Buffer{})
	if !errors.Is(err, errNoTerminal) {
		t.Errorf("%v", err)
	}
}

func TestKeysOf(t *testing.T) {
	for sent, want := range map[string][]string{
		"q": {"q"}, "\x1b[A\x1b[Bj": {"up", "down", "j"}, "/é\x7f\r": {"/", "é", "backspace", "enter"}, "\x1b": {"escape"},
		"\x03": {"ctrl-c"}, "\x00\x01": nil,
	} {
		if got := keysOf(sent); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", sent, got, want)
		}
	}
}
