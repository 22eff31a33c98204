// Command generate writes the Go types of a service from AWS's service model and the service's list
// of types, both in the folder in which it runs:
//
//	generate SERVICE types.txt types_generated.go
//
// The package has the folder's name. It needs python3 with venv, and the Python package index once:
// it takes the model from the pinned botocore of the conformance tests.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/whittle-dev/whittle/testdata/lab/conformance"
	"github.com/whittle-dev/whittle/testdata/lab/servicemodel"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: generate SERVICE LIST FILE.go")
		os.Exit(2)
	}
	if err := generate(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func generate(ctx context.Context, service, list, file string) error {
	environment, err := conformance.Prepare(ctx, os.Stderr)
	if err != nil {
		return err
	}
	models, err := environment.Models()
	if err != nil {
		return err
	}
	model, err := servicemodel.Load(models, service)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	code, err := servicemodel.Generate(model, filepath.Base(folder), string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	return os.WriteFile(file, code, 0o644)
}
