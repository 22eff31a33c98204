package clock

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The program prints the time for each line that it reads.
const program = `package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(time.Now().Unix(), time.Since(began) < time.Hour)
	}
}
`

func TestAProgramsClockIsSetWhileItRuns(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{"go.mod": "module shown\n\ngo 1.26\n", "shown/main.go": program} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Build(t.Context(), root, out, map[string]string{"shown": "./shown"}); err != nil {
		t.Fatal(err)
	}
	clock, err := Create(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = clock.Close() }()
	command := exec.CommandContext(t.Context(), filepath.Join(out, "shown"))
	command.Env = []string{clock.Setting()}
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	asked := func() (shown int64, measures bool) {
		if _, err := in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 64)
		n, err := said.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(string(line[:n]))
		shown, err = strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return shown, words[1] == "true"
	}
	for _, ahead := range []time.Duration{0, 3 * time.Hour, -30 * time.Second} {
		if err := clock.Set(ahead); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		seconds, measures := asked()
		after := time.Now()
		if least, most := before.Add(ahead).Unix(), after.Add(ahead).Unix(); seconds < least || seconds > most {
			t.Errorf("set %s ahead, the program says %d, want %d to %d", ahead, seconds, least, most)
		}
		// What measures time goes by the machine.
		if !measures {
			t.Errorf("set %s ahead, time.Since has passed with the clock", ahead)
		}
	}
	stands := time.Now().Add(-time.Hour)
	if err := clock.Stop(stands); err != nil {
		t.Fatal(err)
	}
	if seconds, measures := asked(); seconds != stands.Unix() || !measures {
		t.Errorf("the clock stands at %d, and the program says %d", stands.Unix(), seconds)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
}
