package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/infra/signature"
)

// summed is a file of a release, by its name from the release's folder, with slashes.
type summed struct {
	name, sum string
}

// digests returns the SHA-256 of each file of a folder, sorted by name. It leaves out the file of the sums
// and its signature.
func digests(folder string) ([]summed, error) {
	var files []summed
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil || name == signature.SumsName || name == signature.Name {
			return err
		}
		sum, err := digest(path)
		files = append(files, summed{name: filepath.ToSlash(name), sum: sum})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("summing up %s: %w", folder, err)
	}
	slices.SortFunc(files, func(a, b summed) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// digest returns the SHA-256 of a file, in hexadecimal.
func digest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sums writes a line for each file of a folder, in the form of sha256sum.
func sums(folder string) (string, error) {
	files, err := digests(folder)
	if err != nil {
		return "", err
	}
	var lines strings.Builder
	for _, file := range files {
		lines.WriteString(file.sum + "  " + file.name + "\n")
	}
	return lines.String(), nil
}
