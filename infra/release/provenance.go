package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/whittle-dev/whittle/shared/version"
)

const (
	provenanceName = "provenance.json"
	// statementType, predicateType and the fields below are those of in-toto and SLSA.
	// https://slsa.dev/spec/v1.1/provenance
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://slsa.dev/provenance/v1"
	// buildType is `make release`. builderID says that a person ran it on a machine that nobody vouches for.
	buildType = "https://" + module + "/infra/release@v1"
	builderID = "https://" + module + "/infra/release/local@v1"
)

// statement is the provenance of a release. It has no time of the build, which would differ each time.
type statement struct {
	Type          string       `json:"_type"`
	Subject       []descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     predicate    `json:"predicate"`
}

type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType          string            `json:"buildType"`
	ExternalParameters parameters        `json:"externalParameters"`
	InternalParameters map[string]string `json:"internalParameters"`
	Dependencies       []descriptor      `json:"resolvedDependencies"`
}

// parameters are what the caller of the command chose.
type parameters struct {
	Version   string   `json:"version"`
	Functions []string `json:"functions"`
}

type runDetails struct {
	Builder builder `json:"builder"`
}

type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version"`
}

// descriptor names a file or a repository, with its hash.
type descriptor struct {
	Name        string            `json:"name,omitempty"`
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest"`
	Annotations map[string]any    `json:"annotations,omitempty"`
}

// provenance describes the files of a folder.
func provenance(folder string, functions []string, from source, goVersion string) ([]byte, error) {
	files, err := digests(folder)
	if err != nil {
		return nil, err
	}
	made := statement{Type: statementType, PredicateType: predicateType}
	for _, file := range files {
		if file.name != provenanceName {
			made.Subject = append(made.Subject, descriptor{Name: file.name, Digest: map[string]string{"sha256": file.sum}})
		}
	}
	repository := descriptor{
		Name: "source", URI: "git+https://" + module, Digest: map[string]string{"gitCommit": from.commit},
		Annotations: map[string]any{"committed": from.committed},
	}
	if from.changes != "" {
		repository.Annotations["changed"] = true
	}
	made.Predicate.BuildDefinition = buildDefinition{
		BuildType:          buildType,
		ExternalParameters: parameters{Version: version.Version, Functions: functions},
		InternalParameters: map[string]string{
			"go": goVersion, "flags": strings.Join(flags(), " "), "functionFlags": strings.Join(functionFlags(), " "),
			"environment": strings.Join(settings(), " "), "sbom": bom,
		},
		Dependencies: []descriptor{repository},
	}
	// The sums of go.sum fix the content of every module.
	for _, name := range []string{"go.mod", "go.sum"} {
		sum, err := digest(name)
		if err != nil {
			return nil, fmt.Errorf("hashing the list of modules: %w", err)
		}
		made.Predicate.BuildDefinition.Dependencies = append(made.Predicate.BuildDefinition.Dependencies,
			descriptor{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	made.Predicate.RunDetails.Builder = builder{ID: builderID, Version: map[string]string{"whittle": version.Version}}
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the provenance: %w", err)
	}
	return append(text, '\n'), nil
}

// writeProvenance adds the provenance to a folder with all other files of a release.
func writeProvenance(folder string, functions []string, from source) error {
	goVersion, err := output("go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	text, err := provenance(folder, functions, from, strings.TrimSpace(string(goVersion)))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, provenanceName), text, 0o644); err != nil {
		return fmt.Errorf("writing the provenance: %w", err)
	}
	return nil
}
