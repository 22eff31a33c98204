package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

// TestTheSameExecutableGivesTheSameZip packs twice, at different times and from files of different ages.
func TestTheSameExecutableGivesTheSameZip(t *testing.T) {
	folder := t.TempDir()
	var zips [][]byte
	for i, name := range []string{"a", "b"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("an executable"), 0o600); err != nil {
			t.Fatal(err)
		}
		age := time.Now().Add(-time.Duration(i) * 100 * time.Hour)
		if err := os.Chtimes(path, age, age); err != nil {
			t.Fatal(err)
		}
		if err := pack(path, path+".zip"); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path + ".zip")
		if err != nil {
			t.Fatal(err)
		}
		zips = append(zips, content)
	}
	if !bytes.Equal(zips[0], zips[1]) {
		t.Error("the zips differ")
	}
	reader, err := zip.NewReader(bytes.NewReader(zips[0]), int64(len(zips[0])))
	if err != nil || len(reader.File) != 1 || reader.File[0].Name != "bootstrap" || reader.File[0].Mode().Perm() != 0o755 {
		t.Fatalf("%v, %+v", err, reader)
	}
	file, err := reader.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(file); err != nil || string(content) != "an executable" {
		t.Errorf("%v, it contains %q", err, content)
	}
}

func TestSums(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"b": "", "a/c": "x", signature.SumsName: "old", signature.Name: "old"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := sums(folder)
	want := "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  a/c\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestTheChangelogHasTheVersion holds that a release says what changed.
func TestTheChangelogHasTheVersion(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			first = strings.TrimSpace(title)
			break
		}
	}
	if first != version.Version {
		t.Errorf("the newest entry is %q, the version is %q", first, version.Version)
	}
}

// TestTheSBOMNamesNoMachine holds that two lists of one commit are equal, whoever made them.
func TestTheSBOMNamesNoMachine(t *testing.T) {
	made := func(time, hash, own, goos, processor string) string {
		platform := "?type=module&goos=" + goos + "&goarch=" + processor
		return `{"metadata": {"timestamp": "` + time + `", "tools": [{"name": "a", "hashes": ["` + hash + `"]}],
			"component": {"name": "` + module + `", "version": "` + own + `", "purl": "` + module + "@" + own + platform + `"}},
			"components": [
				{"name": "` + module + `/testdata/lab", "version": "` + own + `", "hashes": ["` + hash + `"]},
				{"name": "b", "version": "v1.2.3", "hashes": ["kept"], "purl": "b@v1.2.3` + platform + `"}],
			"dependencies": [{"ref": "` + module + "@" + own + `?type=module", "dependsOn": ["b@v1.2.3?type=module"]}]}`
	}
	one, err := steady([]byte(made("2026-11-25T11:00:00Z", "x", "v0.0.0-20261125110000-0123456789ab", "linux", "amd64")))
	if err != nil {
		t.Fatal(err)
	}
	other, err := steady([]byte(made("2026-11-26T11:00:00Z", "y", "v"+version.Version, "darwin", "arm64")))
	if err != nil || !bytes.Equal(one, other) {
		t.Errorf("%v\n%s\n%s", err, one, other)
	}
	for _, kept := range []string{"kept", `"b@v1.2.3?type=module"`, module + "@v" + version.Version + "?type=module"} {
		if !strings.Contains(string(one), kept) {
			t.Errorf("%s lacks %s", one, kept)
		}
	}
}
