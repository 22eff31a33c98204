package main

import (
	"flag"
	"fmt"
	"io"
	"runtime"

	"github.com/whittle-dev/whittle/shared/version"
)

// showVersion prints the version.
func showVersion(arguments []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle version", flag.ContinueOnError)
	var output string
	outputFlag(flags, &output, "text", formJSON, formYAML)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if isForPrograms(output) {
		return write(out, output, map[string]string{
			"version": version.Version, "commit": version.Commit(), "go": runtime.Version(),
		})
	}
	_, err := fmt.Fprintln(out, "whittle", version.String())
	return err
}
