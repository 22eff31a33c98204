package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"k8s.io/klog/v2"

	"github.com/whittle-dev/whittle/functions/console/printable"
)

// errUsage says that the command line is wrong. The caller has already printed why.
var errUsage = errors.New("usage")

// The exit codes beyond 0 and 1, an error.
const (
	codeUsage    = 2 // the command line is wrong
	codeUnplaced = 3 // plan --exit-code: a pod has no place
	codeDear     = 4 // plan --max-price: the new nodes cost more
)

// verdict is an outcome with an exit code of its own. What was asked for has been printed.
type verdict struct {
	code int
	text string
}

func (v *verdict) Error() string { return v.text }

func main() {
	// client-go's own lines would stand between those of the command, which reports each error itself.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, argumentsOf(os.Args), os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, errUsage) && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(printable.NewWriter(os.Stderr), "%s: %v\n", programName(os.Args[0]), err)
	}
	os.Exit(exitCode(err))
}

// argumentsOf are the arguments of a process. kubectl looks for the completion of a plugin by the name
// kubectl_complete-whittle.
func argumentsOf(process []string) []string {
	if filepath.Base(process[0]) == "kubectl_complete-whittle" {
		return append([]string{completeCommand}, process[1:]...)
	}
	return process[1:]
}

// exitCode is the process's exit code for the outcome of a command line.
func exitCode(err error) int {
	var of *verdict
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return codeUsage
	case errors.As(err, &of):
		return of.code
	}
	return 1
}

// run runs a command line. The text of others cannot steer the terminal that it writes to.
func run(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
	safe, safeProblems := printable.NewWriter(out), printable.NewWriter(problems)
	err := runCommand(ctx, arguments, in, safe, safeProblems)
	return errors.Join(err, safe.Flush(), safeProblems.Flush())
}

func runCommand(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
	if len(arguments) == 0 {
		fmt.Fprint(problems, usage())
		return errUsage
	}
	name, rest := arguments[0], arguments[1:]
	if slices.Contains([]string{"-v", "-V", "-version", "--version"}, name) {
		name = "version"
	}
	helped := slices.Contains([]string{"help", "-h", "-help", "--help"}, name)
	if helped {
		if len(rest) == 0 {
			_, err := fmt.Fprint(out, usage())
			return err
		}
		name, rest = rest[0], []string{"-h"}
	}
	if name == completeCommand {
		return complete(ctx, rest, out)
	}
	chosen, err := find(name)
	if err != nil {
		fmt.Fprintf(problems, "whittle: %v\n", err)
		return errUsage
	}
	if helped {
		problems = out
	}
	return chosen.run(ctx, rest, in, out, problems)
}
