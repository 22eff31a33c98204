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
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/clock"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/pricing"
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
	first    time.Time // at which trials begin
	binaries string

	serviceCIDR string
	// now is the functions' time. In real processes it stands while functions work.
	now func() time.Time
	// pass advances the functions' clock by whole seconds.
	pass func(time.Duration) error
	// start starts a function.
	start func(name string) (*function, error)
	// renew returns the world to its first state, when no function runs.
	renew func(context.Context) error
	// bubble runs a trial of virtual time; nil in real processes.
	bubble func(run func())
	// control does what Kubernetes' own controllers have yet to do, and reports whether that changed
	// anything; nil where they run by themselves.
	control func() (changed bool, err error)

	types      []builtin.InstanceType
	prices     *pricing.Service
	catalog    *corev1.ConfigMap // as the catalog function wrote it
	readyClass *api.EC2NodeClass // as lifecycle has left it

	account     *account
	uninstalled bool // a scenario may have taken the rights away
	deployed    bool // a scenario may have left Deployments
	claimed     bool // a scenario may have left claims for volumes
	aged        bool // a scenario may have left kinds before v1
	grouped     bool // a scenario may have left PodGroups or ProvisioningRequests
	requests    bool // the functions that are started answer ProvisioningRequests
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
	w := &World{binaries: options.Functions, functions: map[string]*function{}, gate: &gate{times: &times{}}}
	w.now, w.pass, w.start, w.renew = w.gate.times.now, w.stand, w.startProcess, w.wipe
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
	w.first = time.Now().UTC().Round(time.Hour).Add(intoTheHour)
	if err := w.begin(); err != nil {
		return err
	}
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
	w.serviceCIDR = w.plane.ServiceCIDR
	if err := w.connect(w.plane.RESTConfig(), runtime.ContentTypeProtobuf); err != nil {
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

// connect creates the clients of the scenarios themselves, whose built-in objects have the content
// type.
func (w *World) connect(admin *rest.Config, contentType string) error {
	compact := rest.CopyConfig(admin)
	compact.ContentType = contentType
	var err error
	if w.core, err = clientset.NewForConfig(compact); err != nil {
		return err
	}
	if w.objects, err = dynamic.NewForConfig(admin); err != nil {
		return err
	}
	reader, err := cluster.NewForConfig(cluster.Endpoint{Name: clusterName, URL: admin.Host}, admin)
	if err != nil {
		return err
	}
	w.client = reader.Consistent()
	return nil
}

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
	if err := w.makeStorageClass(ctx); err != nil {
		return err
	}
	return w.write(ctx)
}

// makeStorageClass makes the StorageClass of the scenarios' volumes.
func (w *World) makeStorageClass(ctx context.Context) error {
	later := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := w.core.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: storage}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &later,
	}, metav1.CreateOptions{})
	return err
}

// write lets the functions write the catalogue and the status of the first class.
func (w *World) write(ctx context.Context) error {
	if err := w.undisturbed(ctx, "catalog", struct{}{}); err != nil {
		return err
	}
	var err error
	if w.catalog, err = w.core.CoreV1().ConfigMaps(whittleNamespace).Get(ctx, catalogName, getNow); err != nil {
		return err
	}
	return w.resolveClass(ctx)
}

// resolveClass lets lifecycle make a class ready, for the scenarios that begin with one.
func (w *World) resolveClass(ctx context.Context) error {
	first := &stage{world: w, ctx: ctx}
	first.class(nil)
	first.later(knownAfter)
	if first.err != nil {
		return first.err
	}
	if err := w.undisturbed(ctx, "lifecycle", tickFor(w)); err != nil {
		return err
	}
	classes, err := w.client.NodeClasses(ctx)
	if err != nil {
		return err
	}
	w.readyClass = &classes[0]
	if !api.ConditionTrue(w.readyClass.Status.Conditions, api.ConditionReady) {
		return fmt.Errorf("the world's first class is not ready: %v", w.readyClass.Status.Conditions)
	}
	return nil
}

// intoTheHour is when each trial begins, because functions do some work in some minutes of the hour
// and in some seconds of the minute.
const intoTheHour = 7*time.Minute + 20*time.Second

// begin sets the functions' clock to the time at which trials begin.
func (w *World) begin() error {
	w.gate.times.begin(w.first)
	return w.clock.Stop(w.first)
}

// stand sets the functions' clock ahead by whole seconds. It stands while functions work.
func (w *World) stand(d time.Duration) error {
	at := w.now().Add(d.Truncate(time.Second))
	w.gate.times.set(at)
	return w.clock.Stop(at)
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
