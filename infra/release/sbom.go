package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/whittle-dev/whittle/shared/version"
)

const (
	// bom is the program that lists the modules.
	bom = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0"
	// module is the path of the product's module. Nested modules have longer ones.
	module = "github.com/whittle-dev/whittle"
)

// machine matches what the SBOM says of the machine that listed the modules. JSON escapes the ampersand.
var machine = regexp.MustCompile(`(&|\\u0026)goos=[a-z0-9]+(&|\\u0026)goarch=[a-z0-9]+`)

// list writes the SBOM. It has no serial number, which would differ each time.
func list(target string) error {
	if err := execute(nil, "run", bom, "mod", "-json", "-std", "-noserial", "-output", target); err != nil {
		return err
	}
	content, err := os.ReadFile(target)
	if err != nil {
		return fmt.Errorf("reading the SBOM: %w", err)
	}
	if content, err = steady(content); err != nil {
		return err
	}
	if err := os.WriteFile(target, content, 0o644); err != nil {
		return fmt.Errorf("writing the SBOM: %w", err)
	}
	return nil
}

// steady removes what differs between two lists of one commit: the time, the machine, the hashes of the
// listing program, and the hashes of folders of this repository, which may hold ignored files. The modules
// of this repository get the release's version, because theirs depends on the clone's tags.
func steady(bom []byte) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(bom, &document); err != nil {
		return nil, fmt.Errorf("the SBOM is no JSON: %w", err)
	}
	metadata, _ := document["metadata"].(map[string]any)
	delete(metadata, "timestamp")
	tools, _ := metadata["tools"].([]any)
	for _, tool := range tools {
		if tool, ok := tool.(map[string]any); ok {
			delete(tool, "hashes")
		}
	}
	components, _ := document["components"].([]any)
	for _, component := range append([]any{metadata["component"]}, components...) {
		component, _ := component.(map[string]any)
		name, _ := component["name"].(string)
		if name == module || strings.HasPrefix(name, module+"/") {
			delete(component, "hashes")
			component["version"] = "v" + version.Version
		}
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the SBOM: %w", err)
	}
	text = machine.ReplaceAll(text, nil)
	own := regexp.MustCompile(`(` + regexp.QuoteMeta(module) + `(?:/[^@"]*)?@)[^?"]+`)
	return own.ReplaceAll(text, []byte("${1}v"+version.Version)), nil
}
