package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

var madeFrom = source{commit: strings.Repeat("0a", 20), committed: "2026-11-28T10:00:00Z"}

// files writes files into a new folder.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range content {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestANewKeySignsAndVerifies goes the way of a maintainer: a new pair, a signature, and its check.
func TestANewKeySignsAndVerifies(t *testing.T) {
	t.Setenv(passwordVariable, "")
	folder := t.TempDir()
	path := filepath.Join(folder, "key")
	if err := newKey(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, the secret key has the mode %v", err, info.Mode())
	}
	text, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	public, err := signature.ParseKey(string(text))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := readKey(path)
	if err != nil {
		t.Fatal(err)
	}
	all := []byte("a list of sums\n")
	if err := sign(folder, all, secret, madeFrom); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(folder, signature.Name))
	if err != nil {
		t.Fatal(err)
	}
	got, err := signature.Verify(public, folder, all)
	if want := (signature.Source{Version: version.Version, Commit: madeFrom.commit}); err != nil || got != want {
		t.Errorf("%v, the sums are of %v, want %v", err, got, want)
	}
	if err := sign(folder, all, secret, madeFrom); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(folder, signature.Name)); err != nil || !bytes.Equal(first, again) {
		t.Errorf("%v, the same sums get another signature", err)
	}
	if err := newKey(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second key in the same file: %v", err)
	}
	if _, err := readKey(path + ".pub"); err == nil {
		t.Error("a public key is read as a secret one")
	}
	// A second file that stands in the way leaves no secret key without its public one.
	other := filepath.Join(folder, "other")
	if err := os.WriteFile(other+".pub", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := newKey(other); !errors.Is(err, os.ErrExist) {
		t.Errorf("a public key in the way: %v", err)
	}
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a secret key is left: %v", err)
	}
	changed := madeFrom
	changed.changes = " M main.go\n"
	if err := sign(folder, all, secret, changed); err == nil || !strings.Contains(err.Error(), "main.go") {
		t.Errorf("a changed work tree is signed: %v", err)
	}
}

// TestTheMaintainersKeyIsAKey is for the day on which they make one.
func TestTheMaintainersKeyIsAKey(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(signature.KeyFile)))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signature.ParseKey(string(text)); err != nil {
		t.Errorf("%s: %v", signature.KeyFile, err)
	}
}

func TestTheProvenanceListsEveryFile(t *testing.T) {
	content := map[string]string{"a": "", "functions/arm64/b.zip": "x", "sbom.cdx.json": "{}"}
	folder := files(t, content)
	t.Chdir(files(t, map[string]string{"go.mod": "module a\n", "go.sum": "x"}))
	text, err := provenance(folder, []string{"b"}, madeFrom, "go1.26.8")
	if err != nil {
		t.Fatal(err)
	}
	for name := range map[string]bool{provenanceName: true, signature.SumsName: true, signature.Name: true} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := provenance(folder, []string{"b"}, madeFrom, "go1.26.8"); err != nil || !bytes.Equal(text, again) {
		t.Errorf("%v, the same files get another provenance:\n%s\n%s", err, text, again)
	}
	var read statement
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Subject) != len(content) {
		t.Errorf("%d files, want %d", len(read.Subject), len(content))
	}
	for _, subject := range read.Subject {
		sum, err := digest(filepath.Join(folder, subject.Name))
		if err != nil || subject.Digest["sha256"] != sum {
			t.Errorf("%v, %s has the sum %v, want %s", err, subject.Name, subject.Digest, sum)
		}
	}
	const sumOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	for _, want := range []string{
		`"_type": "https://in-toto.io/Statement/v1"`, `"predicateType": "https://slsa.dev/provenance/v1"`,
		`"gitCommit": "` + madeFrom.commit, `"committed": "` + madeFrom.committed, `"go": "go1.26.8"`, "-trimpath", sumOfX,
		`"version": "` + version.Version, `"name": "go.sum"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	if commit, goVersion, err := originOf(t, text); commit != madeFrom.commit || goVersion != "go1.26.8" || err != nil {
		t.Errorf("%v, it is from %s with %s", err, commit, goVersion)
	}
	changed := madeFrom
	changed.changes = "?? a.go\n"
	text, err = provenance(folder, nil, changed, "go1.26.8")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := originOf(t, text); err == nil || !strings.Contains(err.Error(), "a changed work tree") {
		t.Errorf("a release of a changed work tree is built again: %v", err)
	}
	text = bytes.Replace(text, []byte(`"changed": true`), []byte(`"changed": false`), 1)
	text = bytes.ReplaceAll(text, []byte(madeFrom.commit), []byte("--upload-pack=x"))
	if _, _, err := originOf(t, text); err == nil || !strings.Contains(err.Error(), "unknown form") {
		t.Errorf("a commit that is an option of git: %v", err)
	}
}

func originOf(t *testing.T, provenance []byte) (commit, goVersion string, err error) {
	t.Helper()
	return origin(files(t, map[string]string{provenanceName: string(provenance)}))
}
