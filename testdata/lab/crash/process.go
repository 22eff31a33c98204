package crash

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// startProcess runs a function's program as Lambda does.
func (w *World) startProcess(name string) (*function, error) {
	f, command := newFunction(name), exec.Command(filepath.Join(w.binaries, name))
	w.started++
	id := fmt.Sprintf("%s-%d", name, w.started)
	command.Env = append(w.account.environment(), w.clock.Setting(),
		"AWS_LAMBDA_RUNTIME_API="+w.runtime.address+"/"+id, "AWS_LAMBDA_FUNCTION_NAME="+name,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024", "AWS_ENDPOINT_URL="+w.gate.awsURL)
	if w.requests {
		command.Env = append(command.Env, "PROVISIONING_REQUESTS=true")
	}
	command.Stdout, command.Stderr = &w.log, &w.log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.runtime.add(id, f) // before it asks for work
	if err := command.Start(); err != nil {
		w.runtime.remove(id)
		return nil, fmt.Errorf("starting function %s: %w", name, err)
	}
	f.kill = func() {
		// Kill fails only if the process has exited already.
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		<-f.exited
	}
	w.processes.Add(1)
	go func() {
		defer w.processes.Done()
		_ = command.Wait() // killed, as a rule
		close(f.exited)
		w.runtime.remove(id)
	}()
	return f, nil
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
