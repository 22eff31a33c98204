package infra

import (
	"errors"
	"fmt"
	"os"
	"path"

	"aead.dev/minisign"

	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

// readSums returns the content of a release's SHA256SUMS. With a key, that key has signed it.
func readSums(release string, key *minisign.PublicKey) (content []byte, notice string, err error) {
	content, source, err := signature.ReadSums(key, release)
	if err != nil {
		return nil, "", fmt.Errorf("release: %w", err)
	}
	if key == nil {
		if signature.IsSigned(release) {
			notice = fmt.Sprintf("nobody checked the signature %s in %s: give the key that made it as releaseKey",
				signature.Name, release)
		}
		return content, notice, nil
	}
	// The stack's code is that of this clone. An older release may have faults that are known by now.
	if source.Version != version.Version {
		return nil, "", fmt.Errorf("release: %s in %s, signed by the key %s, is of the version %s, and this clone deploys "+
			"%s: check out the commit %s, or take the release %s", signature.SumsName, release, signature.ID(key.ID()),
			source.Version, version.Version, source.Commit, version.Version)
	}
	return content, fmt.Sprintf("the release %s of the commit %s is signed by the key %s", source.Version, source.Commit,
		signature.ID(key.ID())), nil
}

// trustedKey returns the key that signs releases: the given one, or that of the maintainers' file. It is nil
// where there is neither.
func trustedKey(given *minisign.PublicKey) (*minisign.PublicKey, error) {
	if given != nil {
		return given, nil
	}
	text, err := os.ReadFile(signature.KeyFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("release: reading the key of releases: %w", err)
	}
	key, err := signature.ParseKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("release: %s holds %w: restore it by git, or give the key as releaseKey", signature.KeyFile,
			err)
	}
	return &key, nil
}

// archiveName is the name of a function's zip in a release.
func archiveName(architecture, function string) string {
	return path.Join("functions", architecture, function+".zip")
}
