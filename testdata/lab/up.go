package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// running is the state that `up` leaves for `down`.
type running struct {
	ProcessID int `json:"processID"`
}

// readyLine is the first line that serve prints once the world is up.
const readyLine = "The world is up."

func stateFile() (string, error) {
	folder, err := directory("up.json")
	return folder, err
}

func logFile() (*os.File, error) {
	name, err := directory("up.log")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return os.Create(name)
}

// up starts a process that serves the world, and returns when the world is ready.
func up(ctx context.Context) error {
	file, err := stateFile()
	if err != nil {
		return err
	}
	if left, err := readState(file); err == nil && alive(left.ProcessID) {
		return fmt.Errorf("a world is up already (process %d): end it with `make down`", left.ProcessID)
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(executable, "serve")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives this terminal
	// The errors go to a file, because the process outlives this program's terminal.
	log, err := logFile()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	command.Stderr = log
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			_ = command.Process.Signal(syscall.SIGTERM)
		case <-ended:
		}
	}()
	defer close(ended)
	ready := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text := lines.Text()
		if text == endOfStart {
			break
		}
		ready = ready || strings.HasPrefix(text, readyLine)
		fmt.Println(text)
	}
	if !ready {
		return errors.Join(fmt.Errorf("the world did not come up: see %s", log.Name()), command.Wait())
	}
	state, err := json.Marshal(running{ProcessID: command.Process.Pid})
	if err != nil {
		return err
	}
	return os.WriteFile(file, state, 0o644)
}

// endOfStart is the line after which `up` stops reading.
const endOfStart = "."

// serve creates a world, prints how to use it, and keeps it until a signal.
func serve(ctx context.Context) error {
	withKueue := os.Getenv("kueue") != "" // with the queue "training"
	w, err := startWith(ctx, "up", interval, boot, changing(func(options *world.Options) {
		if withKueue {
			requestOptions(options)
		}
	}))
	if err != nil {
		return err
	}
	if withKueue {
		stop, err := w.StartKueue(ctx)
		if err != nil {
			return errors.Join(err, w.Close())
		}
		defer stop()
	}
	manifest, err := w.Quickstart()
	if err != nil {
		return errors.Join(err, w.Close())
	}
	fmt.Println(readyLine + " EC2 and its machines are a simulator; everything else is real. End it with `make down`.")
	fmt.Println()
	fmt.Println("  export KUBECONFIG=" + w.ControlPlane.Kubeconfig)
	for _, setting := range w.Environment() {
		if strings.HasPrefix(setting, "AWS_") {
			fmt.Println("  export " + setting)
		}
	}
	fmt.Println()
	fmt.Println("  kubectl apply --server-side -f " + manifest + " -f testdata/manifests/inflate.yaml")
	fmt.Println("  kubectl scale deployment inflate --replicas 5")
	fmt.Println("  bin/whittle status")
	if withKueue {
		fmt.Println("  NAME=first COUNT=3 CPU=1 envsubst < testdata/kueue/job.yaml | kubectl apply -f -    (or jobset.yaml)")
	}
	fmt.Println("  open " + w.DashboardURL() + "    (the same as a page, live)")
	fmt.Println("  curl " + w.URL() + "/local/    (how to interrupt, starve and throttle)")
	fmt.Println(endOfStart)
	<-ctx.Done()
	return w.Close()
}

// down ends the process that `up` started, by its ID.
func down(context.Context) error {
	file, err := stateFile()
	if err != nil {
		return err
	}
	left, err := readState(file)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("no world is up")
		return nil
	}
	if err != nil {
		return err
	}
	if alive(left.ProcessID) {
		if err := syscall.Kill(left.ProcessID, syscall.SIGTERM); err != nil {
			return fmt.Errorf("ending process %d: %w", left.ProcessID, err)
		}
		for deadline := time.Now().Add(15 * time.Second); alive(left.ProcessID); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d did not end within 15 s", left.ProcessID)
			}
		}
	}
	fmt.Println("the world has ended")
	return os.Remove(file)
}

func readState(file string) (running, error) {
	var left running
	content, err := os.ReadFile(file)
	if err != nil {
		return left, err
	}
	if err := json.Unmarshal(content, &left); err != nil || left.ProcessID <= 1 {
		return left, fmt.Errorf("%s does not name a process: remove it", file)
	}
	return left, nil
}

// alive reports whether the process exists and is ours. Another program may have its ID by now.
func alive(processID int) bool {
	own, err := os.Executable()
	if err != nil {
		return false
	}
	other, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", processID))
	return err == nil && strings.TrimSuffix(other, " (deleted)") == own
}
