package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// sumsName is the file of a release with a line for each of its files, in the form of sha256sum.
const sumsName = "SHA256SUMS"

// checkSums returns an error unless the release's files have the sums that SHA256SUMS lists. The names are
// from the release's folder, with slashes.
func checkSums(release string, names []string) error {
	content, err := os.ReadFile(filepath.Join(release, sumsName))
	if err != nil {
		return fmt.Errorf("release: %s is not in %s: give the folder of a release, or unpack it again: %w",
			sumsName, release, err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(content)) {
		sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !found || sums[name] != "" {
			return fmt.Errorf("release: %s in %s has the line %q, which is no sum of a file or the second of one: "+
				"take the release from where it was published", sumsName, release, line)
		}
		sums[name] = sum
	}
	var wrong []error
	for _, name := range names {
		sum, err := fileHash(filepath.Join(release, filepath.FromSlash(name)))
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case sums[name] != sum:
			wrong = append(wrong, fmt.Errorf("release: %s in %s has the sum %s, and %s says %q: it was changed after the "+
				"release, so take the release again from where it was published", name, release, sum, sumsName, sums[name]))
		}
	}
	return errors.Join(wrong...)
}

// archiveName is the name of a function's zip in a release.
func archiveName(architecture, function string) string {
	return path.Join("functions", architecture, function+".zip")
}
