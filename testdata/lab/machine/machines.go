package machine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
)

// Sessions returns an instance the keys of its role, as the instance metadata service does.
type Sessions interface {
	Session(roleARN, sessionName string) (identity.Credentials, error)
}

// Config configures all machines.
type Config struct {
	Region   string
	Sessions Sessions
	Timing   Timing
	// MemoryOverhead is the share of a type's memory that the operating system does not have.
	// Firmware, hypervisor and kernel take 0.07 of most types. It lies in [0, 1).
	MemoryOverhead float64
	Logger         *slog.Logger
}

// Timing has the durations of a machine's steps.
type Timing struct {
	// Boot is the time from launch to the kubelet's start, at most BootMost where that is longer. Each
	// instance has a time of its own.
	Boot, BootMost time.Duration
	// NodeReady is the time from the Node's registration to Ready, Devices to its extended resources.
	NodeReady, Devices time.Duration
	// PodStart is the time from a pod's arrival to Running, PodStop the time that containers take
	// to stop; a shorter grace period cuts it.
	PodStart, PodStop time.Duration
	// NodeDeletion is the time from an instance's end to the deletion of its Node by the cloud
	// controller.
	NodeDeletion time.Duration
}

// FastTiming is short enough for a person who waits. The order of the steps is the real one.
func FastTiming() Timing {
	return Timing{
		Boot: 4 * time.Second, NodeReady: time.Second, Devices: 2 * time.Second, PodStart: 500 * time.Millisecond,
		PodStop: 500 * time.Millisecond, NodeDeletion: 10 * time.Second,
	}
}

// Leases are renewed and node statuses reported as often as a kubelet does by default.
const (
	leaseInterval  = 10 * time.Second
	leaseDuration  = 40 * time.Second
	statusInterval = 5 * time.Minute
)

// Machines is every machine of the account. It implements ec2.Machines.
type Machines struct {
	config Config
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	podIPs atomic.Uint32

	mu       sync.Mutex
	timing   Timing
	machines map[string]*machine
	clusters map[string]registeredCluster
	volumes  map[string]string // the instance of each attached volume
}

var _ ec2.Machines = (*Machines)(nil)

// New makes a room without machines. Close it.
func New(config Config) (*Machines, error) {
	if config.MemoryOverhead < 0 || config.MemoryOverhead >= 1 {
		return nil, fmt.Errorf("memory overhead %g is not a share: want at least 0 and less than 1", config.MemoryOverhead)
	}
	if config.Region == "" || config.Sessions == nil {
		return nil, errors.New("config needs a region and sessions for the instances' roles")
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Machines{
		config: config, log: config.Logger, ctx: ctx, cancel: cancel, timing: config.Timing,
		machines: map[string]*machine{}, clusters: map[string]registeredCluster{}, volumes: map[string]string{},
	}, nil
}

// registeredCluster is a cluster that machines may join.
type registeredCluster struct {
	client kubernetes.Interface
	facts  clusterFacts
}

// clusterFacts returns what eks:DescribeCluster says about a cluster's control plane.
func (m *Machines) clusterFacts(name string) (clusterFacts, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, found := m.clusters[name]
	return c.facts, found
}

// RegisterCluster gives the cloud controller and the controller of the EBS CSI driver their access to a
// cluster. Nodes find the cluster's endpoint and its authority (PEM) in their user data.
func (m *Machines) RegisterCluster(name string, controlPlane *rest.Config, endpoint string, authority []byte) error {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(controlPlane),
		"aws-cloud-controller-manager"))
	if err != nil {
		return fmt.Errorf("making the cloud controller's client for cluster %q: %w", name, err)
	}
	driver, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(controlPlane), "ebs-csi-controller"))
	if err != nil {
		return fmt.Errorf("making the EBS CSI driver's client for cluster %q: %w", name, err)
	}
	m.spawn(m.ctx, (&attacher{client: driver, machines: m, log: m.log}).run)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters[name] = registeredCluster{client, clusterFacts{endpoint, authority}}
	return nil
}

// Close takes the power from all machines and waits until nothing of them runs.
func (m *Machines) Close() error {
	m.cancel()
	m.work.Wait()
	return nil
}

// InstanceChanged boots, halts and reboots machines as their instances change.
func (m *Machines) InstanceChanged(i ec2.Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	switch i.State {
	case ec2.Pending:
		m.boot(i)
	case ec2.Running:
		if machine := m.machines[i.ID]; machine != nil && machine.instance.Reboots < i.Reboots {
			machine.powerOff("the instance reboots")
			m.boot(i)
		}
	case ec2.Stopping, ec2.ShuttingDown:
		if machine := m.machines[i.ID]; machine != nil {
			machine.powerOff("the instance is " + string(i.State))
		}
	case ec2.Terminated:
		m.release(&i)
		if machine := m.machines[i.ID]; machine != nil {
			m.spawn(m.ctx, func(ctx context.Context) { m.forget(ctx, machine) })
		}
	}
}

// boot is called with the lock held. An instance that was stopped or rebooted gets a new machine and
// keeps its console.
func (m *Machines) boot(i ec2.Instance) {
	ctx, cancel := context.WithCancel(m.ctx)
	machine := &machine{
		instance: i, owner: m, timing: m.timing, cancel: cancel, log: m.log.With("instance", i.ID, "node", i.PrivateDNSName),
		console: &console{},
	}
	if before := m.machines[i.ID]; before != nil {
		before.cancel()
		machine.console, machine.boots = before.console, before.boots+1
	}
	m.machines[i.ID] = machine
	m.spawn(ctx, machine.run)
}

// spawn runs f until the context ends; Close waits for it.
func (m *Machines) spawn(ctx context.Context, f func(context.Context)) {
	m.work.Add(1)
	go func() {
		defer m.work.Done()
		f(ctx)
	}()
}

// ConsoleOutput returns the text on a machine's serial console.
func (m *Machines) ConsoleOutput(instanceID string) string {
	m.mu.Lock()
	machine := m.machines[instanceID]
	m.mu.Unlock()
	if machine == nil {
		return ""
	}
	return machine.console.String()
}

// Kill makes a machine's hardware fail: everything on it stops at once and without notice.
func (m *Machines) Kill(instanceID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	machine := m.machines[instanceID]
	if machine == nil {
		return fmt.Errorf("instance %q has no machine", instanceID)
	}
	machine.powerOff("power lost")
	return nil
}

// Timing returns the durations for machines that boot from now on.
func (m *Machines) Timing() Timing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.timing
}

// SetBootDelay sets the time from launch to the kubelet's start, for all machines that are yet to
// boot.
func (m *Machines) SetBootDelay(delay time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timing.Boot, m.timing.BootMost = delay, 0
}

// podNetwork is where pods get their addresses from, as with a secondary range for pods (custom
// networking), so that pods take none of the subnets'.
// https://docs.aws.amazon.com/eks/latest/userguide/cni-custom-network.html
func podNetwork() netip.Prefix { return netip.MustParsePrefix("100.64.0.0/10") }

// podIP returns out the network's addresses in turn.
func (m *Machines) podIP() string {
	first := podNetwork().Addr().As4()
	size := uint32(1) << (32 - podNetwork().Bits())
	n := m.podIPs.Add(1) % size
	value := (uint32(first[0])<<24 | uint32(first[1])<<16 | uint32(first[2])<<8 | uint32(first[3])) + n
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}).String()
}
