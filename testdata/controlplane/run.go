package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc/grpclog"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// stopPatience limits each step of an orderly stop. Clients keep watches open for minutes, and the
// servers would wait for them. etcd has every write already.
const stopPatience = time.Second

// component is one part of the control plane, running in goroutines of this process.
type component struct {
	name string
	stop context.CancelFunc
	// done is closed after err is set.
	done chan struct{}
	err  error
}

// start runs a component until its context ends. A component that returns earlier has failed, with
// or without an error.
func start(name string, run func(context.Context) error) *component {
	ctx, cancel := context.WithCancel(context.Background())
	c := &component{name: name, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		err := run(ctx)
		switch {
		case ctx.Err() != nil:
			// Asked to stop. Some components report that as an error.
		case err != nil:
			c.err = fmt.Errorf("running %s: %w", name, err)
		default:
			c.err = fmt.Errorf("running %s: it ended by itself", name)
		}
	}()
	return c
}

// wait waits for a component that was told to stop.
func (c *component) wait() {
	select {
	case <-c.done:
	case <-time.After(stopPatience):
	}
}

// run starts the components in the order of their dependencies, writes "ready", and stops them in
// the opposite order when ctx ends or one of them fails.
func run(ctx context.Context, configuration configuration, output io.Writer) error {
	// Three programs share this process, and each would set up logging: the first may, the others
	// agree with it.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	// kube-apiserver opens and closes hundreds of connections to etcd while it starts, and gRPC
	// would warn of each.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, os.Stderr))

	manager, err := newControllerManager()
	if err != nil {
		return fmt.Errorf("preparing kube-controller-manager: %w", err)
	}
	database, err := startEtcd(ctx, configuration.dataDirectory)
	if err != nil {
		return endOf(ctx, fmt.Errorf("starting etcd: %w", err))
	}
	defer database.Close()

	apiServer, address, err := startAPIServer(configuration, database.address)
	if err != nil {
		return fmt.Errorf("starting kube-apiserver: %w", err)
	}
	defer apiServer.wait()
	defer apiServer.stop()
	if err := waitForServer(ctx, configuration, apiServer, address); err != nil {
		return endOf(ctx, err)
	}

	scheduler, schedulerAddress, err := startScheduler(configuration)
	if err != nil {
		return fmt.Errorf("starting kube-scheduler: %w", err)
	}
	controllerManager, err := manager.start(configuration)
	if err != nil {
		scheduler.stop()
		return fmt.Errorf("starting kube-controller-manager: %w", err)
	}
	defer scheduler.wait()
	defer controllerManager.wait()
	defer scheduler.stop()
	defer controllerManager.stop()
	if err := waitForServer(ctx, configuration, scheduler, schedulerAddress); err != nil {
		return endOf(ctx, err)
	}
	if err := waitForControllers(ctx, configuration, controllerManager, address); err != nil {
		return endOf(ctx, err)
	}
	if _, err := fmt.Fprintln(output, "ready"); err != nil {
		return fmt.Errorf("reporting readiness: %w", err)
	}

	select {
	case <-ctx.Done():
		return nil
	case <-apiServer.done:
		return apiServer.err
	case <-scheduler.done:
		return scheduler.err
	case <-controllerManager.done:
		return controllerManager.err
	case err := <-database.failed:
		return fmt.Errorf("running etcd: %w", err)
	}
}

// endOf drops the error of a start that was cut short because the process was told to stop.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// applyFeatureGates makes the feature gates' and versions' defaults final. The components share one
// registry.
func applyFeatureGates(registry basecompatibility.ComponentGlobalsRegistry) error {
	if err := registry.Set(); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	return nil
}
