package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/testdata/lab/apiproxy"
	"github.com/whittle-dev/whittle/testdata/lab/arc"
	"github.com/whittle-dev/whittle/testdata/lab/clock"
	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/cloudwatch"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/eventbridge"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/karpenter"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/logs"
	"github.com/whittle-dev/whittle/testdata/lab/machine"
	"github.com/whittle-dev/whittle/testdata/lab/quotas"
	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/unkind"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// The account and region of the local AWS.
const (
	AccountID = "123456789012"
	Region    = "us-east-1"
)

// Options configure a world.
type Options struct {
	Root      string        // the project's folder
	Directory string        // state, logs and the synthesized stack
	Cluster   string        // the cluster's name
	Interval  time.Duration // between two provision ticks
	Boot      time.Duration // from an instance's running to its node's registration
	BootMost  time.Duration // the longest such time; without it all machines take Boot
	Ending    time.Duration // from an instance's end to its last state; 0 for a second
	Audit     bool          // whether requests in the cluster are noted: the functions', and Karpenter's
	Bare      bool          // whether nothing is deployed yet
	Settings  []string      // of the deployment, such as zonalShift=true
	Alarms    []string      // composite CloudWatch alarms that people own, in the state OK
	Karpenter string        // the version that InstallKarpenter and StartKarpenter take; "" for karpenter.Newest
	CacheLag  time.Duration // how old the API server's watch cache is for functions and nodes
	Latency   Latency       // how long answers take; the zero value for as short as they may be
	Progress  io.Writer     // lines about the start
	// Unkind makes the local AWS as bad as AWS may be; nil makes it kind. Its Boot replaces Boot.
	Unkind *unkind.Mode
	// Front stands before the API server: it gives its own address and authority (PEM), under which
	// everybody finds the cluster. It may be nil.
	Front func(apiServer string, authority []byte) (address string, own []byte, err error)
	// NodeSilence is how long a node may be silent before it counts as unreachable. Zero means
	// Kubernetes' default.
	NodeSilence time.Duration
	// Functions is a folder with functions whose clock can be set, each as NAME/bootstrap. Empty
	// means the functions that make has built.
	Functions string
}

// Latency is how long the services that functions call take to answer, as across a network.
type Latency struct {
	// APIServer is how much longer each answer of the API server takes.
	APIServer time.Duration
	// AWS is how long a call takes at least, by the size of its answer; nil for no time.
	AWS func(call *wire.Call, bytes int) time.Duration
}

// World is a running world. The caller of Start closes it.
type World struct {
	options Options
	log     *os.File

	server   *wire.Server
	identity *identity.Service
	stacks   *cloudformation.Service
	// ARC knows the cluster as one with zonal shift on.
	ARC    *arc.Service
	Quotas *quotas.Service
	// SavingsPlans has the account's plans; EC2 has its Reserved Instances.
	SavingsPlans *savingsplans.Service
	clusters     *eks.Service
	logs         *logs.Service
	alarms       *cloudwatch.Service
	bus          *eventbridge.Service
	queues       *sqs.Service
	EC2          *ec2.Service
	Machines     *machine.Machines
	Lambda       *lambda.Service

	ControlPlane *kubernetes.ControlPlane
	plane        kubernetes.Options
	proxy        *apiproxy.Proxy         // with CacheLag or Latency
	clocks       map[string]*clock.Clock // by function, where they can be set

	slog       *slog.Logger
	mutex      sync.Mutex
	fleetCalls []time.Time
	calls      map[calls]int
	refusals   []string

	closers []func() error // in the order of their making; closed in the other
}

// Start creates a world: control plane, local AWS, deployed stack.
func Start(ctx context.Context, options Options) (*World, error) {
	w := &World{options: options}
	err := w.start(ctx)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *World) start(ctx context.Context) error {
	if err := os.MkdirAll(w.options.Directory, 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(w.options.Directory, "world.log"))
	if err != nil {
		return err
	}
	w.log = log
	w.closers = append(w.closers, log.Close)
	binary, err := kubernetes.Build(ctx, w.options.Root, w.options.Progress)
	if err != nil {
		return err
	}
	w.slog = slog.New(slog.NewJSONHandler(log, nil))
	if err := w.services(w.slog); err != nil {
		return err
	}
	w.tell("local AWS at %s", w.server.URL())
	w.plane = kubernetes.Options{
		Binary: binary, Directory: filepath.Join(w.options.Directory, "kubernetes"),
		TokenWebhookURL:        w.server.URL() + eks.WebhookPath + "/" + w.options.Cluster,
		NodeMonitorGracePeriod: w.options.NodeSilence,
	}
	if w.options.Audit {
		for _, function := range []string{"provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog", "console"} {
			w.plane.AuditGroups = append(w.plane.AuditGroups, "whittle:"+function)
		}
		w.plane.AuditGroups = append(w.plane.AuditGroups, "system:serviceaccounts:"+karpenter.Namespace)
	}
	if w.ControlPlane, err = kubernetes.Start(ctx, w.plane); err != nil {
		return err
	}
	w.closers = append(w.closers, func() error { return w.ControlPlane.Stop() })
	w.tell("Kubernetes %s at %s", w.ControlPlane.Version, w.ControlPlane.Endpoint)
	if err := w.register(); err != nil {
		return err
	}
	if w.options.Bare {
		return nil
	}
	start := time.Now()
	if err := w.Deploy(ctx, w.options.Settings...); err != nil {
		return err
	}
	w.tell("stack %s deployed by cdk in %.1f s", w.stack(), time.Since(start).Seconds())
	return nil
}

func (w *World) tell(format string, arguments ...any) {
	if w.options.Progress != nil {
		_, _ = fmt.Fprintf(w.options.Progress, format+"\n", arguments...)
	}
}

// Close ends everything that the world started.
func (w *World) Close() error {
	var failures error
	for i := len(w.closers) - 1; i >= 0; i-- {
		failures = errors.Join(failures, w.closers[i]())
	}
	w.closers = nil
	return failures
}

// URL is the local AWS's endpoint.
func (w *World) URL() string { return w.server.URL() }

// RESTConfig has all rights in the cluster.
func (w *World) RESTConfig() *rest.Config { return w.ControlPlane.RESTConfig() }
