package main

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the project's folder.
const root = "../../.."

// pages returns the texts of all pages by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "build" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	})
	if err != nil || len(texts) < 20 {
		t.Fatalf("%d pages, %v", len(texts), err)
	}
	return texts
}

// commandsOf returns the commands of a page: lines of its code, and code within its lines.
func commandsOf(page, program string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?m)(?:^ *|`)"+program+" ([^`\n]*)").FindAllStringSubmatch(page, -1) {
		command, _, _ := strings.Cut(match[1], "#")
		command, _, _ = strings.Cut(command, " > ")
		command, _, _ = strings.Cut(command, " | ")
		found = append(found, strings.TrimSpace(command))
	}
	return found
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
		for _, command := range append(commandsOf(text, "bin/whittle"), commandsOf(text, "whittle")...) {
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
		for _, command := range commandsOf(text, "make") {
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
	readme := pages(t)[filepath.Join(root, "README.md")]
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
