package simulate

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// machine is what an instance runs on, with its kubelet.
type machine struct {
	instance ec2.Instance
	off      bool // without power, or with hardware that has failed
	joined   bool
	absent   bool // it never joins
	failed   bool // its hardware has
	failedAt time.Time
	doomed   bool          // EC2 takes the instance back
	lasts    time.Duration // until it does
	warned   bool
	// retires is when AWS stops the instance, as it has announced; zero if it does not.
	retires, announced time.Time
	cut                bool      // its kubelet does not reach the API servers
	returned           time.Time // when its kubelet last found the way again
	kubelet            *kubelet.Kubelet
	sees               *corev1.Node            // its Node, as the kubelet's watch told it last
	looks              map[types.UID]time.Time // when the kubelet looks at a pod again
	mounts             map[types.UID]string    // the persistent volumes in use, by pods
}

// power follows the state of an instance.
func (r *Run) power(i ec2.Instance) {
	m := r.machines[i.ID]
	if m == nil {
		m = &machine{kubelet: kubelet.New(), looks: map[types.UID]time.Time{}, mounts: map[types.UID]string{}}
		m.doomed = r.weather.happens(r.weather.interrupted, "interrupt", i.ID)
		m.lasts = r.engine.Between(30*time.Second, 10*time.Minute, i.ID, "lasts")
		r.machines[i.ID] = m
		r.result.Launches++
	}
	m.instance = i
	r.trace("%s (%s, %s, %s) is %s", i.ID, i.InstanceType, i.Zone, i.CapacityType, i.State)
	switch i.State {
	case ec2.Running:
		if m.off || m.joined {
			return
		}
		if r.weather.happens(r.weather.noJoin, "no-join", i.ID) || r.isBad(i.ID) {
			r.trace("%s never joins", i.ID)
			m.absent = true
			return
		}
		r.engine.In(r.engine.Between(r.weather.leastBoot, r.weather.mostBoot, i.ID, "boot"), func() { r.join(m) })
		if r.weather.happens(r.weather.fails, "machine-fails", i.ID) {
			r.engine.In(r.engine.Between(time.Minute, 8*time.Minute, i.ID, "fails"), func() {
				if !m.off {
					r.trace("the machine of %s fails", i.ID)
					m.off, m.failed, m.failedAt = true, true, time.Now()
					_ = r.ec2.Impair(i.ID, "system", 0) // it may have ended
				}
			})
		}
	case ec2.ShuttingDown, ec2.Terminated, ec2.Stopping, ec2.Stopped:
		m.off = true
	}
}

// join registers the node.
func (r *Run) join(m *machine) {
	if m.off || m.joined {
		return
	}
	node := r.node(m)
	if _, err := r.store.Create(apiserver.Nodes, node); err != nil {
		r.engine.In(5*time.Second, func() { r.join(m) }) // the node of an earlier instance has its name
		return
	}
	m.joined = true
	r.hosts[node.Name], m.sees = m, node
	r.trace("node %s of %s joins", node.Name, m.instance.ID)
	r.heartbeat(m)
	r.partition(m)
	r.engine.In(r.engine.Between(time.Second, r.weather.mostReady, m.instance.ID, "ready"), func() { r.reportReady(m) })
}

// reportReady says that the node is ready, as its kubelet does.
func (r *Run) reportReady(m *machine) {
	if m.off || m.cut {
		return
	}
	apiserver.Update(r.store, apiserver.Nodes, "", m.instance.PrivateDNSName, func(stored *corev1.Node) bool {
		return stored.Spec.ProviderID == m.instance.ProviderID() &&
			setReady(stored, corev1.ConditionTrue, "KubeletReady", metav1.Now())
	})
	r.registerDriver(m)
}

// node is the Node that the kubelet of the machine registers.
func (r *Run) node(m *machine) *corev1.Node {
	i := &m.instance
	size := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(i.Facts.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(i.Facts.MemoryMiB<<20/100*93, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(110, resource.DecimalSI),
		corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
	allocatable := size.DeepCopy()
	allocatable[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(i.Facts.VCPUs)*1000-100, resource.DecimalSI)
	allocatable[corev1.ResourceMemory] = *resource.NewQuantity(size.Memory().Value()-1<<30, resource.BinarySI)
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: i.PrivateDNSName, Labels: map[string]string{
			corev1.LabelHostname: i.PrivateDNSName, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			corev1.LabelInstanceTypeStable: i.InstanceType, corev1.LabelTopologyZone: i.Zone,
			corev1.LabelTopologyRegion: region,
		}},
		Spec: corev1.NodeSpec{ProviderID: i.ProviderID(), Taints: []corev1.Taint{api.UnregisteredNoExecuteTaint()}},
		Status: corev1.NodeStatus{
			Capacity: size, Allocatable: allocatable,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", LastHeartbeatTime: now,
				LastTransitionTime: now,
			}},
		},
	}
}

// heartbeat renews the node's lease every ten seconds.
func (r *Run) heartbeat(m *machine) {
	if m.off {
		return
	}
	r.engine.In(10*time.Second, func() { r.heartbeat(m) })
	if !m.cut {
		r.renew(m)
	}
}

// renew writes the node's lease.
func (r *Run) renew(m *machine) {
	name := m.instance.PrivateDNSName
	now := metav1.NowMicro()
	if r.store.Get(apiserver.Leases, corev1.NamespaceNodeLease, name) == nil {
		seconds := int32(40)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: corev1.NamespaceNodeLease}}
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now}
		if object := r.store.Get(apiserver.Nodes, "", name); object != nil {
			lease.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: name, UID: object.Meta.GetUID()},
			}
			if _, err := r.store.Create(apiserver.Leases, lease); err != nil {
				r.violate("a lease cannot be made: %v", err)
			}
		}
	} else {
		apiserver.Update(r.store, apiserver.Leases, corev1.NamespaceNodeLease, name, func(stored *coordinationv1.Lease) bool {
			stored.Spec.RenewTime = &now
			return true
		})
	}
}

// machineOf returns the machine behind a node, or nil.
func (r *Run) machineOf(nodeName string) *machine {
	object := r.store.Get(apiserver.Nodes, "", nodeName)
	if object == nil {
		return nil
	}
	node, _ := object.Typed.(*corev1.Node)
	id, ok := api.InstanceID(node.Spec.ProviderID)
	if !ok {
		return nil
	}
	return r.machines[id]
}

// shortages lets EC2 run out of some capacity for a while.
func (r *Run) shortages() {
	e := r.engine
	if r.options.Calm || e.Chance(0.5, "shortages", "absent") {
		return
	}
	for n := range e.Number(1, 3, "shortages") {
		name := "shortage-" + string('a'+rune(n))
		e.In(e.Between(0, 8*time.Minute, name, "begins"), func() {
			if !r.weather.happens(1, "shortage", name) {
				return
			}
			types := []string{"m5.*", "m6i.*", "*.large", "*"}
			s := ec2.Starvation{
				InstanceType: types[e.Number(0, len(types)-1, name, "type")], Zone: "*",
				CapacityType: []string{"spot", "*"}[e.Number(0, 1, name, "capacity")],
			}
			r.trace("EC2 has no %s %s", s.CapacityType, s.InstanceType)
			r.ec2.Starve(s)
			e.In(e.Between(30*time.Second, 4*time.Minute, name, "lasts"), func() {
				r.ec2.Feed(s.InstanceType, s.Zone, s.CapacityType)
			})
		})
	}
}
