package machine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	rules "github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

// machine is one instance's machine between power on and power off.
type machine struct {
	instance ec2.Instance
	owner    *Machines
	timing   Timing
	cancel   context.CancelFunc
	log      *slog.Logger
	console  *console
	boots    int  // how often the instance has booted before
	gone     bool // whether the instance has terminated; guarded by the owner's lock

	mu      sync.Mutex
	cluster string // as the user data names it, empty before it was read
}

// console keeps the lines of a serial console, the latest 64 KiB as EC2 does.
type console struct {
	mu   sync.Mutex
	text strings.Builder
}

const consoleLimit = 64 << 10

func (c *console) print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(&c.text, time.Now().UTC().Format(time.RFC3339)+" "+format+"\n", args...)
	if c.text.Len() > 2*consoleLimit {
		kept := c.text.String()[c.text.Len()-consoleLimit:]
		c.text.Reset()
		c.text.WriteString(kept)
	}
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.text.String()
	return text[max(0, len(text)-consoleLimit):]
}

func (m *machine) powerOff(why string) {
	m.console.print("%s", why)
	m.cancel()
}

// run is the machine's life. It ends with the context.
func (m *machine) run(ctx context.Context) {
	m.console.print("booting %s on %s in %s", m.instance.ImageID, m.instance.InstanceType, m.instance.Zone)
	// An instance's id is its seed.
	if !wait(ctx, draw.Between(0, m.timing.Boot, m.timing.BootMost, "boot", m.instance.ID)) {
		return
	}
	config, err := readUserData(m.instance.Image, m.instance.UserData, m.owner.clusterFacts)
	if err == nil {
		m.mu.Lock()
		m.cluster = config.cluster
		m.mu.Unlock()
		err = m.checkServices(ctx, config)
	}
	if err != nil {
		m.console.print("%v", err)
		m.log.Error("machine never joins: its user data is bad", "error", err)
		return
	}
	kubelet, err := m.kubelet(config)
	if err != nil {
		m.console.print("kubelet: %v", err)
		m.log.Error("machine never joins: its kubelet does not start", "error", err)
		return
	}
	m.console.print("kubelet: starting as node %s of cluster %s at %s", kubelet.nodeName, config.cluster, config.endpoint)
	kubelet.run(ctx)
}

// kubelet makes the kubelet that the user data asks for.
func (m *machine) kubelet(config *joining) (*kubelet, error) {
	settings, err := config.settings(m.instance.Facts)
	if err != nil {
		return nil, err
	}
	if m.instance.RoleARN == "" {
		return nil, fmt.Errorf(
			"instance %s has no instance profile with a role: without credentials it cannot get a token for cluster %s",
			m.instance.ID, config.cluster)
	}
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: config.endpoint, TLSClientConfig: rest.TLSClientConfig{CAData: config.authority},
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
		QPS: 50, Burst: 100, // the kubelet's defaults
		UserAgent:     "kubelet/" + kubeletVersion(m.instance.Image),
		WrapTransport: wrapTransport(config.cluster, m.owner.config.Region, &m.instance, m.owner.config.Sessions),
	})
	if err != nil {
		return nil, fmt.Errorf("making the client for %s: %w", config.endpoint, err)
	}
	return &kubelet{
		bootID: fmt.Sprintf("%s-%d", m.instance.ID, m.boots),
		client: client, nodeName: m.instance.PrivateDNSName, instance: m.instance, region: m.owner.config.Region,
		settings: settings, timing: m.timing,
		system:    operatingSystemOf(m.instance.Image),
		resources: capacityOf(&m.instance, settings, m.owner.config.MemoryOverhead, config.localStorage),
		podIP:     m.owner.podIP,
		console:   m.console, log: m.log, spawn: m.owner.spawn, pods: map[types.UID]*podWorker{}, rules: rules.New(),
		mounts: map[types.UID][]corev1.UniqueVolumeName{},
	}, nil
}

// wait waits for a time. It returns false if the context ended before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
