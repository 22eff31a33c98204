// Command controlplane runs a real Kubernetes control plane on 127.0.0.1 in one process: etcd,
// kube-apiserver, kube-scheduler and kube-controller-manager, as their own modules ship them. There
// is no kubelet: nodes come from whoever registers them.
//
// It prints "ready" on standard output once the API answers and the scheduler and the controllers
// are at work, logs to standard error, and stops on SIGTERM, SIGINT or, if asked, when its standard
// input ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	configuration, err := parseConfiguration(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(2)
	}
	ctx, cancel := lifetime(context.Background(), configuration.stopWhenInputCloses)
	defer cancel()
	// The process ends soon after its context, even if a component hangs.
	context.AfterFunc(ctx, func() {
		time.AfterFunc(4*stopPatience, func() { os.Exit(1) })
	})
	if err := run(ctx, configuration, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "controlplane: %v\n", err)
		os.Exit(1)
	}
}
