// Package signature signs and verifies the sums of a release with minisign. The command that makes releases
// and the deployment share it, so that one reads what the other wrote.
package signature

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"aead.dev/minisign"
)

const (
	// SumsName is the file of a release with a line for each of its files, in the form of sha256sum.
	SumsName = "SHA256SUMS"
	// Name is the file with the signature of the sums.
	Name = SumsName + ".minisig"
	// KeyFile is the maintainers' public key, from the folder of the repository.
	KeyFile = "infra/release.pub"
)

// Source says what a release was made from.
type Source struct {
	Version, Commit string
}

// comment matches the trusted comment of a signature. The signature covers it.
var comment = regexp.MustCompile(`^whittle version=([0-9A-Za-z.+-]+) commit=([0-9a-f]{40}|[0-9a-f]{64})$`)

func (s Source) comment() string { return "whittle version=" + s.Version + " commit=" + s.Commit }

// ParseKey reads a public key: the text of a key file, or its last line alone.
func ParseKey(text string) (minisign.PublicKey, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(text)); err != nil {
		return minisign.PublicKey{}, errors.New("no public key of minisign, which has 56 characters and begins with RW")
	}
	return key, nil
}

// ID writes the id of a key as minisign does.
func ID(id uint64) string { return fmt.Sprintf("%016X", id) }

// Sign returns the signature of a release's sums. The same sums and key give the same bytes, because the
// comment has no time.
func Sign(key minisign.PrivateKey, sums []byte, source Source) ([]byte, error) {
	if !comment.MatchString(source.comment()) {
		return nil, fmt.Errorf("the version %q or the commit %q has an unknown form", source.Version, source.Commit)
	}
	reader := minisign.NewReader(bytes.NewReader(sums))
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return nil, fmt.Errorf("reading the sums: %w", err)
	}
	return reader.SignWithComments(key, source.comment(), "signature of Whittle's release by the key "+ID(key.ID())), nil
}

// Verify returns what the sums of a release were made from, if the key signed them. The sums are the
// content of SHA256SUMS, so that nobody can change the file between this check and its use.
func Verify(key minisign.PublicKey, release string, sums []byte) (Source, error) {
	path := filepath.Join(release, Name)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Source{}, fmt.Errorf("%s is missing, and only releases signed by the key %s are accepted: take the signed "+
			"release from where it was published, or give its own key as releaseKey", path, ID(key.ID()))
	}
	if err != nil {
		return Source{}, fmt.Errorf("reading the signature: %w", err)
	}
	var read minisign.Signature
	if err := read.UnmarshalText(text); err != nil {
		return Source{}, fmt.Errorf("%s is damaged, so that the key %s verifies nothing: take the release again from where "+
			"it was published: %w", path, ID(key.ID()), err)
	}
	if read.KeyID != key.ID() {
		return Source{}, fmt.Errorf("%s was made by the key %s, and only the key %s is accepted: take the release from "+
			"where it was published, or give its key as releaseKey, if you trust it", path, ID(read.KeyID), ID(key.ID()))
	}
	if !minisign.Verify(key, sums, text) {
		return Source{}, fmt.Errorf("%s is no signature of %s by the key %s: one of the files was changed, so take the "+
			"release again from where it was published", path, SumsName, ID(key.ID()))
	}
	match := comment.FindStringSubmatch(read.TrustedComment)
	if match == nil {
		return Source{}, fmt.Errorf("%s of the key %s signs the comment %q, which names no version and commit: take a "+
			"release that `make release key=FILE` signed", path, ID(key.ID()), read.TrustedComment)
	}
	return Source{Version: match[1], Commit: match[2]}, nil
}
