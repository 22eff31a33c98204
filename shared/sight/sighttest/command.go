package sighttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// Command builds the command line, and returns its path.
func Command(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whittle")
	build := exec.Command("go", "build", "-o", path, "github.com/whittle-dev/whittle/functions/console/whittle")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the command line: %v\n%s", err, output)
	}
	return path
}

// Ask runs the command line, and returns the JSON that it prints.
func Ask(t *testing.T, command string, arguments ...string) []byte {
	t.Helper()
	var out, problems bytes.Buffer
	run := exec.CommandContext(t.Context(), command, append(arguments, "-o", "json")...)
	run.Stdout, run.Stderr = &out, &problems
	if err := run.Run(); err != nil {
		t.Fatalf("whittle %q: %v\n%s", arguments, err, problems.String())
	}
	return out.Bytes()
}

// Comparable is a report without what differs from run to run: how long it took, and the age of prices.
func Comparable(t *testing.T, text []byte) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"seconds", "prices"} {
		if _, has := fields[key]; !has {
			t.Fatal(fmt.Errorf("the report has no field %q: %s", key, text))
		}
		delete(fields, key)
	}
	compared, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(compared)
}
