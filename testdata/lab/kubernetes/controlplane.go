package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// stopPatience limits an orderly stop, which usually takes a second.
const stopPatience = 10 * time.Second

// logTailLines is the number of log lines in the error of an unexpected exit.
const logTailLines = 15

// ControlPlane is a running control plane. Its owner calls Stop.
type ControlPlane struct {
	// Endpoint is the API server's address, such as https://127.0.0.1:41234.
	Endpoint string
	// CertificateAuthority is the PEM of the authority that signed the API server's certificate.
	CertificateAuthority []byte
	// Kubeconfig is the path of a kubeconfig with all rights.
	Kubeconfig string
	// Version is the version that the server reports, such as v1.36.3.
	Version string
	// ServiceCIDR is the range of the services' addresses.
	ServiceCIDR string

	admin        *rest.Config
	certificates string // the folder
	logPath      string
	auditLog     string // empty where no request is noted
	process      *os.Process
	// input is the writing end of the process's standard input. Closing it, which our own death
	// does too, stops it.
	input io.Closer
	ready chan struct{}

	mutex    sync.Mutex
	stopping bool

	// done is closed when the process has ended, after err is set.
	done chan struct{}
	err  error
}

// ServingCertificate returns the API server's certificate for 127.0.0.1 and its key, as PEM.
// Webhooks of others may serve with it, because the API server trusts its own authority.
func (c *ControlPlane) ServingCertificate() (certificate, key []byte, err error) {
	if certificate, err = os.ReadFile(filepath.Join(c.certificates, servingCertificate)); err != nil {
		return nil, nil, err
	}
	key, err = os.ReadFile(filepath.Join(c.certificates, servingKey))
	return certificate, key, err
}

// RESTConfig returns a configuration with all rights and without a client-side rate limit. The
// caller may change it.
func (c *ControlPlane) RESTConfig() *rest.Config {
	return rest.CopyConfig(c.admin)
}

// Done is closed when the process has ended, for whatever reason.
func (c *ControlPlane) Done() <-chan struct{} {
	return c.done
}

// Err returns the reason of the process's exit, with the last lines of its log. It is nil while the
// process runs and after Stop.
func (c *ControlPlane) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Stop ends the process and waits for its exit. Its state stays in the directory. A second call has
// no effect. It returns an error if the process had failed before or had to be killed.
func (c *ControlPlane) Stop() error {
	c.mutex.Lock()
	c.stopping = true
	c.mutex.Unlock()
	if err := c.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	select {
	case <-c.done:
		return c.err
	case <-time.After(stopPatience):
	}
	if err := c.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the control plane: %w", err)
	}
	<-c.done
	return fmt.Errorf("the control plane did not stop within %s and was killed; its log is %s", stopPatience, c.logPath)
}

// run starts the command and the goroutine that waits for its end, which lives exactly as long as
// the process.
func (c *ControlPlane) run(command *exec.Cmd, log io.Writer) error {
	file, writer, err := openLog(c.logPath, log)
	if err != nil {
		return err
	}
	started, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		_ = file.Close()
		return fmt.Errorf("opening the log: %w", err)
	}
	command.Stderr = writer
	output, err := command.StdoutPipe()
	if err != nil {
		_ = file.Close()
		return err
	}
	if c.input, err = command.StdinPipe(); err != nil {
		_ = file.Close()
		return err
	}
	if err := command.Start(); err != nil {
		_ = file.Close()
		return fmt.Errorf("running %q: %w", command.Path, err)
	}
	c.process = command.Process
	go func() {
		defer close(c.done)
		defer func() { _ = file.Close() }()
		lines := bufio.NewScanner(output)
		for announced := false; lines.Scan(); {
			if !announced && lines.Text() == "ready" {
				announced = true
				close(c.ready)
			}
		}
		// A line too long to scan must not leave the process writing into a full pipe.
		_, _ = io.Copy(io.Discard, output)
		err := command.Wait()
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.stopping && err == nil {
			return
		}
		if err == nil {
			err = errors.New("unasked")
		}
		c.err = fmt.Errorf("the control plane ended: %w; the end of its log, %s:\n%s", err, c.logPath, tail(file, started))
	}()
	return nil
}

// waitUntilReady waits for the process to say so.
func (c *ControlPlane) waitUntilReady(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.done:
		// Stop, which the caller is about to call, returns the same error.
		return errors.New("it ended before it was ready")
	case <-ctx.Done():
		return fmt.Errorf("waiting until it is ready (its log is %s): %w", c.logPath, context.Cause(ctx))
	}
}

// tail returns the last lines of the log since an offset.
func tail(file *os.File, since int64) string {
	const most = 16 << 10
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	content := make([]byte, min(most, max(0, end-since)))
	if _, err := file.ReadAt(content, end-int64(len(content))); err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-logTailLines):], "\n")
}
