// Command whittle shows a person what Whittle does in a cluster. It only reads,
// with the rights of the kubeconfig that it is given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

const usage = `whittle shows what Whittle does in a cluster.

  whittle status    node pools, nodes and what they cost, pods that wait and why

Each command explains its flags with -h.
`

// errUsage tells that the command line is not understood, and that it was said so.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil && !errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(os.Stderr, "whittle: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out, problems io.Writer) error {
	if len(arguments) == 0 {
		fmt.Fprint(problems, usage)
		return errUsage
	}
	switch command, rest := arguments[0], arguments[1:]; command {
	case "status":
		return status(ctx, rest, time.Now, out, problems)
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprint(out, usage)
		return err
	default:
		fmt.Fprintf(problems, "whittle: there is no command %q\n\n%s", command, usage)
		return errUsage
	}
}
