package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/infra/signature"
)

// These match a commit and a version of Go. Both go from a release's provenance into commands.
var (
	commitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	goForm     = regexp.MustCompile(`^go1\.[0-9]+(\.[0-9]+|rc[0-9]+)?$`)
)

// rebuild makes a release again, in a clone of its commit, with its Go and an empty build cache. It returns
// an error that names each file whose bytes differ.
func rebuild(folder string) error {
	published, err := digests(folder)
	if err != nil {
		return err
	}
	if err := checkListed(folder); err != nil {
		return err
	}
	commit, goVersion, err := origin(folder)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "rebuild")
	if err != nil {
		return fmt.Errorf("making a scratch folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	clone := filepath.Join(scratch, "clone")
	if _, err := output("git", "clone", "--quiet", "--no-checkout", ".", clone); err != nil {
		return err
	}
	if _, err := output("git", "-C", clone, "checkout", "--quiet", "--detach", commit); err != nil {
		return fmt.Errorf("the commit %s of the release is not in this clone: fetch it: %w", commit, err)
	}
	if err := makeRelease(clone, filepath.Join(scratch, "cache"), goVersion); err != nil {
		return err
	}
	made, err := filepath.Glob(filepath.Join(clone, "build", "release", "*"))
	if err != nil || len(made) != 1 {
		return fmt.Errorf("the commit %s made %d releases, want one", commit, len(made))
	}
	again, err := digests(made[0])
	if err != nil {
		return err
	}
	if err := compare(published, again); err != nil {
		return fmt.Errorf("%s is not what the commit %s gives with %s:\n%w", folder, commit, goVersion, err)
	}
	fmt.Printf("all %d files of %s are what the commit %s gives with %s\n", len(published), folder, commit, goVersion)
	return nil
}

// makeRelease runs the commit's own `make release`. Without a cache of its own, it could copy what a release
// from the same machine left.
func makeRelease(clone, cache, goVersion string) error {
	command := exec.Command("make", "--no-print-directory", "release")
	command.Dir, command.Stdout, command.Stderr = clone, os.Stderr, os.Stderr
	// A make around this command passes its variables on, such as a key.
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "key"}, name)
	})
	command.Env = append(command.Env, "GOTOOLCHAIN="+goVersion, "GOCACHE="+cache)
	if err := command.Run(); err != nil {
		return fmt.Errorf("making the release again: %w", err)
	}
	return nil
}

// checkListed returns an error unless SHA256SUMS lists the files of a release as they are.
func checkListed(folder string) error {
	listed, err := os.ReadFile(filepath.Join(folder, signature.SumsName))
	if err != nil {
		return fmt.Errorf("%s is no folder of a release: %w", folder, err)
	}
	found, err := sums(folder)
	if err == nil && found != string(listed) {
		return fmt.Errorf("%s in %s does not list the files as they are", signature.SumsName, folder)
	}
	return err
}

// origin returns the commit and the Go of a release, as its provenance says.
func origin(folder string) (commit, goVersion string, err error) {
	text, err := os.ReadFile(filepath.Join(folder, provenanceName))
	if err != nil {
		return "", "", fmt.Errorf("reading the provenance: %w", err)
	}
	var read statement
	if err := json.Unmarshal(text, &read); err != nil {
		return "", "", fmt.Errorf("%s is damaged: %w", provenanceName, err)
	}
	build := read.Predicate.BuildDefinition
	for _, dependency := range build.Dependencies {
		if dependency.Annotations["changed"] == true {
			return "", "", fmt.Errorf("%s is from a changed work tree, which nobody can build again", folder)
		}
		if dependency.Digest["gitCommit"] != "" {
			commit = dependency.Digest["gitCommit"]
		}
	}
	goVersion = build.InternalParameters["go"]
	if !commitForm.MatchString(commit) || !goForm.MatchString(goVersion) {
		return "", "", fmt.Errorf("%s names the commit %q and the Go %q, of which one has an unknown form",
			provenanceName, commit, goVersion)
	}
	return commit, goVersion, nil
}

// compare returns an error that names the files that differ.
func compare(published, again []summed) error {
	var differ []error
	made := map[string]string{}
	for _, file := range again {
		made[file.name] = file.sum
	}
	for _, file := range published {
		sum, found := made[file.name]
		delete(made, file.name)
		switch {
		case !found:
			differ = append(differ, fmt.Errorf("%s is published only", file.name))
		case sum != file.sum:
			differ = append(differ, fmt.Errorf("%s has the sum %s, and gets %s", file.name, file.sum, sum))
		}
	}
	for _, file := range again {
		if _, left := made[file.name]; left {
			differ = append(differ, fmt.Errorf("%s is not published", file.name))
		}
	}
	return errors.Join(differ...)
}
