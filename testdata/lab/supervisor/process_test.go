package supervisor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/supervisor"
)

// TestAProgramIsKeptRunning has a program that exits, and then one that runs until it is stopped.
func TestAProgramIsKeptRunning(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	says := func(want string) bool {
		content, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(content), want)
	}
	// The second start finds the file that the first one leaves.
	running := supervisor.Start(supervisor.Options{
		Binary: "/bin/sh", Log: log, Environment: []string{"GREETING=hello"},
		Arguments: []string{"-c", `if [ -e seen ]; then echo "$GREETING again"; exec sleep 600; fi; touch seen; exit 3`},
	})
	for end := time.Now().Add(time.Minute); !says("hello again"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the program was not started again within a minute")
		}
	}
	if restarts, err := running.Restarts(); restarts != 1 || err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%d restarts, the last exit was %v", restarts, err)
	}
	running.Stop()
	if restarts, _ := running.Restarts(); restarts != 1 {
		t.Errorf("%d restarts after the end", restarts)
	}
}
