package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Register makes the server answer Lambda's REST API.
func (s *Service) Register(server *wire.Server) { server.Register("lambda", restAPI{s}) }

type restAPI struct{ service *Service }

// invocation is the path of Invoke, with the name or the ARN of the function.
var invocation = regexp.MustCompile(`^/2015-03-31/functions/([^/]+)/invocations$`)

// Describe names the action, so that rights can be checked and calls recorded by it.
func (a restAPI) Describe(c *wire.Call) string {
	switch call := c.HTTP.Method + " " + strings.TrimSuffix(c.HTTP.URL.Path, "/"); {
	case call == "GET /2016-08-19/account-settings":
		return "GetAccountSettings"
	case c.HTTP.Method == http.MethodPost && invocation.MatchString(c.HTTP.URL.Path):
		return "Invoke"
	default:
		return ""
	}
}

// Serve answers one call.
func (a restAPI) Serve(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	switch a.Describe(c) {
	case "GetAccountSettings":
		return a.service.accountSettings()
	case "Invoke":
		f, err := a.service.find(invocation.FindStringSubmatch(c.HTTP.URL.Path)[1])
		if err != nil {
			return nil, asAnswer(err)
		}
		if qualifier := c.HTTP.URL.Query().Get("Qualifier"); qualifier != "" && qualifier != "$LATEST" {
			return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound,
				"Function not found: %s:%s (only $LATEST is simulated)", f.arn, qualifier)
		}
		return a.service.serveInvoke(ctx, c, f)
	default:
		return nil, wire.Errorf("UnknownOperationException", http.StatusNotFound,
			"the local Lambda has no %s %s; it simulates Invoke and GetAccountSettings", c.HTTP.Method, c.HTTP.URL.Path)
	}
}

// concurrentExecutions is the quota of an account that is not new.
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
const concurrentExecutions = 1000

// accountSettings answers GetAccountSettings.
func (s *Service) accountSettings() (*wire.Response, error) {
	s.mu.Lock()
	count := len(s.functions)
	s.mu.Unlock()
	return wire.JSON(map[string]any{
		"AccountLimit": map[string]int{
			"ConcurrentExecutions": concurrentExecutions, "UnreservedConcurrentExecutions": concurrentExecutions,
		},
		"AccountUsage": map[string]int{"FunctionCount": count},
	})
}

// asAnswer returns the service's own errors their AWS codes.
func asAnswer(err error) error {
	switch {
	case errors.Is(err, errNotFound):
		return wire.Errorf("ResourceNotFoundException", http.StatusNotFound, "Function not found: %v", err)
	case errors.Is(err, errThrottled):
		e := wire.Errorf("TooManyRequestsException", http.StatusTooManyRequests, "Rate Exceeded. (%v)", err)
		e.Fields = map[string]any{"Reason": "ConcurrentInvocationLimitExceeded"}
		return e
	case errors.Is(err, errTooLarge):
		return wire.Errorf("RequestTooLargeException", http.StatusRequestEntityTooLarge, "%v", err)
	default:
		return err
	}
}

func (s *Service) serveInvoke(ctx context.Context, c *wire.Call, f *function) (*wire.Response, error) {
	if len(c.Body) > 0 && !json.Valid(c.Body) {
		return nil, wire.Errorf("InvalidRequestContentException", http.StatusBadRequest,
			"Could not parse request body into json: the payload of %d bytes is not JSON", len(c.Body))
	}
	payload := c.Body
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	r := request{requestID: c.RequestID, trigger: "request", payload: payload}
	if trace := c.HTTP.Header.Get("X-Amzn-Trace-Id"); trace != "" {
		if f.loops(trace) {
			return nil, wire.Errorf("RecursiveInvocationException", http.StatusBadRequest,
				"function %s was invoked %d times in one chain of events; Lambda stops such loops", f.name, maximumLoop)
		}
		r.traces = []string{trace}
	}
	switch kind := c.HTTP.Header.Get("X-Amz-Invocation-Type"); kind {
	case "", "RequestResponse":
	case "Event":
		r.trigger = "event"
		if err := s.queueEvent(f.name, r); err != nil {
			return nil, asAnswer(err)
		}
		return &wire.Response{Status: http.StatusAccepted}, nil
	default:
		return nil, wire.Errorf("InvalidParameterValueException", http.StatusBadRequest,
			"the local Lambda does not hold the invocation type %q: it is RequestResponse or Event", kind)
	}
	for _, refused := range []string{"X-Amz-Client-Context", "X-Amz-Log-Type"} {
		if value := c.HTTP.Header.Get(refused); value != "" && value != "None" {
			return nil, wire.Errorf("InvalidParameterValueException", http.StatusBadRequest,
				"the local Lambda does not hold the header %s", refused)
		}
	}
	out, err := s.run(ctx, f, r)
	if err != nil {
		return nil, asAnswer(err)
	}
	response := &wire.Response{Status: http.StatusOK, Header: http.Header{}, Body: out.payload}
	response.Header.Set("Content-Type", "application/json")
	response.Header.Set("X-Amz-Executed-Version", "$LATEST")
	if out.failure != nil {
		response.Header.Set("X-Amz-Function-Error", "Unhandled")
	}
	return response, nil
}
