package version

import "runtime/debug"

// Version is that of this build. infra/CHANGELOG.md says what changed.
const Version = "0.9.0"

// Label is the label of the namespace whittle-system with the version that install has written.
const Label = "app.kubernetes.io/version"

// Commit is the commit of the build, shortened, with a mark for changed files. It is empty where Go
// knew none, as in a build from an archive.
func Commit() string {
	info, known := debug.ReadBuildInfo()
	if !known {
		return ""
	}
	commit, changed := "", ""
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				changed = "+"
			}
		}
	}
	if commit == "" {
		return ""
	}
	return commit[:min(len(commit), 12)] + changed
}

// String is the version with its commit.
func String() string {
	if commit := Commit(); commit != "" {
		return Version + " (" + commit + ")"
	}
	return Version
}
