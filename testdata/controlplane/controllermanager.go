package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// controllerManager is kube-controller-manager before its start.
type controllerManager struct {
	settings *options.KubeControllerManagerOptions
	flags    *pflag.FlagSet
}

// newControllerManager makes the flags. They come before those of the other components, because
// version 1.34 sets defaults of the feature gates, which all components share.
func newControllerManager() (*controllerManager, error) {
	settings, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	sets := settings.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	return &controllerManager{settings, flags}, nil
}

// start starts the default controllers, without a port. waitForControllers observes more than a health
// endpoint would tell.
func (m *controllerManager) start(configuration configuration) (*component, error) {
	arguments := []string{
		"--kubeconfig=" + configuration.kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--service-account-private-key-file=" + configuration.serviceAccountKey,
		"--root-ca-file=" + configuration.certificateAuthority,
		"--use-service-account-credentials=false",
		// The network plugin of a node gives pods their addresses from the VPC.
		"--allocate-node-cidrs=false",
		"--flex-volume-plugin-dir=" + configuration.volumePluginDirectory,
		"--node-monitor-period=" + configuration.nodeMonitorPeriod.String(),
		fmt.Sprintf("--kube-api-qps=%d", configuration.controllerManagerQPS),
		fmt.Sprintf("--kube-api-burst=%d", 2*configuration.controllerManagerQPS),
		"--profiling=false",
	}
	if name := "controller-shutdown-timeout"; m.flags.Lookup(name) != nil { // from 1.35 on
		arguments = append(arguments, "--"+name+"="+stopPatience.String())
	}
	if configuration.nodeMonitorGracePeriod > 0 {
		arguments = append(arguments, "--node-monitor-grace-period="+configuration.nodeMonitorGracePeriod.String())
	}
	if err := m.flags.Parse(arguments); err != nil {
		return nil, err
	}
	if err := applyFeatureGates(m.settings.ComponentGlobalsRegistry); err != nil {
		return nil, err
	}
	manager := start("kube-controller-manager", func(ctx context.Context) error {
		config, err := m.settings.Config(
			ctx, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases(),
		)
		if err != nil {
			return err
		}
		return app.Run(ctx, config.Complete())
	})
	return manager, nil
}
