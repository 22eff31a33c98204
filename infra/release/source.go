package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// source is what a release is built from.
type source struct {
	// commit is the whole hash. committed is its date, in UTC.
	commit, committed string
	// changes lists the files of the work tree that differ from the commit, as `git status` does.
	changes string
}

// readSource asks git about the work tree.
func readSource() (source, error) {
	text, err := output("git", "show", "--no-patch", "--no-show-signature", "--format=%H %ct", "HEAD")
	if err != nil {
		return source{}, fmt.Errorf("the provenance of a release names its commit: make it in a clone: %w", err)
	}
	commit, date, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	seconds, err := strconv.ParseInt(date, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("git names no date of the commit %s: %w", commit, err)
	}
	changes, err := output("git", "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return source{}, err
	}
	return source{
		commit: commit, committed: time.Unix(seconds, 0).UTC().Format(time.RFC3339), changes: string(changes),
	}, nil
}

// unchanged returns an error unless the work tree is its commit. A signature says what was built.
func (s source) unchanged() error {
	if s.changes != "" {
		return fmt.Errorf("only a commit is signed, and the work tree differs from %s:\n%scommit or remove these files",
			s.commit, s.changes)
	}
	return nil
}
