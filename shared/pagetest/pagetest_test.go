package pagetest_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/pagetest"
)

func TestCommandsOfAPage(t *testing.T) {
	page := "Run `make test` or\n\n```\nmake run     # the main job\nmake help > file\n  make a | b\nremake nothing\n```\n"
	if got, want := pagetest.Commands(page, "make"), []string{"test", "run", "help", "a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPagesAreReadByTheirPaths(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"README.md", "a/b.md", "a/code.go", "build/c.md"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := pagetest.Read(root)
	if err != nil || len(pages) != 2 || pages["README.md"] != "README.md" || pages["a/b.md"] != "a/b.md" {
		t.Errorf("%v, %v", pages, err)
	}
	if _, err := pagetest.Read(filepath.Join(root, "none")); err == nil {
		t.Error("a folder that does not exist has no pages")
	}
}
