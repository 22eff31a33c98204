package world_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// checked runs `whittle check` as the operator, and expects that nothing stands in the way of another
// deployment.
func checked(t *testing.T, w *world.World, cluster string) {
	program := commandLine(t)
	command := exec.CommandContext(t.Context(), program, "check", "-cluster", cluster, "-kubeconfig",
		w.ControlPlane.Kubeconfig, "-o", "json")
	command.Env = append(os.Environ(), w.Environment()...)
	command.Stderr = testWriter{t}
	text, err := command.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	var shown struct{ Findings []check.Finding }
	if err := json.Unmarshal(text, &shown); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	fine := 0
	for _, finding := range shown.Findings {
		switch finding.State {
		case check.OK:
			fine++
		case check.Unknown, check.Problem:
			t.Errorf("%+v", finding)
		case check.Warning: // no network plugin, and pools without limits
		}
	}
	if fine < 10 {
		t.Errorf("only %d findings are ok: %s", fine, text)
	}
}
