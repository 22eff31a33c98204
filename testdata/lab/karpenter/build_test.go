package karpenter_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/karpenter"
)

// The definitions of both versions are those of their own modules.
func TestDefinitionsOfEachVersion(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for version, want := range map[string]string{"": "@v1.15.", karpenter.Newest: "@v1.15.", "1.14": "@v1.14."} {
		files, err := karpenter.Definitions(t.Context(), root, version)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.Contains(file, want) {
				t.Errorf("version %q has the definition %s, want one of %s", version, file, want)
			}
		}
	}
}

func TestAnUnknownVersionNamesTheKnownOnes(t *testing.T) {
	_, err := karpenter.Definitions(t.Context(), filepath.Join("..", "..", ".."), "0.37")
	if err == nil || !strings.Contains(err.Error(), `"0.37"`) || !strings.Contains(err.Error(), "1.14, 1.15") {
		t.Errorf("the error is %v, want one that names 0.37, and 1.14 and 1.15", err)
	}
}
