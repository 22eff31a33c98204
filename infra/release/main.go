// Command release makes the files of a release in build/release/VERSION: the functions as zips for
// both processors, the command line for four platforms, an SBOM, and the SHA-256 of each file. The same
// commit gives the same bytes, on any machine with the same Go. `make release` runs it.
//
//	whittle_linux_amd64 ...          the command line
//	functions/arm64/NAME.zip ...     for `cdk deploy -c release=DIR`
//	templates.json.gz                the CloudFormation templates, for `whittle install`
//	sbom.cdx.json                    all modules, in the form of CycloneDX
//	provenance.json                  what the files were built from, in the form of SLSA
//	CHANGELOG.md, SHA256SUMS
//	SHA256SUMS.minisig               with -key
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"aead.dev/minisign"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

func main() {
	key := flag.String("key", "", "`file` of the minisign secret key that signs the sums, with its password in "+
		passwordVariable)
	created := flag.String("new-key", "", "`file` for a new secret key, and no release")
	folder := flag.String("rebuild", "", "`folder` of a release that is built again from its commit and compared")
	flag.Parse()
	var err error
	switch {
	case *created != "":
		err = newKey(*created)
	case *folder != "":
		err = rebuild(*folder)
	default:
		err = run(*key, flag.Args())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// run makes the release of the named functions. With the path of a secret key it signs the sums.
func run(keyPath string, functions []string) error {
	if len(functions) == 0 {
		return errors.New("name the functions: run `make release`")
	}
	from, err := readSource()
	if err != nil {
		return err
	}
	var key minisign.PrivateKey
	if keyPath != "" {
		// These fail before the builds, which take minutes.
		if err := from.unchanged(); err != nil {
			return err
		}
		if key, err = readKey(keyPath); err != nil {
			return err
		}
	}
	// The programs that build have no use for the password.
	if err := os.Unsetenv(passwordVariable); err != nil {
		return fmt.Errorf("hiding the password: %w", err)
	}
	folder := filepath.Join("build", "release", version.Version)
	if err := buildAll(folder, functions); err != nil {
		return err
	}
	if still, err := readSource(); err != nil || still != from {
		return errors.Join(errors.New("the work tree changed during the builds: make the release again"), err)
	}
	if err := writeProvenance(folder, functions, from); err != nil {
		return err
	}
	all, err := sums(folder)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, signature.SumsName), []byte(all), 0o644); err != nil {
		return fmt.Errorf("writing the sums: %w", err)
	}
	fmt.Print(all)
	if keyPath != "" {
		if err := sign(folder, []byte(all), key, from); err != nil {
			return err
		}
	}
	fmt.Printf("the release %s is in %s\n", version.Version, folder)
	return nil
}

// buildAll builds and packs what users run, and lists its modules and changes.
func buildAll(folder string, functions []string) error {
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
	// The templates need Node, so that the program that makes them is one of its own.
	if err := execute(nil, "run", "./infra/templates", filepath.Join(folder, cfntemplate.Name)); err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join("infra", "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("copying the changelog: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "CHANGELOG.md"), changes, 0o644); err != nil {
		return fmt.Errorf("copying the changelog: %w", err)
	}
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
		if err := build(executable, "./functions/"+name+"/cmd", "linux", processor, functionFlags()...); err != nil {
			return err
		}
		if err := pack(executable, filepath.Join(folder, name+".zip")); err != nil {
			return err
		}
	}
	return nil
}

// flags returns the flags of every build. Neither the machine's paths nor the state of the work tree get into
// a program.
func flags() []string { return []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w"} }

// functionFlags returns the flags for functions only.
func functionFlags() []string { return []string{"-tags=lambda.norpc"} }

// build builds a program.
func build(target, program, platform, processor string, more ...string) error {
	arguments := append(append([]string{"build", "-o", target}, flags()...), more...)
	return execute([]string{"GOOS=" + platform, "GOARCH=" + processor}, append(arguments, program)...)
}
