package crash

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/testdata/lab/apiproxy"
)

var (
	// errDead is the error of a call whose caller was killed. Nothing reads it.
	errDead = errors.New("the caller is dead")
	// errLost is the error of a call whose answer is lost.
	errLost = errors.New("connection reset by peer")
)

// gate is a proxy for all calls of the functions to AWS and to Kubernetes. It counts them, kills
// the caller where a trial asks for it, and has the trial check each call that was carried out.
type gate struct {
	awsURL, kubernetesURL string
	// answerURL is where CloudFormation waits for answers.
	answerURL string
	authority []byte // PEM; the authority of the gate's certificate

	lag     *apiproxy.Lag // to the API server, with all rights
	times   *times
	target  *url.URL
	servers []*http.Server
	serving sync.WaitGroup
	carried sync.WaitGroup // the calls on their way

	mutex    sync.Mutex
	function *function // the one that has an invocation
	trial    *trial
}

// let admits the calls of one function; nil admits none.
func (g *gate) let(f *function) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.function = f
}

// attach sets the trial that the next calls belong to.
func (g *gate) attach(t *trial) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.trial = t
}

func (g *gate) now() (*function, *trial) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.function, g.trial
}

// passage is a call that is being carried out.
type passage struct {
	caller *function
	trial  *trial
	end    fate
}

// opener is the context key of the function that had an invocation when a connection was opened.
type opener struct{}

// caller is the function that sent a request: the one that has an invocation. A killed process may
// have sent requests that are read while another process works, which have no caller any more.
func (g *gate) caller(request *http.Request) *function {
	f, _ := g.now()
	if by, _ := request.Context().Value(opener{}).(*function); by != nil && by != f {
		return nil
	}
	return f
}

// enter admits a call, unless its caller is dead or dies before the call. The caller of enter calls
// carried.Done when the call is through.
func (g *gate) enter(f *function, made request) (*passage, error) {
	_, t := g.now()
	if f == nil || t == nil || f.gone() {
		return nil, errDead
	}
	p := &passage{caller: f, trial: t, end: t.ledger.note(f.name, made)}
	if p.end == diesBefore {
		f.kill()
		return nil, errDead
	}
	g.carried.Add(1)
	return p, nil
}

// leave has the trial check the call's effect. It fails where the caller dies before it sees the
// answer.
func (p *passage) leave(ctx context.Context, carried effect) error {
	p.trial.check(context.WithoutCancel(ctx), carried)
	if p.end == diesAfter {
		p.caller.kill()
		return errDead
	}
	return nil
}

// ServeHTTP answers the functions' calls to AWS.
func (g *gate) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	answer, err := g.aws(g.caller(request), request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(answer.Code)
	_, _ = w.Write(g.times.shift(answer.Body.Bytes())) // a caller that is gone needs it no more
}

// aws carries out a function's call to AWS. The error is for a call without an answer.
func (g *gate) aws(f *function, request *http.Request) (*httptest.ResponseRecorder, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err // killed while it wrote
		}
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	made := awsRequest(request, body)
	passage, err := g.enter(f, made)
	if err != nil {
		return nil, err
	}
	defer g.carried.Done()
	recorder := httptest.NewRecorder()
	passage.trial.world.account.server.ServeHTTP(recorder, request)
	if recorder.Code == http.StatusOK && made.name == sendMessages {
		passage.trial.post(body)
	}
	err = passage.leave(request.Context(), effect{call: made.name, changes: made.name == "ec2:TerminateInstances"})
	if err == nil && passage.trial.loses(made) {
		err = errLost
	}
	return recorder, err
}

// groupsOf are those that the function's access entry puts it into.
func groupsOf(function string, requests bool) []string {
	if function == "install" {
		return []string{"system:masters"}
	}
	groups := []string{"whittle:" + function, "system:authenticated"}
	if function == "lifecycle" {
		groups = append(groups, "whittle:binding")
	}
	if requests {
		groups = append(groups, "whittle:provisioning-requests")
	}
	if requests && function == "provision" {
		groups = append(groups, "whittle:provisioning-requests-status")
	}
	return groups
}

// RoundTrip sends a function's call to Kubernetes.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	return g.kubernetes(g.caller(request), request)
}

// kubernetes carries out a function's call to Kubernetes. The error is for a call without an
// answer.
func (g *gate) kubernetes(f *function, request *http.Request) (*http.Response, error) {
	made, about, err := kubernetesRequest(request)
	if err != nil {
		return nil, err
	}
	passage, err := g.enter(f, made)
	if err != nil {
		return nil, err
	}
	defer g.carried.Done()
	// A call that was sent is carried out, even if its caller dies at another call meanwhile. An
	// eviction that ended halfway would hold its budget for two minutes.
	request = request.WithContext(context.WithoutCancel(request.Context()))
	// The rights are the function's own, as its access entry gives them.
	request.Header.Del("Authorization")
	request.Header.Set("Impersonate-User", "function")
	request.Header["Impersonate-Group"] = groupsOf(passage.caller.name, passage.trial.scenario.Requests)
	// The gate changes the times in the answers, and knows them in JSON. Lists of metadata alone have
	// no times that functions read.
	if g.times != nil && !strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		request.Header.Set("Accept", "application/json")
	}
	response, err := g.lag.RoundTrip(request)
	if err == nil {
		err = g.times.replace(response)
	}
	if err != nil {
		return nil, err
	}
	err = passage.leave(request.Context(), effect{
		call: made.name, object: about, refused: response.StatusCode == http.StatusForbidden,
		changes: request.Method != http.MethodGet && response.StatusCode < http.StatusMultipleChoices,
	})
	if err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// open starts to listen for calls to AWS and to Kubernetes.
func (g *gate) open(admin *rest.Config) error {
	forward, err := rest.TransportFor(admin)
	if err != nil {
		return err
	}
	if g.target, err = url.Parse(admin.Host); err != nil {
		return err
	}
	g.lag = apiproxy.NewLag(forward, g.target)
	proxy := &httputil.ReverseProxy{
		Transport: g,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(g.target) },
		// A failed call gives no answer, since its caller is dead.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	certificate, err := apiproxy.NewCertificate()
	if err != nil {
		return err
	}
	g.authority = certificate.Authority
	aws, err := g.serve(&http.Server{Handler: g, ReadHeaderTimeout: time.Minute})
	if err != nil {
		return err
	}
	kubernetes, err := g.serve(&http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute, TLSConfig: certificate.TLS()})
	g.awsURL, g.kubernetesURL = "http://"+aws, "https://"+kubernetes
	g.answerURL = g.awsURL + responsePath
	return err
}

// serve listens on a free port and gives the address.
func (g *gate) serve(server *http.Server) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	// A killed process leaves half-open connections. Errors about them are noise.
	server.ErrorLog = log.New(io.Discard, "", 0)
	server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		f, _ := g.now()
		return context.WithValue(ctx, opener{}, f)
	}
	g.servers = append(g.servers, server)
	g.serving.Add(1)
	go func() {
		defer g.serving.Done()
		// Both end with ErrServerClosed after close.
		if server.TLSConfig != nil {
			_ = server.ServeTLS(listener, "", "")
			return
		}
		_ = server.Serve(listener)
	}()
	return listener.Addr().String(), nil
}

func (g *gate) close() error {
	var failed error
	for _, server := range g.servers {
		failed = errors.Join(failed, server.Close())
	}
	g.serving.Wait()
	return failed
}
