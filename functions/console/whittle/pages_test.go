package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/pagetest"
)

// root is the project's folder.
const root = "../../.."

// pages returns the texts of all pages by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts, err := pagetest.Read(root)
	if err != nil || len(texts) < 20 {
		t.Fatalf("%d pages, %v", len(texts), err)
	}
	return texts
}

// TestPagesNameCommandsThatExist parses each whittle command of each page, and looks for each target of
// make.
func TestPagesNameCommandsThatExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	commands, targets := 0, 0
	for path, text := range pages(t) {
		for _, command := range append(pagetest.Commands(text, "bin/whittle"), pagetest.Commands(text, "whittle")...) {
			arguments := strings.Fields(command)
			if len(arguments) == 0 || strings.HasPrefix(arguments[0], "help") {
				continue
			}
			commands++
			var out, problems bytes.Buffer
			// Flags are read up to the last, which asks for help.
			err := run(t.Context(), append(arguments, "-h"), strings.NewReader(""), &out, &problems)
			if !errors.Is(err, flag.ErrHelp) {
				t.Errorf("%s: whittle %s: %v\n%s", path, command, err, problems.String())
			}
		}
		for _, command := range pagetest.Commands(text, "make") {
			target, _, _ := strings.Cut(command, " ")
			if !regexp.MustCompile(`^[a-z][a-z-]+$`).MatchString(target) {
				continue
			}
			targets++
			if !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
				t.Errorf("%s: make %s: there is no such target", path, command)
			}
		}
	}
	if commands < 15 || targets < 30 {
		t.Errorf("only %d commands and %d targets: does the test still find them?", commands, targets)
	}
}

// TestTheFirstPlanIsAsTheREADMEShowsIt runs the first command that a reader tries, and compares all but
// the times.
func TestTheFirstPlanIsAsTheREADMEShowsIt(t *testing.T) {
	readme := pages(t)["README.md"]
	command := regexp.MustCompile("(?m)^bin/whittle (plan -f .*)$").FindStringSubmatch(readme)
	if command == nil {
		t.Fatal("the README has no plan")
	}
	_, after, _ := strings.Cut(readme, command[0])
	_, after, _ = strings.Cut(after, "```\n")
	_, after, _ = strings.Cut(after, "```")
	want, _, _ := strings.Cut(strings.TrimPrefix(after, "\n"), "```")
	t.Chdir(root)
	var out, problems bytes.Buffer
	if err := run(t.Context(), strings.Fields(command[1]), strings.NewReader(""), &out, &problems); err != nil {
		t.Fatal(err)
	}
	seconds := regexp.MustCompile(`planned in [0-9.]+ s`)
	got := seconds.ReplaceAllString(out.String(), "planned in 0 s")
	if want = seconds.ReplaceAllString(want, "planned in 0 s"); got != want || problems.Len() > 0 {
		t.Errorf("the plan is\n%s\nthe README shows\n%s\nproblems: %s", got, want, problems.String())
	}
}

// TestTheFilesOfThePagesArePlanned runs each command of the pages that reads manifests. Names that a page
// invents stand for files of testdata.
func TestTheFilesOfThePagesArePlanned(t *testing.T) {
	folder := t.TempDir()
	quickstart := []string{"testdata/manifests/quickstart.yaml", "testdata/manifests/web.yaml"}
	for path, sources := range map[string][]string{
		"testdata/manifests/quickstart.yaml": quickstart[:1], "testdata/manifests/web.yaml": quickstart[1:],
		"deploy/all.yaml": quickstart, "old/all.yaml": quickstart, "new/all.yaml": quickstart,
		"old.yaml":          {"functions/console/conversion/testdata/old.yaml"},
		"provisioners.yaml": {"functions/console/conversion/testdata/old.yaml"},
	} {
		var content []byte
		for _, source := range sources {
			text, err := os.ReadFile(filepath.Join(root, source))
			if err != nil {
				t.Fatal(err)
			}
			content = append(append(content, "---\n"...), text...)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, path), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := pages(t)
	t.Chdir(folder)
	ran := 0
	for path, text := range all {
		for _, command := range pagetest.Commands(text, "bin/whittle") {
			if command == "explain pod default/web-0" { // the README means the files of the plan before it
				command += " -f testdata/manifests/quickstart.yaml -f testdata/manifests/web.yaml"
			}
			if !strings.Contains(command, " -f ") {
				continue
			}
			ran++
			var out, problems bytes.Buffer
			err := run(t.Context(), strings.Fields(command), strings.NewReader(""), &out, &problems)
			if err != nil || out.Len() == 0 {
				t.Errorf("%s: bin/whittle %s: %v\n%s", path, command, err, problems.String())
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were run: does the test still find them?", ran)
	}
}
