package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Moto is a running moto server on loopback.
type Moto struct {
	URL     string
	command *exec.Cmd
	cancel  context.CancelFunc
	ended   chan error
}

// startTimeout limits the wait for the server's address.
const startTimeout = time.Minute

// StartMoto prepares the environment and runs a moto server in it until the test ends.
func StartMoto(t testing.TB) (*Environment, *Moto) {
	t.Helper()
	environment, err := Prepare(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	moto, err := environment.start(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(moto.close)
	return environment, moto
}

// start runs a moto server on a free port of 127.0.0.1.
func (e *Environment) start(ctx context.Context) (*Moto, error) {
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, e.Python, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0")
	command.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "NO_COLOR=1", "MOTO_IAM_LOAD_MANAGED_POLICIES=false")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	output, err := command.StderrPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := command.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting moto: %w", err)
	}
	m := &Moto{command: command, cancel: cancel, ended: make(chan error, 1)}
	address := make(chan string, 1)
	go func() {
		said := []string{}
		running := regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if match := running.FindStringSubmatch(lines.Text()); match != nil {
				address <- match[1]
			}
			said = append(said, lines.Text())
			said = said[max(0, len(said)-20):]
		}
		err := command.Wait()
		m.ended <- fmt.Errorf("moto ended (%w): %s", errors.Join(err), strings.Join(said, "\n"))
	}()
	select {
	case m.URL = <-address:
		return m, nil
	case err := <-m.ended:
		cancel()
		return nil, err
	case <-time.After(startTimeout):
		cancel()
		<-m.ended
		return nil, fmt.Errorf("moto did not tell its address within %s", startTimeout)
	}
}

// close ends the server.
func (m *Moto) close() {
	m.cancel()
	<-m.ended
}

// Config is the configuration of an SDK client for the server.
func (m *Moto) Config() aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: &m.URL, Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
}

// AccountID and Region are moto's, and those of the local AWS that is held against it.
const AccountID, Region = "123456789012", "us-east-1"
