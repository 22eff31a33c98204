package lambda

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// code is an unpacked archive.
type code struct {
	directory string
	sha256    string // base64, as AWS gives it
	size      int
}

// maximumUnpacked is Lambda's limit for the unpacked code, 250 MB.
const maximumUnpacked = 250 << 20

// unpack puts an archive into a folder named by its digest, once however many functions share it.
func (s *Service) unpack(archive []byte) (code, error) {
	sum := sha256.Sum256(archive)
	c := code{
		directory: filepath.Join(s.options.Directory, "code", hex.EncodeToString(sum[:16])),
		sha256:    base64.StdEncoding.EncodeToString(sum[:]),
		size:      len(archive),
	}
	if _, err := os.Stat(filepath.Join(c.directory, "bootstrap")); err == nil {
		return c, nil
	}
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return code{}, fmt.Errorf("reading the code archive of %d bytes: %w", len(archive), err)
	}
	if err := os.MkdirAll(filepath.Dir(c.directory), 0o755); err != nil {
		return code{}, fmt.Errorf("unpacking code: %w", err)
	}
	// Unpacked beside and renamed: a half-written folder is never run.
	partial, err := os.MkdirTemp(filepath.Dir(c.directory), "partial-")
	if err != nil {
		return code{}, fmt.Errorf("unpacking code: %w", err)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	var total int64
	for _, file := range reader.File {
		written, err := unpackFile(partial, file, maximumUnpacked-total)
		if err != nil {
			return code{}, fmt.Errorf("unpacking %q: %w", file.Name, err)
		}
		total += written
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return code{}, fmt.Errorf("unpacking code: %w", err)
	}
	if err := os.Rename(partial, c.directory); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, present := os.Stat(c.directory); present != nil {
			return code{}, fmt.Errorf("unpacking code: %w", err)
		}
	}
	return c, nil
}

func unpackFile(directory string, file *zip.File, room int64) (int64, error) {
	if !filepath.IsLocal(file.Name) {
		return 0, errors.New("the path leads out of the archive")
	}
	path := filepath.Join(directory, filepath.FromSlash(file.Name))
	if file.FileInfo().IsDir() {
		return 0, os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	source, err := file.Open()
	if err != nil {
		return 0, err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, file.Mode().Perm()|0o600)
	if err != nil {
		return 0, err
	}
	written, err := io.Copy(target, io.LimitReader(source, room+1))
	if closing := target.Close(); err == nil {
		err = closing
	}
	if err == nil && written > room {
		err = fmt.Errorf("the code unpacks to more than %d bytes", maximumUnpacked)
	}
	return written, err
}
