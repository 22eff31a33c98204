// Command templates writes the CloudFormation templates of a release into a file, with which `whittle
// install` needs neither Go nor Node. It runs in the folder of cdk.json. `make templates` runs it.
//
//	templates build/templates/templates.json.gz
//	templates -shapes x86_64,x86_64+dryRun FILE	for a test that needs two of the templates
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	flags := flag.NewFlagSet("templates", flag.ContinueOnError)
	shapes := flags.String("shapes", "", "`list` of shapes, each with + between its parts; empty for all")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("name the file to write: run `make templates`")
	}
	path := flags.Arg(0)
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
	var wanted [][]string
	if *shapes != "" {
		for _, shape := range strings.Split(*shapes, ",") {
			wanted = append(wanted, strings.Split(shape, "+"))
		}
	}
	content, err := infra.Templates(settings.Context, wanted...)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	return os.WriteFile(path, content, 0o644)
}
