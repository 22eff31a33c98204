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

	"github.com/whittle-dev/whittle/functions/console/printable"
)

const usage = `whittle shows what Whittle does in a cluster, and what it would do.

  whittle status                  shows NodePools, nodes with their prices, and pending pods with their reasons
  whittle plan -f FILE            plans nodes for the pods in files, without a cluster
  whittle plan                    plans nodes for the cluster's pending pods; launches none
  whittle plan --consolidate      shows the nodes to remove or replace to save money, and why others stay
  whittle check -cluster NAME     checks account and cluster before the first deployment; changes nothing
  whittle convert -f FILE         prints older manifests as karpenter.sh/v1, with a comment at each change of meaning
  whittle explain pod NS/NAME     says why a pod has its place, or none (takes plan's flags)

Each command lists its flags with -h.
`

// errUsage says that the command line is wrong. The caller has already printed why.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil && !errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(printable.NewWriter(os.Stderr), "whittle: %v\n", err)
		os.Exit(1)
	}
}

// run runs a command line. The text of others cannot steer the terminal that it writes to.
func run(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
	safe, safeProblems := printable.NewWriter(out), printable.NewWriter(problems)
	err := runCommand(ctx, arguments, in, safe, safeProblems)
	return errors.Join(err, safe.Flush(), safeProblems.Flush())
}

func runCommand(ctx context.Context, arguments []string, in io.Reader, out, problems io.Writer) error {
	if len(arguments) == 0 {
		fmt.Fprint(problems, usage)
		return errUsage
	}
	switch command, rest := arguments[0], arguments[1:]; command {
	case "status":
		return showStatus(ctx, rest, time.Now, out, problems)
	case "plan":
		return showPlan(ctx, rest, time.Now, in, out, problems)
	case "convert":
		return convert(rest, in, out, problems)
	case "check":
		return checkAccount(ctx, rest, time.Now, out, problems)
	case "explain":
		return explain(ctx, rest, time.Now, in, out, problems)
	case "help", "-h", "-help", "--help":
		_, err := fmt.Fprint(out, usage)
		return err
	default:
		fmt.Fprintf(problems, "whittle: there is no command %q\n\n%s", command, usage)
		return errUsage
	}
}
