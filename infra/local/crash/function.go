package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// timeout is the time limit of an invocation by the function's clock. It allows a second round
	// of launches. It is short because a killed function holds its Lease until then.
	timeout = 30 * time.Second
	// stuck is the real time after which a function that neither answers nor exits counts as
	// failed.
	stuck = 3 * time.Minute
)

// errKilled is the error of an invocation whose process was killed.
var errKilled = errors.New("the function was killed")

// function is a process of one Lambda function. It has one invocation at a time.
type function struct {
	name    string
	command *exec.Cmd
	work    chan invocation
	answers chan answer
	exited  chan struct{}
}

type invocation struct {
	id       string
	payload  []byte
	deadline time.Time // by the function's clock
}

type answer struct {
	payload []byte
	failed  bool
}

// kill ends the process at once and returns when it has exited.
func (f *function) kill() {
	// Kill fails only if the process has exited already.
	_ = syscall.Kill(-f.command.Process.Pid, syscall.SIGKILL)
	<-f.exited
}

// gone reports whether the process has exited.
func (f *function) gone() bool {
	select {
	case <-f.exited:
		return true
	default:
		return false
	}
}

// start runs a function's program as Lambda does.
func (w *World) start(name string) (*function, error) {
	f := &function{
		name: name, command: exec.Command(filepath.Join(w.binaries, name)),
		work: make(chan invocation), answers: make(chan answer, 1), exited: make(chan struct{}),
	}
	w.started++
	id := fmt.Sprintf("%s-%d", name, w.started)
	f.command.Env = append(w.account.environment(), w.clock.Setting(),
		"AWS_LAMBDA_RUNTIME_API="+w.runtime.address+"/"+id, "AWS_LAMBDA_FUNCTION_NAME="+name,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024", "AWS_ENDPOINT_URL="+w.gate.awsURL)
	if w.requests {
		f.command.Env = append(f.command.Env, "PROVISIONING_REQUESTS=true")
	}
	f.command.Stdout, f.command.Stderr = &w.log, &w.log
	f.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.runtime.add(id, f) // before it asks for work
	if err := f.command.Start(); err != nil {
		w.runtime.remove(id)
		return nil, fmt.Errorf("starting function %s: %w", name, err)
	}
	w.processes.Add(1)
	go func() {
		defer w.processes.Done()
		_ = f.command.Wait() // killed, as a rule
		close(f.exited)
		w.runtime.remove(id)
	}()
	return f, nil
}

// invoke calls a function and waits for its answer. The process stays for the next call.
func (w *World) invoke(ctx context.Context, name string, event any) ([]byte, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	f := w.functions[name]
	if f == nil || f.gone() {
		if f, err = w.start(name); err != nil {
			return nil, err
		}
		w.functions[name] = f
	}
	w.gate.let(f)
	defer w.gate.let(nil)
	w.invocations++
	call := invocation{id: fmt.Sprintf("request-%d", w.invocations), payload: payload, deadline: w.now().Add(timeout)}
	limit := time.NewTimer(stuck)
	defer limit.Stop()
	select {
	case f.work <- call:
	case <-f.exited:
		return nil, errKilled
	case <-limit.C:
		f.kill()
		return nil, fmt.Errorf("function %s asked for no invocation within %s", name, stuck)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case given := <-f.answers:
		if given.failed {
			return nil, fmt.Errorf("function %s failed: %s", name, given.payload)
		}
		return given.payload, nil
	case <-f.exited:
		w.gate.carried.Wait() // calls already sent are carried out
		return nil, errKilled
	case <-limit.C:
		f.kill()
		return nil, fmt.Errorf("function %s did not answer within %s", name, stuck)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end ends all processes.
func (w *World) end() {
	for name, f := range w.functions {
		f.kill()
		delete(w.functions, name)
	}
	w.processes.Wait()
}

// runtimeAPI serves the Lambda Runtime API at one address, with a path for each process.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
type runtimeAPI struct {
	address string

	mutex     sync.Mutex
	functions map[string]*function // by the first part of the path
}

func (r *runtimeAPI) add(id string, f *function) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.functions[id] = f
}

func (r *runtimeAPI) remove(id string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.functions, id)
}

func (r *runtimeAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	id, path, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	r.mutex.Lock()
	f := r.functions[id]
	r.mutex.Unlock()
	switch {
	case f == nil:
		http.NotFound(w, request)
	case strings.HasSuffix(path, "/invocation/next"):
		select {
		case call := <-f.work:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", call.id)
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(call.deadline.UnixMilli()))
			w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:"+region+":"+accountID+":function:"+f.name)
			_, _ = w.Write(call.payload) // a process that is gone needs it no more
		case <-f.exited:
		case <-request.Context().Done():
		}
	default:
		payload, err := io.ReadAll(request.Body)
		if err != nil {
			return // killed while it answered
		}
		f.answers <- answer{payload: payload, failed: !strings.HasSuffix(path, "/response")}
		w.WriteHeader(http.StatusAccepted)
	}
}

// output collects the log lines of a trial's functions.
type output struct {
	mutex   sync.Mutex
	content bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.content.Write(p)
}

func (o *output) take() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	text := o.content.String()
	o.content.Reset()
	return text
}
