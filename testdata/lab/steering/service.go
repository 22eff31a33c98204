package steering

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/machine"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Prefix is where the interface is mounted.
const Prefix = "/local/"

// Service is the interface to one account's EC2 and its machines.
type Service struct {
	ec2      *ec2.Service
	machines *machine.Machines
	mux      *http.ServeMux
	// server mounts the interface and counts the calls.
	server *wire.Server
}

// New makes the interface.
func New(instances *ec2.Service, machines *machine.Machines) *Service {
	s := &Service{ec2: instances, machines: machines, mux: http.NewServeMux()}
	for _, o := range s.operations() {
		s.mux.HandleFunc(o.method+" "+o.path, respond(o.serve))
	}
	return s
}

// Register mounts the interface at the server.
func (s *Service) Register(server *wire.Server) {
	s.server = server
	server.Mount(Prefix, s)
}

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// operation is one thing that can be asked.
type operation struct {
	method, path string
	// body is an example of the request's body, empty for none.
	body, about string
	serve       func(r *http.Request) (any, error)
}

// respond writes an operation's result as JSON. Its errors are the caller's fault.
func respond(serve func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := serve(r)
		status := http.StatusOK
		if err != nil {
			status, out = http.StatusBadRequest, map[string]string{"error": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		// This fails only if the client is gone.
		_ = encoder.Encode(out)
	}
}

// done is the answer of operations without a result.
func done(err error) (any, error) { return map[string]bool{"done": true}, err }

// maxBody bounds a request: bodies are a few fields.
const maxBody = 64 << 10

// decode reads a body of known fields; an empty body leaves them all out.
func decode(r *http.Request, v any) error {
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the body of %s %s is not the JSON that it takes (GET %s shows it): %w", r.Method, r.URL.Path,
			Prefix, err)
	}
	return nil
}

// duration is a Go duration such as 90s in JSON. Nil means that it was left out.
type duration time.Duration

// UnmarshalJSON reads text such as "2m30s"; a time cannot be negative here.
func (d *duration) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("%s is not a duration such as \"90s\"", raw)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a duration such as 90s", text)
	}
	*d = duration(parsed)
	return nil
}

// or returns the duration, or another one where it was left out.
func (d *duration) or(otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	return time.Duration(*d)
}
