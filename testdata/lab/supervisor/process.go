package supervisor

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
	// stopPatience limits an orderly stop.
	stopPatience = 20 * time.Second
	// mostStarts bounds how often a program is started, restartDelay is the time in between.
	mostStarts   = 20
	restartDelay = time.Second
)

// Options say how a program is run.
type Options struct {
	// Binary is the program's path.
	Binary    string
	Arguments []string
	// Environment is added to HOME and PATH, which are all that the program inherits.
	Environment []string
	// Log is the file that the program's output is appended to. The program runs in its folder.
	Log string
}

// Process is a program that is kept running. Its owner calls Stop.
type Process struct {
	options Options
	stop    context.CancelFunc
	done    chan struct{}

	mutex    sync.Mutex
	restarts int
	err      error // of the last exit
}

// Start runs a program, and restarts it when it exits.
func Start(options Options) *Process {
	ctx, stop := context.WithCancel(context.Background())
	p := &Process{options: options, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.keep(ctx)
	}()
	return p
}

// keep runs one process after the other until ctx ends.
func (p *Process) keep(ctx context.Context) {
	for range mostStarts {
		err := p.run(ctx)
		if ctx.Err() != nil {
			return
		}
		p.mutex.Lock()
		p.restarts++
		p.err = err
		p.mutex.Unlock()
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
			return
		}
	}
}

// run runs one process until it exits. When ctx ends, the process is told to exit, and is killed if
// it does not.
func (p *Process) run(ctx context.Context) error {
	log, err := os.OpenFile(p.options.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	command := exec.CommandContext(ctx, p.options.Binary, p.options.Arguments...)
	command.Dir = filepath.Dir(p.options.Log)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopPatience
	// In a process group of its own, so that Ctrl-C in a terminal reaches the local run, which
	// stops things in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Env = append([]string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH")}, p.options.Environment...)
	return command.Run()
}

// Restarts counts the restarts and returns the last process's error.
func (p *Process) Restarts() (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.restarts, p.err
}

// Stop ends the program as Kubernetes ends a pod, and waits for its exit.
func (p *Process) Stop() {
	p.stop()
	<-p.done
}
