package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// packed is the time of the files in a zip. The same executable gives the same bytes at any time.
var packed = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// pack writes a zip with one executable file named bootstrap, as Lambda wants it.
func pack(executable, target string) error {
	content, err := os.ReadFile(executable)
	if err != nil {
		return fmt.Errorf("packing a function: %w", err)
	}
	file, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("packing a function: %w", err)
	}
	writer := zip.NewWriter(file)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: packed}
	header.SetMode(0o755)
	entry, err := writer.CreateHeader(header)
	if err == nil {
		_, err = entry.Write(content)
	}
	if closing := writer.Close(); err == nil {
		err = closing
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("packing %s: %w", target, err)
	}
	return nil
}

// sums returns a line for each file of a folder, in the form of sha256sum, sorted by name. The file of
// the sums itself is left out.
func sums(folder string) (string, error) {
	var lines []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == sumsName {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		lines = append(lines, hex.EncodeToString(hash.Sum(nil))+"  "+filepath.ToSlash(name)+"\n")
		return err
	})
	if err != nil {
		return "", fmt.Errorf("summing up %s: %w", folder, err)
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	return strings.Join(lines, ""), nil
}
