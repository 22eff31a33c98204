// Command release makes the files of a release in build/release/VERSION: the functions as zips for
// both processors, the command line for four platforms, an SBOM, and the SHA-256 of each file. The same
// commit gives the same bytes, on any machine with the same Go. `make release` runs it.
//
//	whittle_linux_amd64 ...          the command line
//	functions/arm64/NAME.zip ...     for `cdk deploy -c release=DIR`
//	sbom.cdx.json                    all modules, in the form of CycloneDX
//	provenance.json                  what the files were built from, in the form of SLSA
//	CHANGELOG.md, SHA256SUMS
//	SHA256SUMS.minisig               with -key
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/whittle-dev/whittle/shared/version"
)

const sumsName = "SHA256SUMS"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// run makes the release of the functions that the arguments name.
func run(functions []string) error {
	if len(functions) == 0 {
		return errors.New("name the functions: run `make release`")
	}
	folder := filepath.Join("build", "release", version.Version)
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("clearing the folder: %w", err)
	}
	for architecture, processor := range map[string]string{"arm64": "arm64", "x86_64": "amd64"} {
		if err := packFunctions(functions, filepath.Join(folder, "functions", architecture), processor); err != nil {
			return err
		}
	}
	for _, platform := range []string{"linux", "darwin"} {
		for _, processor := range []string{"amd64", "arm64"} {
			target := filepath.Join(folder, "whittle_"+platform+"_"+processor)
			if err := build(target, "./functions/console/whittle", platform, processor); err != nil {
				return err
			}
		}
	}
	if err := list(filepath.Join(folder, "sbom.cdx.json")); err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join("infra", "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("copying the changelog: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "CHANGELOG.md"), changes, 0o644); err != nil {
		return fmt.Errorf("copying the changelog: %w", err)
	}
	all, err := sums(folder)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, sumsName), []byte(all), 0o644); err != nil {
		return fmt.Errorf("writing the sums: %w", err)
	}
	fmt.Print(all)
	fmt.Printf("the release %s is in %s\n", version.Version, folder)
	return nil
}

// packFunctions builds the functions for a processor, as `make build` does, and packs them.
func packFunctions(functions []string, folder, processor string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return fmt.Errorf("making a scratch folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	for _, name := range functions {
		executable := filepath.Join(scratch, name)
		if err := build(executable, "./functions/"+name+"/cmd", "linux", processor, "-tags", "lambda.norpc"); err != nil {
			return err
		}
		if err := pack(executable, filepath.Join(folder, name+".zip")); err != nil {
			return err
		}
	}
	return nil
}

// build builds a program. Neither the machine's paths nor the state of the work tree are in it.
func build(target, program, platform, processor string, flags ...string) error {
	arguments := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", target}, flags...)
	return execute([]string{"GOOS=" + platform, "GOARCH=" + processor}, append(arguments, program)...)
}
