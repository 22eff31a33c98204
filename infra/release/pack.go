package main

import (
	"archive/zip"
	"fmt"
	"os"
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
