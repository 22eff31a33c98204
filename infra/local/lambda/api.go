package lambda

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Register makes the server answer Lambda's REST API.
func (s *Service) Register(server *wire.Server) { server.Register("lambda", restAPI{s}) }

type restAPI struct{ service *Service }

// route finds the action of a method and path, and the name in the path.
func route(method, path string) (action, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 2 {
		return "", ""
	}
	kind, parts := parts[1], parts[2:]
	if len(parts) > 0 {
		name, parts = parts[0], parts[1:]
	}
	key := method + " " + kind
	if name != "" {
		key += "/*"
	}
	if len(parts) > 0 {
		key += "/" + strings.Join(parts, "/")
	}
	return map[string]string{
		"POST functions/*/invocations":        "Invoke",
		"GET account-settings":                "GetAccountSettings",
		"GET functions":                       "ListFunctions",
		"GET functions/*":                     "GetFunction",
		"GET functions/*/configuration":       "GetFunctionConfiguration",
		"PUT functions/*/configuration":       "UpdateFunctionConfiguration",
		"GET functions/*/concurrency":         "GetFunctionConcurrency",
		"GET event-source-mappings":           "ListEventSourceMappings",
		"GET event-source-mappings/*":         "GetEventSourceMapping",
		"PUT event-source-mappings/*":         "UpdateEventSourceMapping",
		"GET tags/*":                          "ListTags",
		"GET functions/*/code-signing-config": "GetFunctionCodeSigningConfig",
	}[key], name
}

// Describe names the action, so that rights can be checked and calls recorded by it.
func (a restAPI) Describe(c *wire.Call) string {
	action, _ := route(c.HTTP.Method, c.HTTP.URL.Path)
	return action
}

// Serve answers one call.
func (a restAPI) Serve(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	action, name := route(c.HTTP.Method, c.HTTP.URL.EscapedPath())
	name, err := url.PathUnescape(name)
	if err != nil {
		return nil, wire.Errorf("InvalidParameterValueException", http.StatusBadRequest, "%q is not a name: %v", name, err)
	}
	s := a.service
	switch action {
	case "GetAccountSettings":
		return s.accountSettings()
	case "ListFunctions":
		return s.listFunctions()
	case "ListEventSourceMappings":
		return s.listMappings(c)
	case "GetEventSourceMapping", "UpdateEventSourceMapping":
		return s.serveMapping(c, name, action == "UpdateEventSourceMapping")
	case "":
		return nil, wire.Errorf("UnknownOperationException", http.StatusNotFound,
			"the local Lambda has no %s %s; it simulates Invoke, GetAccountSettings, GetFunction, GetFunctionConfiguration, "+
				"UpdateFunctionConfiguration, ListFunctions, GetFunctionConcurrency, ListTags and the reading and "+
				"updating of event source mappings", c.HTTP.Method, c.HTTP.URL.Path)
	}
	f, err := s.find(name)
	if err != nil {
		return nil, asAnswer(err)
	}
	if qualifier := c.HTTP.URL.Query().Get("Qualifier"); qualifier != "" && qualifier != "$LATEST" {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound,
			"Function not found: %s:%s (only $LATEST is simulated)", f.arn, qualifier)
	}
	return s.serveFunction(ctx, c, f, action)
}

// concurrentExecutions is the quota of an account that is not new.
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
const concurrentExecutions = 1000

// accountSettings answers GetAccountSettings.
func (s *Service) accountSettings() (*wire.Response, error) {
	s.mu.Lock()
	unreserved, count := concurrentExecutions, len(s.functions)
	for _, f := range s.functions {
		if reserved := f.settings().ReservedConcurrency; reserved != nil {
			unreserved -= *reserved
		}
	}
	s.mu.Unlock()
	return wire.JSON(map[string]any{
		"AccountLimit": map[string]int{
			"ConcurrentExecutions": concurrentExecutions, "UnreservedConcurrentExecutions": unreserved,
		},
		"AccountUsage": map[string]int{"FunctionCount": count},
	})
}

// serveFunction answers a call about one function.
func (s *Service) serveFunction(ctx context.Context, c *wire.Call, f *function, action string) (*wire.Response, error) {
	switch action {
	case "Invoke":
		return s.serveInvoke(ctx, c, f)
	case "GetFunction":
		return f.serveFunction()
	case "GetFunctionConfiguration":
		return wire.JSON(f.describe())
	case "UpdateFunctionConfiguration":
		return s.updateConfiguration(c, f)
	case "GetFunctionConcurrency":
		if settings := f.settings(); settings.ReservedConcurrency != nil {
			return wire.JSON(map[string]int{"ReservedConcurrentExecutions": *settings.ReservedConcurrency})
		}
		return wire.JSON(struct{}{})
	case "ListTags":
		return wire.JSON(map[string]any{"Tags": f.settings().Tags})
	default: // GetFunctionCodeSigningConfig: there is never one
		return wire.JSON(map[string]string{"FunctionName": f.name})
	}
}

// serveFunction answers GetFunction.
func (f *function) serveFunction() (*wire.Response, error) {
	configuration := f.describe()
	out := map[string]any{
		"Configuration": configuration,
		"Code":          map[string]string{"RepositoryType": "S3", "Location": "file://" + f.codeDirectory()},
	}
	settings := f.settings()
	if len(settings.Tags) > 0 {
		out["Tags"] = settings.Tags
	}
	if settings.ReservedConcurrency != nil {
		out["Concurrency"] = map[string]int{"ReservedConcurrentExecutions": *settings.ReservedConcurrency}
	}
	return wire.JSON(out)
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
	switch invocation := c.HTTP.Header.Get("X-Amz-Invocation-Type"); invocation {
	case "", "RequestResponse":
	case "Event":
		r.trigger = "event"
		if err := s.queueEvent(f.name, r); err != nil {
			return nil, asAnswer(err)
		}
		return &wire.Response{Status: http.StatusAccepted}, nil
	case "DryRun":
		return &wire.Response{Status: http.StatusNoContent}, nil
	default:
		return nil, wire.Errorf("InvalidParameterValueException", http.StatusBadRequest,
			"invocation type %q: it is RequestResponse, Event or DryRun", invocation)
	}
	r.clientContext = decodeContext(c.HTTP.Header.Get("X-Amz-Client-Context"))
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
	if c.HTTP.Header.Get("X-Amz-Log-Type") == "Tail" {
		response.Header.Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString([]byte(out.tail)))
	}
	return response, nil
}

// decodeContext is the client context as the runtime gets it: the JSON that callers send in base64.
func decodeContext(header string) string {
	decoded, err := base64.StdEncoding.DecodeString(header)
	if err != nil || !json.Valid(decoded) {
		return ""
	}
	return strings.ReplaceAll(string(decoded), "\n", " ")
}

// describe is the function's configuration as the API gives it.
func (f *function) describe() map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.configuration
	out := map[string]any{
		"FunctionName": c.Name, "FunctionArn": f.arn, "Runtime": c.Runtime, "Role": c.Role, "Handler": c.Handler,
		"Description": c.Description,
		"CodeSize":    f.code.size, "CodeSha256": f.code.sha256, "Timeout": int(c.Timeout.Seconds()),
		"MemorySize": c.MemoryMB,
		"LastModified": f.modified.UTC().Format(
			"2006-01-02T15:04:05.000+0000"), "Version": "$LATEST", "RevisionId": f.revision,
		"State": "Active", "LastUpdateStatus": "Successful", "PackageType": "Zip", "Architectures": []string{c.Architecture},
		"TracingConfig": map[string]string{"Mode": "PassThrough"}, "EphemeralStorage": map[string]int{"Size": 512},
		"LoggingConfig": map[string]string{"LogFormat": c.LogFormat, "LogGroup": c.LogGroup},
	}
	if len(c.Environment) > 0 {
		out["Environment"] = map[string]any{"Variables": c.clone().Environment}
	}
	if c.DeadLetterTarget != "" {
		out["DeadLetterConfig"] = map[string]string{"TargetArn": c.DeadLetterTarget}
	}
	return out
}

func (f *function) codeDirectory() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.code.directory
}

func (s *Service) listFunctions() (*wire.Response, error) {
	s.mu.Lock()
	functions := make([]*function, 0, len(s.functions))
	for _, f := range s.functions {
		functions = append(functions, f)
	}
	s.mu.Unlock()
	slices.SortFunc(functions, func(a, b *function) int { return strings.Compare(a.name, b.name) })
	described := make([]map[string]any, len(functions))
	for i, f := range functions {
		described[i] = f.describe()
	}
	return wire.JSON(map[string]any{"Functions": described})
}

// updateConfiguration changes environment, memory, timeout and description.
func (s *Service) updateConfiguration(c *wire.Call, f *function) (*wire.Response, error) {
	var in struct {
		Environment *struct{ Variables map[string]string }
		MemorySize  *int
		Timeout     *int
		Description *string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	settings := f.settings()
	if in.Environment != nil {
		settings.Environment = in.Environment.Variables
	}
	if in.MemorySize != nil {
		settings.MemoryMB = *in.MemorySize
	}
	if in.Timeout != nil {
		settings.Timeout = time.Duration(*in.Timeout) * time.Second
	}
	if in.Description != nil {
		settings.Description = *in.Description
	}
	if err := settings.complete(); err != nil {
		return nil, wire.Errorf("InvalidParameterValueException", http.StatusBadRequest, "%v", err)
	}
	f.mu.Lock()
	unpacked := f.code
	f.mu.Unlock()
	f.replace(settings, unpacked)
	return wire.JSON(f.describe())
}

// describe is the mapping as the API gives it; the caller holds the service's lock.
func (m *mapping) describe() map[string]any {
	out := map[string]any{
		"UUID": m.id, "EventSourceArn": m.settings.queueARN, "FunctionArn": m.function.arn, "BatchSize": m.settings.batchSize,
		"MaximumBatchingWindowInSeconds": int(m.settings.window.Seconds()), "State": m.state,
		"StateTransitionReason": "USER_INITIATED",
		"LastModified":          wire.Time{Time: m.modified}, "FunctionResponseTypes": []string{},
		"EventSourceMappingArn": strings.Replace(m.service.arn(m.id), ":function:", ":event-source-mapping:", 1),
	}
	if m.settings.reportItemFailures {
		out["FunctionResponseTypes"] = []string{"ReportBatchItemFailures"}
	}
	if m.settings.maximumConcurrency > 0 {
		out["ScalingConfig"] = map[string]int{"MaximumConcurrency": m.settings.maximumConcurrency}
	}
	return out
}

func (s *Service) listMappings(c *wire.Call) (*wire.Response, error) {
	query := c.HTTP.URL.Query()
	var only *function
	if name := query.Get("FunctionName"); name != "" {
		f, err := s.find(name)
		if err != nil {
			return nil, asAnswer(err)
		}
		only = f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	described := []map[string]any{}
	for _, m := range s.mappings {
		if source := query.Get("EventSourceArn"); (only == nil || m.function == only) &&
			(source == "" || source == m.settings.queueARN) {
			described = append(described, m.describe())
		}
	}
	slices.SortFunc(described, func(a, b map[string]any) int {
		return strings.Compare(a["UUID"].(string), b["UUID"].(string))
	})
	return wire.JSON(map[string]any{"EventSourceMappings": described})
}

func (s *Service) serveMapping(c *wire.Call, id string, update bool) (*wire.Response, error) {
	s.mu.Lock()
	m := s.mappings[id]
	var settings mappingSettings
	if m != nil {
		settings = m.settings
	}
	s.mu.Unlock()
	if m == nil {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound,
			"The resource you requested does not exist: event source mapping %s", id)
	}
	if update {
		var in struct {
			Enabled                        *bool
			BatchSize                      *int
			MaximumBatchingWindowInSeconds *int
		}
		if err := c.DecodeJSON(&in); err != nil {
			return nil, err
		}
		if in.Enabled != nil {
			settings.enabled = *in.Enabled
		}
		if in.BatchSize != nil {
			settings.batchSize = *in.BatchSize
		}
		if in.MaximumBatchingWindowInSeconds != nil {
			settings.window = time.Duration(*in.MaximumBatchingWindowInSeconds) * time.Second
		}
		if err := m.change(settings); err != nil {
			return nil, wire.Errorf("InvalidParameterValueException", http.StatusBadRequest, "%v", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	response, err := wire.JSON(m.describe())
	if update && err == nil {
		response.Status = http.StatusAccepted
	}
	return response, err
}
