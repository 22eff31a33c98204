package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

// ReadSums returns the content of a release's SHA256SUMS. With a key, that key has signed it, and the
// source is what it was made from.
func ReadSums(key *minisign.PublicKey, release string) (content []byte, source Source, err error) {
	content, err = os.ReadFile(filepath.Join(release, SumsName))
	if err != nil {
		return nil, Source{}, fmt.Errorf("%s is not in %s: give the folder of a release, or unpack it again: %w",
			SumsName, release, err)
	}
	if key != nil {
		source, err = Verify(*key, release, content)
	}
	return content, source, err
}

// IsSigned reports whether a release has a signature, by anybody.
func IsSigned(release string) bool {
	_, err := os.Stat(filepath.Join(release, Name))
	return err == nil
}

// CheckSums returns an error unless the release's files have the sums that the content of SHA256SUMS lists.
// The names are from the release's folder, with slashes.
func CheckSums(release string, content []byte, names []string) error {
	sums := map[string]string{}
	for line := range strings.Lines(string(content)) {
		sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !found || sums[name] != "" {
			return fmt.Errorf("%s in %s has the line %q, which is no sum of a file or the second of one: "+
				"take the release from where it was published", SumsName, release, line)
		}
		sums[name] = sum
	}
	var wrong []error
	for _, name := range names {
		sum, err := FileSum(filepath.Join(release, filepath.FromSlash(name)))
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case sums[name] != sum:
			wrong = append(wrong, fmt.Errorf("%s in %s has the sum %s, and %s says %q: it was changed after the release, so "+
				"take the release again from where it was published", name, release, sum, SumsName, sums[name]))
		}
	}
	return errors.Join(wrong...)
}

// FileSum returns the SHA-256 of a file, in hexadecimal.
func FileSum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hashing a function: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("hashing %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
