package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// serverName is the Server header of every answer.
const serverName = "whittle-local-aws (simulator)"

// shutdownGrace is how long Close waits for running calls before it cuts their connections.
const shutdownGrace = 3 * time.Second

// leastLatency is the minimum time before an answer longer than promptBody bytes. No service across
// a network is faster, and smithy-go (up to 1.28.8 at least) does not expect one. It closes the
// request's body when the head of an answer arrives. If net/http is not done with that body by
// then, it drops the connection and the rest of the answer. An answer within the client's first
// read of 4 kB arrives nevertheless.
const (
	leastLatency = 20 * time.Millisecond
	promptBody   = 3 << 10
)

// Server routes signed requests to services by the signing name in their credential scope, and
// unsigned ones to mounted handlers. Its methods are safe for concurrent use at any time.
type Server struct {
	latency   time.Duration // the least of long answers
	takes     func(c *Call, bytes int) time.Duration
	mu        sync.RWMutex
	handlers  map[string]Handler
	mounts    map[string]http.Handler
	identify  func(accessKeyID, sessionToken string) (Caller, error)
	secret    func(accessKeyID string) (secret string, known bool)
	authorize []func(ctx context.Context, c *Call) error
	observe   []func(CallRecord)
	calls     counts
	faults    *faulty
	url       string
	serving   *http.Server
	done      chan struct{}
}

// NewServer makes a server without services.
func NewServer() *Server {
	return &Server{latency: leastLatency, handlers: map[string]Handler{}, mounts: map[string]http.Handler{}}
}

// AnswerAtOnce makes the server answer without its least latency. It is for callers in the same process,
// which have no connections. It must be called before the first request.
func (s *Server) AnswerAtOnce() { s.latency = 0 }

// Delay makes each signed call take at least as long as takes says of the call and of its answer's size. The
// call has its effect before. It must be called before the first request.
func (s *Server) Delay(takes func(c *Call, bytes int) time.Duration) { s.takes = takes }

// Register makes h answer the calls signed for a service: "ec2", "sqs", "lambda", "events" and so
// on.
func (s *Server) Register(signingName string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[signingName] = h
}

// Mount makes h answer unsigned requests to paths that begin with prefix; of several the longest
// wins.
func (s *Server) Mount(prefix string, h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mounts[prefix] = h
}

// Authorize adds a question that is asked before each signed call; an *Error refuses the call.
func (s *Server) Authorize(f func(ctx context.Context, c *Call) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authorize = append(s.authorize, f)
}

// Identify sets the function that finds the caller behind an access key. Without it every caller is
// unknown and accepted.
func (s *Server) Identify(f func(accessKeyID, sessionToken string) (Caller, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identify = f
}

// VerifySignatures sets the function that finds an access key's secret. The server refuses calls
// with a wrong signature. Without it signatures are read and not checked.
func (s *Server) VerifySignatures(secret func(accessKeyID string) (string, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret = secret
}

// Observe adds a listener for finished calls. It runs before the answer is sent, so that the call
// is recorded when its answer arrives. It should be quick.
func (s *Server) Observe(f func(CallRecord)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe = append(s.observe, f)
}

// Listen starts to serve on a free port of 127.0.0.1 and gives the URL.
func (s *Server) Listen() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serving != nil {
		return "", errors.New("starting the local AWS: it is listening already at " + s.url)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("starting the local AWS: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	s.serving = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.done = make(chan struct{})
	serving, done := s.serving, s.done
	go func() {
		defer close(done)
		if err := serving.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			slog.Error("local AWS stopped serving", "error", err)
		}
	}()
	return s.url, nil
}

// URL is where the server listens; empty before Listen.
func (s *Server) URL() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.url
}

// Close stops listening, lets running calls finish for a few seconds and cuts off the rest. It has
// no effect on a server that never listened.
func (s *Server) Close() error {
	s.mu.Lock()
	serving, done := s.serving, s.done
	s.serving = nil
	s.mu.Unlock()
	if serving == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	err := serving.Shutdown(ctx)
	if err != nil {
		err = serving.Close()
	}
	<-done
	if err != nil {
		return fmt.Errorf("stopping the local AWS: %w", err)
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	w.Header().Set("Server", serverName)
	signature, err := ParseSignature(r)
	if signature == nil && err == nil {
		s.serveUnsigned(w, r)
		return
	}
	c := &Call{HTTP: r, RequestID: NewID(), Form: url.Values{}}
	var response *Response
	if err == nil {
		c.Service, c.Region = signature.Service, signature.Region
		response, err = s.serveCall(r.Context(), c, signature)
	}
	if errors.Is(err, errDropped) {
		cut(w)
		return
	}
	var failure *Error
	if err != nil {
		failure = asError(err)
		response = errorResponse(c, failure)
		// A caller that has hung up, such as one that is stopped in its long poll, is no failure.
		if failure.Status >= 500 && r.Context().Err() == nil {
			slog.Error("local AWS call failed", "service", c.Service, "action", c.Action, "error", failure.Message)
		}
	}
	if response.Status == 0 {
		response.Status = http.StatusOK
	}
	record := CallRecord{
		Time: started, Service: c.Service, Action: c.Action, Method: r.Method, Path: r.URL.Path, CallerARN: c.Caller.ARN,
		RoleARN:    c.Caller.RoleARN,
		Permission: c.Permission, Status: response.Status, Duration: time.Since(started), RequestID: c.RequestID,
	}
	if failure != nil {
		record.ErrorCode, record.ErrorMessage = failure.Code, failure.Message
	}
	s.calls.count(record)
	for _, f := range s.observers() {
		f(record)
	}
	time.Sleep(s.least(c, len(response.Body)) - time.Since(started))
	if c.lost {
		cut(w)
		return
	}
	writeResponse(w, c, response)
}

// least is the time before an answer of a size.
func (s *Server) least(c *Call, bytes int) time.Duration {
	var least time.Duration
	if bytes > promptBody {
		least = s.latency
	}
	if s.takes != nil {
		least = max(least, s.takes(c, bytes))
	}
	return least
}

// errDropped means that a call did not arrive.
var errDropped = errors.New("the network dropped the call")

func (s *Server) observers() []func(CallRecord) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.observe)
}

// serveCall takes a signed call through its steps: read, identify, verify, authorize, check its texts, serve.
func (s *Server) serveCall(ctx context.Context, c *Call, signature *Signature) (response *Response, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			slog.Error("local AWS handler panicked", "service", c.Service, "action", c.Action, "panic", cause, "stack",
				string(debug.Stack()))
			response, err = nil, fmt.Errorf("handler of %s panicked: %v", c.name(), cause)
		}
	}()
	if c.Body, err = readBody(c.HTTP, c.Service); err != nil {
		return nil, err
	}
	if err := readAction(c); err != nil {
		return nil, err
	}
	s.mu.RLock()
	handler, known := s.handlers[c.Service]
	identify, secret, authorize := s.identify, s.secret, slices.Clone(s.authorize)
	faults := s.faults
	services := slices.Sorted(maps.Keys(s.handlers))
	s.mu.RUnlock()
	if !known {
		return nil, Errorf("UnknownOperationException", http.StatusNotFound,
			"the local AWS has no service %q; it simulates %s", c.Service, strings.Join(services, ", "))
	}
	if err := authenticate(c, signature, identify, secret); err != nil {
		return nil, err
	}
	if describer, ok := handler.(Describer); ok && c.Action == "" {
		c.Action = describer.Describe(c)
	}
	switch faults.of(c) {
	case dropped:
		return nil, errDropped
	case lost:
		c.lost = true
	}
	for _, f := range authorize {
		if err := f(ctx, c); err != nil {
			return nil, err
		}
	}
	if err := checkTexts(c); err != nil {
		return nil, err
	}
	response, err = handler.Serve(ctx, c)
	if err == nil && response == nil {
		return nil, fmt.Errorf("handler of %s gave no answer", c.name())
	}
	return response, err
}

// authenticate finds the caller and verifies its signature. Without identify or secret it skips that
// step.
func authenticate(c *Call, signature *Signature,
	identify func(accessKeyID, sessionToken string) (Caller, error),
	secret func(accessKeyID string) (string, bool)) error {
	c.Caller.AccessKeyID = signature.AccessKeyID
	if identify != nil {
		caller, err := identify(signature.AccessKeyID, signature.SessionToken)
		if err != nil {
			return err
		}
		c.Caller = caller
	}
	if secret != nil {
		key, ok := secret(signature.AccessKeyID)
		if !ok {
			return Errorf("InvalidClientTokenId", http.StatusForbidden, "access key %s is not known to the local AWS",
				signature.AccessKeyID)
		}
		if err := signature.Verify(c.HTTP, c.Body, key, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// readAction fills Form and Action.
func readAction(c *Call) error {
	if target := c.HTTP.Header.Get("X-Amz-Target"); target != "" {
		_, after, found := strings.Cut(target, ".")
		if !found {
			return Errorf("UnknownOperationException", http.StatusBadRequest,
				"X-Amz-Target %.80q is not of the form SERVICE.ACTION", target)
		}
		c.Action = after[strings.LastIndexByte(after, '.')+1:]
		return nil
	}
	if c.Service == "s3" {
		return nil
	}
	form, err := url.ParseQuery(c.HTTP.URL.RawQuery)
	if err != nil {
		return Errorf("MalformedQueryString", http.StatusBadRequest, "the query of the URL is malformed: %v", err)
	}
	if strings.HasPrefix(c.HTTP.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		sent, err := url.ParseQuery(string(c.Body))
		if err != nil {
			return Errorf("MalformedQueryString", http.StatusBadRequest, "the form in the body is malformed: %v", err)
		}
		maps.Copy(form, sent)
	}
	c.Form = form
	c.Action = form.Get("Action")
	return nil
}

func (s *Server) serveUnsigned(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	longest := ""
	for prefix := range s.mounts {
		if strings.HasPrefix(r.URL.Path, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	mounted := s.mounts[longest]
	s.mu.RUnlock()
	if mounted != nil {
		mounted.ServeHTTP(w, r)
		return
	}
	c := &Call{HTTP: r, RequestID: NewID(), Form: r.URL.Query()}
	writeResponse(w, c, errorResponse(c, asError(Errorf("MissingAuthenticationToken", http.StatusForbidden,
		"the request to %s is not signed: the local AWS finds the service by the credential scope of the signature",
		r.URL.Path))))
}

func writeResponse(w http.ResponseWriter, c *Call, response *Response) {
	for name, values := range response.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.Header().Set("X-Amzn-Requestid", c.RequestID)
	if c.Service == "s3" {
		w.Header().Set("X-Amz-Request-Id", c.RequestID)
	}
	if w.Header().Get("Content-Type") == "" && len(response.Body) > 0 {
		w.Header().Set("Content-Type", jsonContentType(c))
	}
	w.WriteHeader(response.Status)
	if _, err := w.Write(response.Body); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		slog.Debug("local AWS client left before its answer", "service", c.Service, "action", c.Action, "error", err)
	}
}
