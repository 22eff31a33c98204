package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	rules "github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

// kubelet registers a machine as a Node and runs its pods.
type kubelet struct {
	client    kubernetes.Interface
	nodeName  string
	bootID    string // of this boot of the machine
	instance  ec2.Instance
	region    string
	settings  *kubeletSettings
	system    operatingSystem
	timing    Timing
	resources resources
	console   *console
	log       *slog.Logger
	podIP     func() string
	spawn     func(context.Context, func(context.Context))

	registered *corev1.Node // as it was when it was registered

	mu    sync.Mutex
	rules *rules.Kubelet
	pods  map[types.UID]*podWorker
	// mounts are the volumes in use, by their pod.
	mounts    map[types.UID][]corev1.UniqueVolumeName
	reporting sync.Mutex // held while volumes are reported
}

// The kubelet retries with a delay that grows from registerRetry to slowRetry, as a real one does.
const registerRetry, slowRetry = time.Second, 7 * time.Second

// run joins the cluster and stays until the context ends.
func (k *kubelet) run(ctx context.Context) {
	node := k.register(ctx)
	if node == nil {
		return
	}
	k.registered = node
	k.console.print("kubelet: registered node %s", k.nodeName)
	// A Node that was there already is as it was before the boot. Its devices count when they report
	// again.
	if node.Status.NodeInfo.BootID != k.bootID {
		for name := range k.resources.devices {
			if _, before := node.Status.Allocatable[name]; before {
				k.resources.capacity[name], k.resources.allocatable[name] = resource.Quantity{}, resource.Quantity{}
			}
		}
		k.reportStatus(ctx, false)
	}
	k.log.Info("node registered", "type", k.instance.InstanceType, "zone", k.instance.Zone)
	k.spawn(ctx, func(ctx context.Context) { k.renewLease(ctx, node) })
	k.spawn(ctx, k.watchPods)

	ready := time.NewTimer(k.timing.NodeReady)
	defer ready.Stop()
	devices := time.NewTimer(k.timing.NodeReady + k.timing.Devices)
	defer devices.Stop()
	if len(k.resources.devices) == 0 {
		devices.Stop()
	}
	report := time.NewTicker(statusInterval)
	defer report.Stop()
	isReady := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ready.C:
			isReady = true
			k.console.print("kubelet: node is ready")
		case <-devices.C:
			maps.Copy(k.resources.capacity, k.resources.devices)
			maps.Copy(k.resources.allocatable, k.resources.devices)
		case <-report.C:
		}
		k.reportStatus(ctx, isReady)
	}
}

// register creates the Node, trying again until it is there. It is nil when the context ended.
func (k *kubelet) register(ctx context.Context) *corev1.Node {
	said := ""
	for retry := registerRetry; ; retry = min(retry*3/2, slowRetry) {
		node, err := k.client.CoreV1().Nodes().Create(ctx, k.node(), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			node, err = k.takeOver(ctx)
		}
		if err == nil {
			return node
		}
		if ctx.Err() != nil {
			return nil
		}
		if text := err.Error(); text != said {
			said = text
			k.console.print("kubelet: unable to register node %s: %s", k.nodeName, text)
			k.log.Warn("node cannot register yet", "error", text)
		}
		if !wait(ctx, retry) {
			return nil
		}
	}
}

// takeOver uses the Node that is there already, of this instance before it was stopped. Another
// instance's Node of the same name is in the way until the cloud controller deletes it.
func (k *kubelet) takeOver(ctx context.Context) (*corev1.Node, error) {
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.nodeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if node.Spec.ProviderID != k.instance.ProviderID() {
		return nil, fmt.Errorf("node %s belongs to %s still", k.nodeName, node.Spec.ProviderID)
	}
	return node, nil
}

// node is the Node as it is created: not ready, with the labels and taints of the user data.
func (k *kubelet) node() *corev1.Node {
	labels := maps.Clone(k.settings.labels)
	architecture := map[string]string{"x86_64": "amd64"}[k.instance.Architecture]
	if architecture == "" {
		architecture = k.instance.Architecture
	}
	maps.Copy(labels, k.system.labels())
	maps.Copy(labels, map[string]string{
		corev1.LabelHostname: k.nodeName, corev1.LabelArchStable: architecture,
		"beta.kubernetes.io/arch": architecture, corev1.LabelInstanceTypeStable: k.instance.InstanceType,
		corev1.LabelInstanceType:   k.instance.InstanceType,
		corev1.LabelTopologyRegion: k.region, corev1.LabelTopologyZone: k.instance.Zone,
		corev1.LabelFailureDomainBetaRegion: k.region,
		corev1.LabelFailureDomainBetaZone:   k.instance.Zone, "topology.k8s.aws/zone-id": k.instance.ZoneID,
	})
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: k.nodeName, Labels: labels, Annotations: map[string]string{managedAttachment: "true"},
		},
		Spec:   corev1.NodeSpec{ProviderID: k.instance.ProviderID(), Taints: k.settings.taints},
		Status: k.status(false),
	}
}

func (k *kubelet) status(ready bool) corev1.NodeStatus {
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason,
		message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	readiness := condition(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady",
		"container runtime network not ready: cni plugin not initialized")
	if ready {
		readiness = condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	}
	architecture := "amd64"
	if k.instance.Architecture == "arm64" {
		architecture = "arm64"
	}
	return corev1.NodeStatus{
		Capacity: k.resources.capacity, Allocatable: k.resources.allocatable,
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory",
				"kubelet has sufficient memory available"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure",
				"kubelet has no disk pressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID",
				"kubelet has sufficient PID available"),
			readiness,
		},
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: k.instance.PrivateIPAddress},
			{Type: corev1.NodeHostName, Address: k.nodeName},
			{Type: corev1.NodeInternalDNS, Address: k.nodeName},
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: k.instance.ID, SystemUUID: k.instance.ID, BootID: k.bootID, KernelVersion: k.system.kernel,
			OSImage: k.system.image, OperatingSystem: k.system.name,
			Architecture: architecture, ContainerRuntimeVersion: k.system.runtime,
			KubeletVersion: kubeletVersion(k.instance.Image),
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
	}
}

// reportStatus patches the Node's status. It logs a failure on the console; the next report repairs
// it.
func (k *kubelet) reportStatus(ctx context.Context, ready bool) {
	patch, err := json.Marshal(map[string]any{"status": k.status(ready)})
	if err != nil {
		k.console.print("kubelet: %v", err)
		return
	}
	for retry := registerRetry; ; retry = min(retry*3/2, slowRetry) {
		_, err = k.client.CoreV1().Nodes().Patch(ctx, k.nodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
			"status")
		if err == nil || ctx.Err() != nil || apierrors.IsNotFound(err) {
			return
		}
		k.console.print("kubelet: unable to update node status: %v", err)
		if !wait(ctx, retry) {
			return
		}
	}
}

// renewLease renews the Node's Lease, which shows the node controller that the machine lives.
func (k *kubelet) renewLease(ctx context.Context, node *corev1.Node) {
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	seconds := int32(leaseDuration / time.Second)
	var lease *coordinationv1.Lease
	// Nodes that are launched together renew at different times.
	for pause := time.Duration(rand.Int64N(int64(leaseInterval))); ; pause = leaseInterval {
		now := metav1.NowMicro()
		var err error
		if lease == nil {
			if lease, err = leases.Get(ctx, k.nodeName, metav1.GetOptions{}); apierrors.IsNotFound(err) {
				lease, err = leases.Create(ctx, &coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{
						Name: k.nodeName, Namespace: corev1.NamespaceNodeLease,
						OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
					},
					Spec: coordinationv1.LeaseSpec{HolderIdentity: &k.nodeName, LeaseDurationSeconds: &seconds, RenewTime: &now},
				}, metav1.CreateOptions{})
			}
		}
		if err == nil {
			lease.Spec.RenewTime = &now
			lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		}
		if err != nil {
			lease = nil // read it anew: somebody else changed it, or it is gone
			if ctx.Err() == nil {
				k.console.print("kubelet: failed to update lease: %v", err)
			}
		}
		if !wait(ctx, pause) {
			return
		}
	}
}
