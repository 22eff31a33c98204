package karpenter

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// Namespace is where Karpenter runs by its guide: its Lease lies there.
	Namespace = "kube-system"
	// Account is its service account there.
	Account = "karpenter"
	// stopPatience limits an orderly stop.
	stopPatience = 20 * time.Second
	// mostStarts bounds how often a controller is started, restartDelay is the time in between.
	mostStarts   = 20
	restartDelay = time.Second
)

// Options say how a controller is run.
type Options struct {
	// Binary is the result of Build.
	Binary string
	// Log is the file that the controller's output is appended to.
	Log string
	// Cluster is the EKS cluster's name, Kubeconfig the path of the controller's own kubeconfig.
	Cluster, Kubeconfig string
	// Queue is the name of the queue of interruptions.
	Queue string
	// AWS has the settings with which its SDK finds the local AWS and its role's credentials.
	AWS []string
}

// Controller is a running one. Its owner calls Stop.
type Controller struct {
	options Options
	stop    context.CancelFunc
	done    chan struct{}

	mutex    sync.Mutex
	restarts int
	err      error // why it was given up
}

// Start runs a controller with the settings of Karpenter's chart that matter here. It restarts a
// process that exits, as the kubelet does. On a busy machine Karpenter loses its Lease and exits by
// itself.
func Start(options Options) *Controller {
	ctx, stop := context.WithCancel(context.Background())
	c := &Controller{options: options, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.keep(ctx)
	}()
	return c
}

// keep runs one process after the other until ctx ends.
func (c *Controller) keep(ctx context.Context) {
	for range mostStarts {
		err := c.run(ctx)
		if ctx.Err() != nil {
			return
		}
		c.mutex.Lock()
		c.restarts++
		c.err = err
		c.mutex.Unlock()
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
			return
		}
	}
}

// run runs one process until it exits. When ctx ends, the process is told to exit, releases its
// Lease, and is killed if it does not exit.
func (c *Controller) run(ctx context.Context) error {
	log, err := os.OpenFile(c.options.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	command := exec.CommandContext(ctx, c.options.Binary)
	command.Dir = filepath.Dir(c.options.Log)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopPatience
	// In a process group of its own, so that Ctrl-C in a terminal reaches the local run, which
	// stops things in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Env = append([]string{
		"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH"),
		"CLUSTER_NAME=" + c.options.Cluster, "KUBECONFIG=" + c.options.Kubeconfig, "INTERRUPTION_QUEUE=" + c.options.Queue,
		"SYSTEM_NAMESPACE=" + Namespace, "LEADER_ELECTION_NAMESPACE=" + Namespace,
		"METRICS_PORT=0", "HEALTH_PROBE_PORT=0",
		"FEATURE_GATES=ReservedCapacity=true,SpotToSpotConsolidation=false,NodeRepair=false,NodeOverlay=false," +
			"StaticCapacity=false",
	}, c.options.AWS...)
	return command.Run()
}

// Restarts counts the controller's restarts and returns the last process's error.
func (c *Controller) Restarts() (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.restarts, c.err
}

// Stop ends the controller as Kubernetes ends a pod, and waits for its exit.
func (c *Controller) Stop() {
	c.stop()
	<-c.done
}
