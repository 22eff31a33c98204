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
	output := "text"
	flags.Func("o", "`form` of the output, text or json (default text)", oneOf(&output, "text", "json"))
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if output == "json" {
		return writeJSON(out, map[string]string{
			"version": version.Version, "commit": version.Commit(), "go": runtime.Version(),
		})
	}
	_, err := fmt.Fprintln(out, "whittle", version.String())
	return err
}
