package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestTheLedgerNamesTestsThatExist reads the table of what we assume of AWS.
func TestTheLedgerNamesTestsThatExist(t *testing.T) {
	tests := testsOf(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	rows := ledger(t)
	if len(rows) < 20 {
		t.Errorf("the ledger has %d rows: is its table where it was?", len(rows))
	}
	for _, row := range rows {
		if len(row) != 4 || slices.Contains(row, "") {
			t.Errorf("row %q: want assumption, source, damage and test", row)
			continue
		}
		named := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[3], -1)
		if len(named) == 0 && !strings.HasPrefix(row[3], "none: ") {
			t.Errorf("row %q names no test: write one, or \"none: \" and why none is possible", row[0])
		}
		for _, name := range named {
			target, isTarget := strings.CutPrefix(name[1], "make ")
			switch {
			case isTarget && !strings.Contains(string(makefile), "\n"+target+":"):
				t.Errorf("row %q: the Makefile has no target %q", row[0], target)
			case !isTarget && !tests[name[1]]:
				t.Errorf("row %q: there is no test %s", row[0], name[1])
			}
		}
	}
}

// ledger returns the cells of the table's rows.
func ledger(t *testing.T) [][]string {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## What we assume of AWS\n")
	if !found {
		t.Fatal("README.md has no section \"What we assume of AWS\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| assumption |") || strings.HasPrefix(line, "| --- ") {
			continue
		}
		var row []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), " | ") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows
}

// testsOf returns the names of all Go tests of the repository.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	declaration := regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+)\(`)
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "build" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		content, err := os.ReadFile(path)
		for _, found := range declaration.FindAllStringSubmatch(string(content), -1) {
			tests[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
