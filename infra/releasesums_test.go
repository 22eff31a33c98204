package infra

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

// writeRelease writes the functions of a release with their sums, which it returns.
func writeRelease(t *testing.T, release string) string {
	t.Helper()
	var sums strings.Builder
	for _, name := range functionNames() {
		sum, err := signature.FileSum(writeArchive(t, release, name, "bootstrap"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%s  functions/arm64/%s.zip\n", sum, name)
	}
	if err := os.WriteFile(filepath.Join(release, signature.SumsName), []byte(sums.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return sums.String()
}

// writeArchive writes the zip of a function, with one file.
func writeArchive(t *testing.T, release, name, file string) string {
	t.Helper()
	path := filepath.Join(release, "functions", "arm64", name+".zip")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	writer := zip.NewWriter(archive)
	if _, err := writer.Create(file); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writer.Close(), archive.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func newKey(t *testing.T) (minisign.PublicKey, minisign.PrivateKey) {
	t.Helper()
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public, secret
}

// signRelease signs the sums of a release of a version.
func signRelease(t *testing.T, release, sums, of string, key minisign.PrivateKey) {
	t.Helper()
	source := signature.Source{Version: of, Commit: strings.Repeat("0a", 20)}
	text, err := signature.Sign(key, []byte(sums), source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(release, signature.Name), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOnlyASignedReleaseIsDeployedWithAKey tries what somebody could do to a release on its way.
func TestOnlyASignedReleaseIsDeployedWithAKey(t *testing.T) {
	t.Chdir(t.TempDir()) // which has no file of the maintainers' key
	key, secret := newKey(t)
	other, foreign := newKey(t)
	rewrite := func(t *testing.T, path string, change func(string) string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours, theirs := signature.ID(key.ID()), signature.ID(other.ID())
	for _, test := range []struct {
		name   string
		change func(t *testing.T, release, sums string)
		want   []string // nothing for a release that is accepted
	}{
		{"as it was made", func(*testing.T, string, string) {}, nil},
		{"without a signature", func(t *testing.T, release, _ string) {
			if err := os.Remove(filepath.Join(release, signature.Name)); err != nil {
				t.Fatal(err)
			}
		}, []string{"SHA256SUMS.minisig is missing", ours, "where it was published"}},
		{"a signature that was cut off", func(t *testing.T, release, _ string) {
			rewrite(t, filepath.Join(release, signature.Name), func(text string) string { return text[:len(text)-20] })
		}, []string{"SHA256SUMS.minisig is damaged", ours, "take the release again"}},
		{"an empty signature", func(t *testing.T, release, _ string) {
			rewrite(t, filepath.Join(release, signature.Name), func(string) string { return "" })
		}, []string{"SHA256SUMS.minisig is damaged", ours}},
		{"a changed comment", func(t *testing.T, release, _ string) {
			rewrite(t, filepath.Join(release, signature.Name), func(text string) string {
				return strings.Replace(text, "commit=0a", "commit=0b", 1)
			})
		}, []string{"SHA256SUMS.minisig is no signature of SHA256SUMS", ours, "take the release again"}},
		{"another key", func(t *testing.T, release, sums string) {
			signRelease(t, release, sums, version.Version, foreign)
		}, []string{"SHA256SUMS.minisig was made by the key " + theirs, ours, "give its key as releaseKey"}},
		{"changed sums", func(t *testing.T, release, _ string) {
			rewrite(t, filepath.Join(release, signature.SumsName), func(text string) string { return text + "\n" })
		}, []string{"SHA256SUMS.minisig is no signature of SHA256SUMS", ours}},
		{"a changed function and its sum", func(t *testing.T, release, _ string) {
			writeArchive(t, release, "ticker", "another")
			writeRelease(t, release)
			rewrite(t, filepath.Join(release, signature.SumsName), func(text string) string {
				return strings.Replace(text, text[:8], "00000000", 1)
			})
		}, []string{"SHA256SUMS.minisig is no signature of SHA256SUMS", ours}},
		{"a changed function", func(t *testing.T, release, _ string) {
			path := writeArchive(t, release, "ticker", "bootstrap")
			rewrite(t, path, func(text string) string { return "x" + text })
		}, []string{"functions/arm64/ticker.zip in", "was changed after the release"}},
		{"an older release", func(t *testing.T, release, sums string) {
			signRelease(t, release, sums, "0.0.1", secret)
		}, []string{"SHA256SUMS in", "is of the version 0.0.1", "this clone deploys " + version.Version, ours, "check out"}},
		{"a comment of something else", func(t *testing.T, release, sums string) {
			text := minisign.SignWithComments(secret, []byte(sums), "timestamp:1", "a file")
			rewrite(t, filepath.Join(release, signature.Name), func(string) string { return string(text) })
		}, []string{"SHA256SUMS.minisig", `"timestamp:1"`, ours, "make release"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			release := t.TempDir()
			sums := writeRelease(t, release)
			signRelease(t, release, sums, version.Version, secret)
			test.change(t, release, sums)
			read, err := readConfiguration(func(name string) any {
				return map[string]any{"clusters": "prod", "release": release, "releaseKey": key.String()}[name]
			})
			if test.want == nil {
				if err != nil || !strings.Contains(read.notice, "is signed by the key "+ours) {
					t.Errorf("refused: %v, notice %q", err, read.notice)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v: it lacks %q", err, part)
				}
			}
		})
	}
}

// TestTheKeyOfReleases is about who chooses the key.
func TestTheKeyOfReleases(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	key, secret := newKey(t)
	release := t.TempDir()
	sums := writeRelease(t, release)
	read := func(more string) (configuration, error) {
		return readConfiguration(func(name string) any {
			return map[string]any{"clusters": "prod", "release": release, "releaseKey": more}[name]
		})
	}
	if got, err := read(""); err != nil || got.notice != "" {
		t.Errorf("an unsigned release without a key: %v, notice %q", err, got.notice)
	}
	signRelease(t, release, sums, version.Version, secret)
	if got, err := read(""); err != nil || !strings.Contains(got.notice, "nobody checked the signature") {
		t.Errorf("a signed release without a key: %v, notice %q", err, got.notice)
	}
	write := func(text string) {
		t.Helper()
		path := filepath.Join(folder, filepath.FromSlash(signature.KeyFile))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := key.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	write(string(text) + "\n")
	if got, err := read(""); err != nil || !strings.Contains(got.notice, "is signed by the key "+signature.ID(key.ID())) {
		t.Errorf("the maintainers' key: %v, notice %q", err, got.notice)
	}
	other, _ := newKey(t)
	if _, err := read(other.String()); err == nil || !strings.Contains(err.Error(), "was made by the key") {
		t.Errorf("a setting beside the file: %v, want that the setting counts", err)
	}
	write("")
	if _, err := read(""); err == nil || !strings.Contains(err.Error(), "infra/release.pub holds no public key") {
		t.Errorf("an empty file of the key: %v", err)
	}
	if _, err := read(key.String()); err != nil {
		t.Errorf("a setting beside an empty file: %v", err)
	}
}
