package main

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// startScheduler starts kube-scheduler, and returns the address of its health endpoints.
func startScheduler(configuration configuration) (*component, string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	settings := options.NewOptions()
	flags := pflag.NewFlagSet("kube-scheduler", pflag.ContinueOnError)
	for _, set := range settings.Flags.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse([]string{
		"--kubeconfig=" + configuration.kubeconfig,
		"--leader-elect=false",
		"--tls-cert-file=" + configuration.servingCertificate,
		"--tls-private-key-file=" + configuration.servingKey,
		fmt.Sprintf("--kube-api-qps=%d", configuration.schedulerQPS),
		fmt.Sprintf("--kube-api-burst=%d", 2*configuration.schedulerQPS),
		"--profiling=false",
	}); err != nil {
		return nil, "", err
	}
	settings.SecureServing.Listener = listener
	if err := applyFeatureGates(settings.ComponentGlobalsRegistry); err != nil {
		return nil, "", err
	}
	scheduler := start("kube-scheduler", func(ctx context.Context) error {
		completed, scheduler, err := app.Setup(ctx, settings)
		if err != nil {
			return err
		}
		return app.Run(ctx, completed, scheduler)
	})
	return scheduler, listener.Addr().String(), nil
}
