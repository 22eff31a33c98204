package infra

import (
	"archive/zip"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/whittle-dev/whittle/infra/signature"
)

// checkBootstrap checks that folder holds the executable of the named function. Lambda would report
// a missing file or the wrong processor only at the function's first start.
func checkBootstrap(folder, name, architecture string) error {
	path := filepath.Join(folder, name, "bootstrap")
	build := "make build"
	if architecture != defaultArchitecture {
		build += " architecture=" + architecture
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf(
			"functions: the function %s is not built, %s is missing: run `%s`, or give the folder of the built functions "+
				"as functions",
			name, path, build,
		)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("functions: %s is not an executable file: run `%s`", path, build)
	}
	file, err := elf.Open(path)
	if err != nil {
		return nil // Lambda also runs a script named bootstrap
	}
	defer func() { _ = file.Close() }()
	machines := map[string]elf.Machine{"arm64": elf.EM_AARCH64, "x86_64": elf.EM_X86_64}
	if file.Machine != machines[architecture] {
		return fmt.Errorf(
			"functions: %s is built for %v, not for %s: give the architecture it is built for, or another folder as functions",
			path, file.Machine, architecture,
		)
	}
	return nil
}

// releaseFolder returns the absolute path of the folder with a release's functions as zips, and the
// SHA-256 of install's. Each zip has the sum that the content of SHA256SUMS lists.
func releaseFolder(release, architecture string, sums []byte) (folder, installHash string, err error) {
	folder = filepath.Join(release, "functions", architecture)
	for _, name := range functionNames() {
		archive, err := zip.OpenReader(filepath.Join(folder, name+".zip"))
		if err != nil {
			return "", "", fmt.Errorf("release: the function %s is not in %s: give the folder of a release, which has "+
				"SHA256SUMS: %w", name, release, err)
		}
		hasBootstrap := slices.ContainsFunc(archive.File, func(f *zip.File) bool { return f.Name == "bootstrap" })
		if err := archive.Close(); err != nil || !hasBootstrap {
			return "", "", fmt.Errorf("release: %s.zip in %s has no file bootstrap: unpack the release again", name, folder)
		}
	}
	var archives []string
	for _, name := range functionNames() {
		archives = append(archives, archiveName(architecture, name))
	}
	if err := signature.CheckSums(release, sums, archives); err != nil {
		return "", "", fmt.Errorf("release: %w", err)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", "", fmt.Errorf("release: finding the folder %q: %w", release, err)
	}
	installHash, err = signature.FileSum(filepath.Join(folder, "install.zip"))
	return folder, installHash, err
}

// functionsFolder returns the absolute path of the folder of the built functions. The default is
// the folder of `make build`.
func functionsFolder(folder, architecture string) (string, error) {
	if folder == "" {
		folder = filepath.Join("build", "functions", architecture)
	}
	for _, name := range functionNames() {
		if err := checkBootstrap(folder, name, architecture); err != nil {
			return "", err
		}
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", fmt.Errorf("functions: finding the folder %q: %w", folder, err)
	}
	return absolute, nil
}
