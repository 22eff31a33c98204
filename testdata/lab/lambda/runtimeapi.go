package lambda

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Sizes that Lambda takes, https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
const (
	maximumPayload      = 6 << 20
	maximumAsyncPayload = 1 << 20
)

// functionError describes a failure, as the function or Lambda reports it.
type functionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
	// payload is the whole answer as the caller gets it.
	payload []byte
}

func newFunctionError(errorType, format string, args ...any) *functionError {
	e := &functionError{Type: errorType, Message: fmt.Sprintf(format, args...)}
	e.payload, _ = json.Marshal(e)
	return e
}

// runtimeAPI is the API that the process calls,
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
func (sb *sandbox) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", sb.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", sb.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", sb.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", sb.serveInitError)
	return mux
}

func (sb *sandbox) serveNext(w http.ResponseWriter, r *http.Request) {
	select {
	case <-sb.ready:
		sb.function.release(sb)
	default:
		elapsed := time.Since(sb.born)
		sb.initDuration = atShare(elapsed, sb.usage().processor, sb.configuration.MemoryMB)
		close(sb.ready)
	}
	select {
	case invocation := <-sb.work:
		header := w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Lambda-Runtime-Aws-Request-Id", invocation.requestID)
		header.Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(invocation.deadline.UnixMilli()))
		header.Set("Lambda-Runtime-Invoked-Function-Arn", invocation.functionARN)
		header.Set("Lambda-Runtime-Trace-Id", invocation.trace)
		_, _ = w.Write(invocation.payload)
	case <-r.Context().Done():
	case <-sb.exited:
	}
}

func (sb *sandbox) serveResponse(w http.ResponseWriter, r *http.Request) {
	payload, err := io.ReadAll(io.LimitReader(r.Body, maximumPayload+1))
	if err != nil {
		runtimeError(w, http.StatusBadRequest, "InvalidRequest", err.Error())
		return
	}
	if len(payload) > maximumPayload {
		tooLarge := newFunctionError("Function.ResponseSizeTooLarge",
			"Response payload size exceeded maximum allowed payload size (%d bytes).", maximumPayload)
		sb.answer(w, r, nil, tooLarge)
		return
	}
	sb.answer(w, r, payload, nil)
}

func (sb *sandbox) serveError(w http.ResponseWriter, r *http.Request) {
	failure, err := readFunctionError(r)
	if err != nil {
		runtimeError(w, http.StatusBadRequest, "InvalidRequest", err.Error())
		return
	}
	sb.answer(w, r, nil, failure)
}

// answer ends the invocation that the path names, after all that the process had written before.
func (sb *sandbox) answer(w http.ResponseWriter, r *http.Request, payload []byte, failure *functionError) {
	ended := time.Now()
	sb.output.sync()
	sb.mu.Lock()
	invocation := sb.current
	sb.mu.Unlock()
	if invocation == nil || invocation.requestID != r.PathValue("id") {
		runtimeError(w, http.StatusBadRequest, "InvalidRequestID", "Invalid request ID")
		return
	}
	invocation.finish(outcome{payload: payload, failure: failure, ended: ended})
	if failure != nil && failure.Type == "Function.ResponseSizeTooLarge" {
		runtimeError(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", failure.Message)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func (sb *sandbox) serveInitError(w http.ResponseWriter, r *http.Request) {
	failure, err := readFunctionError(r)
	if err != nil {
		runtimeError(w, http.StatusBadRequest, "InvalidRequest", err.Error())
		return
	}
	sb.mu.Lock()
	sb.initError = failure
	sb.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func readFunctionError(r *http.Request) (*functionError, error) {
	payload, err := io.ReadAll(io.LimitReader(r.Body, maximumPayload))
	if err != nil {
		return nil, err
	}
	failure := &functionError{payload: payload}
	if json.Unmarshal(payload, failure) != nil {
		failure.Message = string(payload)
	}
	if failure.Type == "" {
		failure.Type = r.Header.Get("Lambda-Runtime-Function-Error-Type")
	}
	if failure.Type == "" {
		failure.Type = "Unhandled"
	}
	return failure, nil
}

func runtimeError(w http.ResponseWriter, status int, errorType, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"errorType": errorType, "errorMessage": message})
}
