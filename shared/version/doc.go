// Package version names the version of this build, for people, logs and support.
package version
