package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/infra/signature"
)

// TestARebuildComparesEveryFile makes a release of a small repository, and makes it again.
func TestARebuildComparesEveryFile(t *testing.T) {
	const makefile = "release:\n\tmkdir -p build/release/1\n\tcp a build/release/1/\n" +
		"\tsed s/COMMIT/$$(git rev-parse HEAD)/ template >build/release/1/provenance.json\n"
	t.Chdir(files(t, map[string]string{"a": "one", "Makefile": makefile, ".gitignore": "/build\n", "go.mod": "", "go.sum": ""}))
	template, err := provenance(t.TempDir(), nil, source{commit: "COMMIT"}, runtime.Version())
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, arguments ...string) {
		t.Helper()
		if text, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, arguments, err, text)
		}
	}
	write("template", template)
	run("git", "init", "-q")
	run("git", "add", ".")
	run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "commit", "-qm", "a")
	run("make", "release")
	release := filepath.Join("build", "release", "1")
	summed := func() {
		t.Helper()
		all, err := sums(release)
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(release, signature.SumsName), []byte(all))
	}
	summed()
	if err := rebuild(release); err != nil {
		t.Errorf("a release as it was made: %v", err)
	}
	write(filepath.Join(release, "a"), []byte("two"))
	if err := rebuild(release); err == nil || !strings.Contains(err.Error(), "does not list the files as they are") {
		t.Errorf("a changed file: %v", err)
	}
	summed()
	if err := rebuild(release); err == nil || !strings.Contains(err.Error(), "\na has the sum") ||
		strings.Contains(err.Error(), provenanceName) {
		t.Errorf("a file that the commit does not give, and its sum: %v", err)
	}
	if from, err := readSource(); err != nil || from.unchanged() != nil || !commitForm.MatchString(from.commit) {
		t.Errorf("%v, the source is %+v, want a commit without changes", err, from)
	}
	write("untracked.go", nil)
	if from, err := readSource(); err != nil || !strings.Contains(from.changes, "?? untracked.go") {
		t.Errorf("%v, the source is %+v, want an untracked file", err, from)
	}
}

func TestCompare(t *testing.T) {
	published := []summed{{"a", "1"}, {"b", "2"}, {"c", "3"}}
	if err := compare(published, published); err != nil {
		t.Errorf("the same files: %v", err)
	}
	err := compare(published, []summed{{"a", "1"}, {"b", "4"}, {"d", "5"}})
	want := "b has the sum 2, and gets 4\nc is published only\nd is not published"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
