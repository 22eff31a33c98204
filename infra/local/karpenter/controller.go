package karpenter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// Namespace is where Karpenter runs by its guide: its Lease lies there.
	Namespace = "kube-system"
	// Account is its service account there.
	Account = "karpenter"
	// stopPatience is how long an orderly stop may take.
	stopPatience = 20 * time.Second
)

// Options say how a controller is run.
type Options struct {
	// Binary is what Build returned.
	Binary string
	// Log is the file that the controller's output is appended to.
	Log string
	// Cluster is the EKS cluster's name, Kubeconfig the path of the controller's own kubeconfig.
	Cluster, Kubeconfig string
	// Queue is the name of the queue of interruptions.
	Queue string
	// AWS are the settings by which its SDK finds the local AWS and its role's credentials.
	AWS []string
}

// Controller is a running one. Its owner calls Stop.
type Controller struct {
	process *os.Process
	log     string
	done    chan struct{}
	err     error // set before done is closed
}

// Start runs a controller, with the settings that Karpenter's chart gives it where they matter here.
func Start(options Options) (*Controller, error) {
	log, err := os.OpenFile(options.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	command := exec.Command(options.Binary)
	command.Dir = filepath.Dir(options.Log)
	command.Stdout, command.Stderr = log, log
	// In a process group of its own, so that Ctrl-C in a terminal reaches the local run, which stops things in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Env = append([]string{
		"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"),
		"CLUSTER_NAME=" + options.Cluster, "KUBECONFIG=" + options.Kubeconfig, "INTERRUPTION_QUEUE=" + options.Queue,
		"SYSTEM_NAMESPACE=" + Namespace, "LEADER_ELECTION_NAMESPACE=" + Namespace,
		"METRICS_PORT=0", "HEALTH_PROBE_PORT=0",
		"FEATURE_GATES=ReservedCapacity=true,SpotToSpotConsolidation=false,NodeRepair=false,NodeOverlay=false,StaticCapacity=false",
	}, options.AWS...)
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("running Karpenter: %w", err)
	}
	c := &Controller{process: command.Process, log: options.Log, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = command.Wait()
	}()
	return c, nil
}

// Ended tells whether the process has ended by itself, and with what.
func (c *Controller) Ended() error {
	select {
	case <-c.done:
		return fmt.Errorf("Karpenter has ended: %w: see %s", errors.Join(errors.New("its process is gone"), c.err), c.log)
	default:
		return nil
	}
}

// Stop ends the process as Kubernetes ends a pod: it is told to, gives its Lease back, and is killed if it does not end.
func (c *Controller) Stop(ctx context.Context) error {
	if err := c.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping Karpenter: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	if err := c.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing Karpenter: %w", err)
	}
	<-c.done
	return nil
}
