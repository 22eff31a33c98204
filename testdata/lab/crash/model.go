package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	functions "github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/testdata/lab/apiproxy"
	"github.com/whittle-dev/whittle/testdata/lab/simulate"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	modelHost    = "api.crash.test"
	modelVersion = "1.36"
	// modelAuthority stands for the certificate of the cluster's authority, which nobody checks.
	modelAuthority = "-----BEGIN CERTIFICATE-----\nbW9kZWw=\n-----END CERTIFICATE-----\n"
)

// Model says how a world of models runs.
type Model struct {
	// Start starts a function's handler in this process.
	Start simulate.Starter
	// Bubble runs something in a bubble of testing/synctest of its own, and returns when it has ended.
	Bubble func(run func())
}

// model is what a world without processes stands on: a model of the API server, and handlers in
// this process, in virtual time. Each trial has new ones.
type model struct {
	Model
	world *World

	mutex  sync.Mutex
	store  *apiserver.Store
	server *apiserver.Server
}

// OpenModel creates a world in this process. Whittle's own functions write its catalogue and make
// its first class ready. Close ends nothing, because each trial ends what it has started.
func OpenModel(how Model) (*World, error) {
	w := &World{functions: map[string]*function{}, version: modelVersion, serviceCIDR: "10.100.0.0/16"}
	m := &model{Model: how, world: w}
	w.now, w.pass, w.start, w.renew, w.control = time.Now, sleep, m.start, m.renew, m.control
	w.bubble = how.Bubble
	var err error
	if w.types, err = offered(); err != nil {
		return nil, err
	}
	if w.prices, err = newPrices(w.types); err != nil {
		return nil, err
	}
	how.Bubble(func() {
		if err = m.renew(context.Background()); err == nil {
			err = w.write(context.Background())
		}
		w.end()
		if w.account != nil {
			err = errors.Join(err, w.account.close())
		}
	})
	if err != nil {
		return nil, fmt.Errorf("making a world of models: %w\n%s", err, w.log.take())
	}
	return w, nil
}

func sleep(d time.Duration) error {
	time.Sleep(d.Truncate(time.Second))
	return nil
}

// renew makes a new cluster and a new account.
func (m *model) renew(ctx context.Context) error {
	w := m.world
	// All bubbles begin at the same virtual time, which is a full hour.
	w.first = time.Now().Add(intoTheHour)
	time.Sleep(intoTheHour)
	m.store = apiserver.NewStore(time.Now)
	m.server = apiserver.NewServer(m.store, func() time.Duration { return 0 })
	m.server.Unknown = func(what string) {
		if _, t := w.gate.now(); t != nil {
			t.fault("the model of the API server does not know %s", what)
		}
	}
	for _, name := range []string{
		metav1.NamespaceDefault, metav1.NamespaceSystem, corev1.NamespaceNodeLease, whittleNamespace,
	} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := m.store.Create(apiserver.Namespaces, namespace); err != nil {
			return err
		}
	}
	server := &url.URL{Scheme: "https", Host: modelHost}
	w.gate = &gate{
		kubernetesURL: server.String(), authority: []byte(modelAuthority), lag: apiproxy.NewLag(m, server),
		awsURL:    "https://sqs." + region + ".amazonaws.com",
		answerURL: "https://cloudformation-custom-resource-response.s3." + region + ".amazonaws.com" + responsePath,
	}
	// No client of a trial waits for another one's.
	if err := w.connect(&rest.Config{Host: server.String(), Transport: m, QPS: -1}, runtime.ContentTypeJSON); err != nil {
		return err
	}
	if err := w.makeStorageClass(ctx); err != nil {
		return err
	}
	if w.catalog != nil {
		if _, err := m.store.Create(apiserver.ConfigMaps, w.catalog); err != nil {
			return err
		}
	}
	var err error
	w.account, err = w.newAccount(ctx)
	return err
}

// RoundTrip answers a request to the API server.
func (m *model) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		_ = request.Body.Close() // it was read
		if err != nil {
			return nil, err
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.server.Serve(request, body), nil
}

// line is what a handler has for a network.
type line struct {
	gate   *gate
	caller *function
}

// RoundTrip carries out a call of the handler.
func (l *line) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host == modelHost {
		return l.gate.kubernetes(l.caller, request)
	}
	answer, err := l.gate.aws(l.caller, request)
	if err != nil {
		return nil, err
	}
	response := answer.Result()
	response.Request = request
	return response, nil
}

// start starts a function's handler.
func (m *model) start(name string) (*function, error) {
	f := newFunction(name)
	variables := map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024"}
	for _, one := range m.world.account.environment() {
		key, value, _ := strings.Cut(one, "=")
		variables[key] = value
	}
	// The AWS SDK reads its variables from the process.
	for _, key := range []string{
		"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CA_BUNDLE", "AWS_PROFILE",
	} {
		if err := os.Setenv(key, variables[key]); err != nil {
			return nil, err
		}
	}
	if m.world.requests {
		variables["PROVISIONING_REQUESTS"] = "true"
	}
	handler, err := m.Start(name, functions.Deps{
		Now: time.Now, Transport: &line{m.world.gate, f}, Output: io.Discard,
		Getenv: func(name string) string { return variables[name] },
	})
	if err != nil {
		return nil, err
	}
	working, cancel := context.WithCancel(context.Background())
	f.kill = sync.OnceFunc(func() {
		close(f.exited)
		cancel()
	})
	m.world.processes.Add(1)
	go func() {
		defer m.world.processes.Done()
		f.serve(working, handler)
	}()
	return f, nil
}

// serve handles invocations until the function is killed.
func (f *function) serve(ctx context.Context, handler simulate.Handler) {
	for {
		select {
		case call := <-f.work:
			within, cancel := context.WithDeadline(ctx, call.deadline)
			within = lambdacontext.NewContext(within, &lambdacontext.LambdaContext{AwsRequestID: call.id})
			payload, err := handler(within, call.payload)
			cancel()
			if f.gone() {
				return
			}
			if err != nil {
				payload = []byte(err.Error())
			}
			f.answers <- answer{payload: payload, failed: err != nil}
		case <-f.exited:
			return
		}
	}
}
