package churn

import (
	"container/heap"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

// boot is the time from a launch until pods run on the node.
const boot = 40 * time.Second

// node is a node of the cluster, or one that boots.
type node struct {
	plan.Node
	kind  *catalog.InstanceType
	price float64 // in US dollars per hour
	ready time.Duration
	// planned are the names of the pods that the node was launched for. Whittle binds them.
	planned map[string]bool
	joined  bool
	pods    map[string]*pod
	info    *framework.NodeInfo // what the scheduler knows of the node
}

// pod is a pod of a Job or of a Deployment.
type pod struct {
	corev1.Pod
	number int
	cpu    float64 // in cores
	// length is how long a Job takes; zero for other pods. It ends at a time, if no eviction restarts it.
	length, ends time.Duration
	waits        time.Duration // since when
	node         *node
	position     int // in the queue of those that end; -1 for none
}

// queue has the pods that end, the first in front.
type queue []*pod

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].ends < q[j].ends }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].position, q[j].position = i, j
}

// Push is for package heap.
func (q *queue) Push(one any) {
	p, _ := one.(*pod)
	p.position = len(*q)
	*q = append(*q, p)
}

// Pop is for package heap.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	last.position = -1
	return last
}

// cluster is the state at one moment of the day.
type cluster struct {
	base      *plan.Snapshot // without nodes and pods
	scheduler *scheduler
	now       time.Duration
	nodes     []*node
	pending   []*pod
	ending    queue
	number    int
	result    Result
	waits     []float64
}

func (c *cluster) time() time.Time { return consolidationtest.Now.Add(c.now) }

// add makes a pod that waits. Its memory is 2 GiB for each core.
func (c *cluster) add(cpu float64, app string, length time.Duration) *pod {
	c.number++
	p := &pod{
		Pod: consolidationtest.Pod(fmt.Sprintf("pod-%06d", c.number), int64(cpu*1000), int64(cpu*2*(1<<30)), app),
		cpu: cpu, number: c.number, length: length, position: -1,
	}
	p.CreationTimestamp = metav1.NewTime(c.time())
	if length > 0 {
		p.OwnerReferences[0].Kind, p.OwnerReferences[0].APIVersion = "Job", "batch/v1"
	}
	c.wait(p)
	return p
}

func (c *cluster) wait(p *pod) {
	p.node, p.Spec.NodeName, p.waits = nil, "", c.now
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
	c.pending = append(c.pending, p)
}

func (c *cluster) bind(p *pod, n *node) {
	since := metav1.NewTime(c.time())
	p.node, p.Spec.NodeName = n, n.Node.Node.Name
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &since, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: since},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
	}}
	n.pods[p.Name] = p
	n.changed()
	c.waits = append(c.waits, (c.now - p.waits).Seconds())
	if p.length > 0 {
		p.ends = c.now + p.length
		heap.Push(&c.ending, p)
	}
}

// remove takes a pod off its node or out of those that wait.
func (c *cluster) remove(p *pod) {
	if p.node == nil {
		c.pending = slices.DeleteFunc(c.pending, func(other *pod) bool { return other == p })
		return
	}
	delete(p.node.pods, p.Name)
	p.node.changed()
	p.node = nil
	if p.position >= 0 {
		heap.Remove(&c.ending, p.position)
	}
}

// evict makes another pod wait in place of this one. The work of a Job is lost.
func (c *cluster) evict(p *pod) {
	c.result.Evictions++
	if p.length > 0 {
		c.result.LostHours += (c.now - (p.ends - p.length)).Hours() * p.cpu
	}
	c.remove(p)
	c.wait(p)
}

// changed makes the scheduler see the node as it is.
func (n *node) changed() {
	var list []*corev1.Pod
	for _, p := range n.pods {
		list = append(list, &p.Pod)
	}
	n.info = framework.NewNodeInfo(list...)
	n.info.SetNode(n.Node.Node)
}

// launch buys the cheapest offering of a planned claim.
func (c *cluster) launch(planned *plan.PlannedNodeClaim) (*node, error) {
	choice := planned.Offerings[0]
	list := c.base.InstanceTypes[poolName]
	at := slices.IndexFunc(list, func(t catalog.InstanceType) bool { return t.Name == choice.InstanceType })
	if at < 0 {
		return nil, fmt.Errorf("no instance type %s", choice.InstanceType)
	}
	kind := &list[at]
	of := slices.IndexFunc(kind.Offerings, func(o catalog.Offering) bool {
		return o.Zone == choice.Zone && o.CapacityType == choice.CapacityType
	})
	if of < 0 {
		return nil, fmt.Errorf("no offering of %s in %s", choice.InstanceType, choice.Zone)
	}
	c.number++
	c.result.Launches++
	n := &node{
		Node: consolidationtest.Node(fmt.Sprintf("node-%06d", c.number), poolName, kind, &kind.Offerings[of], c.time()),
		kind: kind, price: kind.Offerings[of].Price, ready: c.now + boot, planned: map[string]bool{}, pods: map[string]*pod{},
	}
	n.NodeClaim.Status.Conditions = []metav1.Condition{{
		Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.time()),
	}}
	c.nodes = append(c.nodes, n)
	return n, nil
}

// join makes the nodes ready whose boot has ended, and binds the pods that they were launched for.
func (c *cluster) join() {
	for _, n := range c.nodes {
		if n.joined || n.ready > c.now {
			continue
		}
		claim := &api.NodeClaim{ObjectMeta: n.NodeClaim.ObjectMeta, Spec: n.NodeClaim.Spec}
		n.Node = consolidationtest.Joined(n.Node.Node.Name, claim, n.kind, n.NodeClaim.Labels, c.time())
		n.joined = true
		n.changed()
		left := n.Node.Node.Status.Allocatable.Cpu().MilliValue()
		for _, p := range slices.Clone(c.pending) {
			if cpu := int64(p.cpu * 1000); n.planned[p.Name] && cpu <= left {
				left -= cpu
				c.remove(p)
				c.bind(p, n)
			}
		}
	}
}

// schedule lets kube-scheduler place the pods that wait.
func (c *cluster) schedule(ctx context.Context) error {
	byName := map[string]*node{}
	c.scheduler.nodes.list = nil
	for _, n := range c.nodes {
		if n.joined {
			byName[n.Node.Node.Name] = n
			c.scheduler.nodes.list = append(c.scheduler.nodes.list, n)
		}
	}
	for _, p := range slices.Clone(c.pending) {
		name, err := c.scheduler.choose(ctx, &p.Pod)
		if err != nil {
			return err
		}
		if n := byName[name]; n != nil {
			c.remove(p)
			c.bind(p, n)
		}
	}
	return nil
}

// snapshot is the cluster as Whittle sees it.
func (c *cluster) snapshot() *plan.Snapshot {
	s := *c.base
	for _, n := range c.nodes {
		seen := plan.Node{NodeClaim: n.NodeClaim}
		if n.joined {
			seen.Node = n.Node.Node
		}
		for _, name := range slices.Sorted(maps.Keys(n.pods)) {
			seen.Pods = append(seen.Pods, n.pods[name].seen())
		}
		s.Nodes = append(s.Nodes, seen)
	}
	for _, p := range c.pending {
		s.Pods = append(s.Pods, p.seen())
	}
	return &s
}

// seen is the pod without kube-scheduler's default spread, which is no wish of its owner.
func (p *pod) seen() corev1.Pod {
	seen := p.Pod
	seen.Spec.TopologySpreadConstraints = nil
	return seen
}
