package crash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"

	"github.com/whittle-dev/whittle/infra/local/clock"
	"github.com/whittle-dev/whittle/infra/local/kubernetes"
	"github.com/whittle-dev/whittle/infra/local/pricing"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/instancetypes"
)

// Options say where a world finds its programs and keeps its state.
type Options struct {
	ControlPlane string // the control plane's program
	Functions    string // folder of the functions' programs, built with a clock that can be set
	Directory    string // state and logs
}

// World is a control plane with everything that scenarios need around it. It runs one trial at a
// time.
type World struct {
	plane    *kubernetes.ControlPlane
	version  string // Kubernetes' minor version
	core     clientset.Interface
	objects  dynamic.Interface
	client   *cluster.Client
	gate     *gate
	runtime  *runtimeAPI
	clock    *clock.Clock
	ahead    time.Duration
	binaries string

	types      []instancetypes.InstanceType
	prices     *pricing.Service
	catalog    *corev1.ConfigMap // as the catalog function wrote it
	readyClass *api.EC2NodeClass // as lifecycle has left it the first time

	account     *account
	uninstalled bool // a scenario may have taken the rights away
	deployed    bool // a scenario may have left Deployments
	functions   map[string]*function
	processes   sync.WaitGroup
	log         output
	started     int
	invocations int

	closers []func() error
}

// Open creates a world. Whittle's own install function installs Whittle, and its catalog function
// writes the catalogue. The caller closes the world.
func Open(ctx context.Context, options Options) (*World, error) {
	w := &World{binaries: options.Functions, functions: map[string]*function{}, gate: &gate{}}
	if err := w.open(ctx, options); err != nil {
		return nil, errors.Join(fmt.Errorf("making a world: %w", err), w.Close(), errors.New(w.log.take()))
	}
	return w, nil
}

func (w *World) open(ctx context.Context, options Options) error {
	if err := os.MkdirAll(options.Directory, 0o755); err != nil {
		return err
	}
	var err error
	if w.clock, err = clock.Create(filepath.Join(options.Directory, "clock")); err != nil {
		return err
	}
	w.closers = append(w.closers, w.clock.Close)
	w.plane, err = kubernetes.Start(ctx, kubernetes.Options{
		Binary: options.ControlPlane, Directory: filepath.Join(options.Directory, "kubernetes"),
		// The nodes renew no lease and stay ready nevertheless.
		NodeMonitorGracePeriod: 24 * time.Hour,
		// Scenarios read objects directly after writing them.
		WithoutWatchCache: true,
	})
	if err != nil {
		return err
	}
	w.closers = append(w.closers, w.plane.Stop)
	w.version = strings.Join(strings.SplitN(strings.TrimPrefix(w.plane.Version, "v"), ".", 3)[:2], ".")
	if err := w.connect(); err != nil {
		return err
	}
	if err := w.gate.open(w.plane.RESTConfig()); err != nil {
		return err
	}
	w.closers = append(w.closers, w.gate.close)
	if err := w.serveRuntime(); err != nil {
		return err
	}
	if w.types, err = offered(); err != nil {
		return err
	}
	if w.prices, err = newPrices(w.types); err != nil {
		return err
	}
	return w.furnish(ctx)
}

// connect creates the clients of the scenarios themselves.
func (w *World) connect() error {
	admin := w.plane.RESTConfig()
	compact := w.plane.RESTConfig()
	compact.ContentType = runtime.ContentTypeProtobuf
	var err error
	if w.core, err = clientset.NewForConfig(compact); err != nil {
		return err
	}
	if w.objects, err = dynamic.NewForConfig(admin); err != nil {
		return err
	}
	admin.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			request = request.Clone(request.Context())
			newest(request)
			return next.RoundTrip(request)
		})
	})
	w.client, err = cluster.NewForConfig(cluster.Endpoint{Name: clusterName, URL: w.plane.Endpoint}, admin)
	return err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (w *World) serveRuntime() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.runtime = &runtimeAPI{address: listener.Addr().String(), functions: map[string]*function{}}
	server := &http.Server{Handler: w.runtime, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with ErrServerClosed
	}()
	w.closers = append(w.closers, func() error {
		err := server.Close()
		<-served
		return err
	})
	return nil
}

// furnish installs Whittle and writes the catalogue, by the functions themselves.
func (w *World) furnish(ctx context.Context) error {
	var err error
	if w.account, err = w.newAccount(ctx); err != nil {
		return err
	}
	if err := w.undisturbed(ctx, "install", installEvent(cfn.RequestCreate, "")); err != nil {
		return err
	}
	if err := w.undisturbed(ctx, "catalog", struct{}{}); err != nil {
		return err
	}
	w.catalog, err = w.core.CoreV1().ConfigMaps(whittleNamespace).Get(ctx, catalogName, getNow)
	return err
}

// now is the functions' time.
func (w *World) now() time.Time { return time.Now().Add(w.ahead) }

// pass advances the functions' clock.
func (w *World) pass(d time.Duration) error {
	w.ahead += d
	return w.clock.Set(w.ahead)
}

// Close ends everything that the world started.
func (w *World) Close() error {
	w.end()
	var failed error
	if w.account != nil {
		failed = w.account.close()
	}
	for i := len(w.closers) - 1; i >= 0; i-- {
		failed = errors.Join(failed, w.closers[i]())
	}
	w.closers = nil
	return failed
}
