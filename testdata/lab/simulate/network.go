package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// apiHost is the address of the cluster's API servers.
const apiHost = "api.simulated.test"

var (
	errKilled  = errors.New("the function was killed")
	errNetwork = errors.New("connection reset by peer")
)

// call is one HTTP request of a function on its way.
type call struct {
	invocation *invocation
	request    *http.Request
	body       []byte
	name       string // of the call in all choices: function, invocation, number
	what       string // for people
	named      string // the AWS operation, once someone asked
	sent       time.Time
	number     int // of the call in its invocation
	answered   bool
	answers    chan answer
}

type answer struct {
	response *http.Response
	err      error
}

// network is the network of one container. It implements http.RoundTripper.
type network struct {
	run  *Run
	dead atomic.Bool
	// current is the invocation that the container has.
	current atomic.Pointer[invocation]
	// server is the API server that the container is connected to.
	server int
}

// RoundTrip waits until the simulation has answered the call, or the caller has given up.
func (n *network) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		_ = request.Body.Close() // it was read
		if err != nil {
			return nil, err
		}
	}
	invocation := n.current.Load()
	if n.dead.Load() || invocation == nil {
		return nil, errKilled
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	c := &call{invocation: invocation, request: request, body: body, answers: make(chan answer, 1)}
	n.run.engine.Arrive(c.key(), func() { n.run.place(c) })
	select {
	case given := <-c.answers:
		return given.response, given.err
	case <-request.Context().Done():
		return nil, request.Context().Err()
	case <-n.run.over: // some calls outlive their invocation's context
		return nil, errKilled
	}
}

// key puts calls that arrive at one moment in order. It does not depend on which goroutine came first.
func (c *call) key() string {
	sum := fnv.New64a()
	_, _ = sum.Write(c.stableBody()) // a hash takes everything
	return fmt.Sprintf("call %s %s %s %s?%s %016x", c.invocation.name, c.request.URL.Host, c.operation(),
		c.request.URL.Path, c.request.URL.RawQuery, sum.Sum64())
}

// stableBody is the body without a client token that the SDK drew at random.
func (c *call) stableBody() []byte {
	const field = "&ClientToken="
	begins := bytes.Index(c.body, []byte(field))
	if begins < 0 || c.operation() == "CreateFleet" {
		return c.body
	}
	rest := c.body[begins+len(field):]
	if ends := bytes.IndexByte(rest, '&'); ends >= 0 {
		return slices.Concat(c.body[:begins], rest[ends:])
	}
	return c.body[:begins]
}

// isKubernetes reports whether the call goes to an API server.
func (c *call) isKubernetes() bool { return c.request.URL.Host == apiHost }

// operation is the AWS operation, or the verb and resource of Kubernetes.
func (c *call) operation() string {
	if c.isKubernetes() {
		return c.request.Method + " " + c.request.URL.Path
	}
	if c.named == "" {
		c.named = c.action()
	}
	return c.named
}

// action is the AWS operation as the request says it.
func (c *call) action() string {
	if target := c.request.Header.Get("X-Amz-Target"); target != "" {
		return target[strings.LastIndexByte(target, '.')+1:]
	}
	if strings.HasPrefix(c.request.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(c.body))
		if err == nil && form.Get("Action") != "" {
			return form.Get("Action")
		}
	}
	return c.request.Method + " " + c.request.URL.Path
}

// short describes the call in a line.
func (c *call) short() string {
	if !c.isKubernetes() {
		host, _, _ := strings.Cut(c.request.URL.Host, ".")
		return host + " " + c.operation()
	}
	path := c.request.URL.Path
	if query := c.request.URL.Query(); len(query) > 0 {
		query.Del("fieldManager")
		query.Del("timeout")
		query.Del("limit")
		query.Del("continue")
		if encoded := query.Encode(); encoded != "" {
			path += "?" + encoded
		}
	}
	return c.request.Method + " " + path
}

// reply answers the call, unless it was answered.
func (c *call) reply(response *http.Response, err error) {
	if c.answered {
		return
	}
	c.answered = true
	c.answers <- answer{response, err}
}

// times of a healthy network.
const (
	leastLatency, mostLatency = 2 * time.Millisecond, 60 * time.Millisecond
)

// place decides what becomes of a call that was sent.
func (r *Run) place(c *call) {
	if c.invocation.network.dead.Load() {
		c.reply(nil, errKilled)
		return
	}
	c.invocation.calls++
	r.result.Calls++
	c.sent, c.number = time.Now(), c.invocation.calls
	c.name = fmt.Sprintf("%s/%d", c.invocation.name, c.invocation.calls)
	c.what = c.short()
	fate := r.weather.fate(c)
	if fate.killBefore {
		r.trace("%s %s: killed before it", c.name, c.what)
		r.kill(c.invocation, "at a call")
		c.reply(nil, errKilled)
		return
	}
	there := r.engine.Between(leastLatency, mostLatency, c.name, "there") + fate.delay
	back := r.engine.Between(leastLatency, mostLatency, c.name, "back") + fate.delayBack
	if fate.dropped {
		r.trace("%s %s: lost on its way", c.name, c.what)
		r.engine.In(there, func() { c.reply(nil, fmt.Errorf("%s: %w", c.request.URL.Host, errNetwork)) })
		return
	}
	if fate.late > 0 {
		r.trace("%s %s: arrives %s late", c.name, c.what, fate.late)
		there += fate.late
	}
	c.noteRead()
	r.decided(c)
	r.engine.In(there, func() { r.carryOut(c, fate, back) })
}

// carryOut lets a call have its effect, and sends the answer.
func (r *Run) carryOut(c *call, fate fate, back time.Duration) {
	if c.isKubernetes() && apiserver.IsWatch(c.request) {
		r.watch(c, back)
		return
	}
	var response *http.Response
	switch {
	case fate.refused:
		response = refusal(c)
	case c.isKubernetes():
		r.noteControl(c)
		response = r.servers[c.invocation.network.server].Serve(c.request, c.body)
	default:
		response = r.aws(c)
	}
	r.result.Done[c.invocation.function+" "+operationOf(c)]++
	r.trace("%s %s -> %d%s", c.name, c.what, response.StatusCode, r.seen(c, response))
	r.effects(c, response)
	switch {
	case fate.killAfter:
		r.trace("%s: killed after it", c.name)
		r.kill(c.invocation, "after a call")
	case fate.lost:
		r.trace("%s: its answer is lost", c.name)
		r.engine.In(back, func() { c.reply(nil, fmt.Errorf("%s: %w", c.request.URL.Host, errNetwork)) })
	default:
		r.engine.In(back, func() { c.reply(response, nil) })
	}
}

// operationOf names a kind of call for counts.
func operationOf(c *call) string {
	if !c.isKubernetes() {
		return c.operation()
	}
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(c.request.URL.Path, "/apis/"), "/api/"), "/")
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			return c.request.Method + " " + parts[i+2]
		}
		switch part {
		case "pods", "nodes", "nodeclaims", "nodepools", "ec2nodeclasses", "leases", "events", "configmaps":
			return c.request.Method + " " + part
		}
	}
	return c.request.Method
}

// seen adds what a person wants to know of an answer.
func (r *Run) seen(c *call, response *http.Response) string {
	if response.StatusCode < 400 {
		return ""
	}
	content, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // it is in memory
	if err != nil {
		return ""
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	if strings.Contains(response.Header.Get("Content-Type"), "protobuf") {
		return ""
	}
	text := strings.Join(strings.Fields(string(content)), " ")
	if at := strings.Index(text, `"message":`); at >= 0 && c.isKubernetes() {
		text = text[at:]
	}
	return " " + text[:min(len(text), 200)]
}

// refusal is an answer of a service that has too much to do.
func refusal(c *call) *http.Response {
	recorder := httptest.NewRecorder()
	switch {
	case c.isKubernetes():
		recorder.Header().Set("Retry-After", "1")
		recorder.Header().Set("Content-Type", "application/json")
		recorder.WriteHeader(http.StatusTooManyRequests)
		_, _ = recorder.WriteString(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests",` +
			`"message":"too many requests, please try again later","details":{"retryAfterSeconds":1},"code":429}`)
	case strings.HasPrefix(c.request.URL.Host, "ec2."):
		recorder.Header().Set("Content-Type", "text/xml")
		recorder.WriteHeader(http.StatusServiceUnavailable)
		_, _ = recorder.WriteString(`<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit ` +
			`exceeded.</Message></Error></Errors><RequestID>simulated</RequestID></Response>`)
	default:
		recorder.Header().Set("Content-Type", "application/x-amz-json-1.1")
		recorder.Header().Set("X-Amzn-Errortype", "ThrottlingException")
		recorder.WriteHeader(http.StatusBadRequest)
		_, _ = recorder.WriteString(`{"__type":"ThrottlingException","message":"Rate exceeded"}`)
	}
	response := recorder.Result()
	response.Request = c.request
	return response
}

// aws answers a call to AWS by the local services.
func (r *Run) aws(c *call) *http.Response {
	request := c.request.Clone(context.Background())
	request.Body = io.NopCloser(bytes.NewReader(c.body))
	recorder := httptest.NewRecorder()
	r.calling = c.name
	r.server.ServeHTTP(recorder, request)
	if strings.HasPrefix(request.URL.Host, "ec2.") && !strings.HasPrefix(c.operation(), "Describe") {
		r.instances = nil
	}
	response := recorder.Result()
	response.Request = c.request
	return response
}
