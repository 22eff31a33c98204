// Package pagetest reads the project's pages for the tests that run the commands of the pages.
package pagetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Read returns the texts of all Markdown files below root by their paths relative to it, with slashes.
// It leaves out what is built or downloaded. Its errors are those of the file system.
func Read(root string) (map[string]string, error) {
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "build", "bin", "node_modules"}, entry.Name()) {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		texts[filepath.ToSlash(relative)] = string(text)
		return err
	})
	return texts, err
}

// Commands returns the arguments of a program's commands on a page: lines of its code, and code
// within its lines. It leaves out comments, redirections and what follows a pipe.
func Commands(page, program string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?m)(?:^ *|`)"+program+" ([^`\n]*)").FindAllStringSubmatch(page, -1) {
		command := match[1]
		for _, end := range []string{"#", " > ", " | "} {
			command, _, _ = strings.Cut(command, end)
		}
		found = append(found, strings.TrimSpace(command))
	}
	return found
}
