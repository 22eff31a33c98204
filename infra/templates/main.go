// Command templates writes the CloudFormation templates of a release into a file, with which `whittle
// install` needs neither Go nor Node. It runs in the folder of cdk.json. `make templates` runs it.
//
//	templates build/templates/templates.json.gz
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/infra"
)

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "templates: %v\n", err)
	}
	jsii.Close()
	if err != nil {
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("name the file to write: run `make templates`")
	}
	text, err := os.ReadFile("cdk.json")
	if err != nil {
		return fmt.Errorf("reading the feature flags: %w", err)
	}
	var settings struct {
		Context map[string]any `json:"context"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return fmt.Errorf("cdk.json: %w", err)
	}
	content, err := infra.Templates(settings.Context)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(arguments[0]), 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	return os.WriteFile(arguments[0], content, 0o644)
}
