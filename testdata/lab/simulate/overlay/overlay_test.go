package overlay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/simulate/overlay"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/planted"
)

func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// written returns the overlay's files by what they replace.
func written(t *testing.T, more ...overlay.Replacement) map[string]string {
	t.Helper()
	list, err := overlay.Write(root(t), t.TempDir(), more...)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var files struct{ Replace map[string]string }
	if err := json.Unmarshal(content, &files); err != nil {
		t.Fatal(err)
	}
	return files.Replace
}

// TestOnlyGoItselfIsChanged keeps replacements of Whittle's own source out of the simulation.
func TestOnlyGoItselfIsChanged(t *testing.T) {
	files := written(t)
	if len(files) == 0 {
		t.Error("nothing is changed")
	}
	for file := range files {
		if strings.HasPrefix(file, root(t)+string(filepath.Separator)) {
			t.Errorf("%s is changed", file)
		}
	}
}

// TestPlantedFaultsAreUpToDate finds a planted fault whose place in the product has changed.
func TestPlantedFaultsAreUpToDate(t *testing.T) {
	for _, fault := range planted.Faults() {
		t.Run(fault.Name, func(t *testing.T) { written(t, fault.Replacements...) })
	}
}

func TestATextThatIsNotThereIsAnError(t *testing.T) {
	gone := overlay.Replacement{File: "shared/queue/queue.go", Old: "no such text", New: ""}
	_, err := overlay.Write(root(t), t.TempDir(), gone)
	if err == nil || !strings.Contains(err.Error(), "no such text") {
		t.Errorf("error is %v", err)
	}
}
