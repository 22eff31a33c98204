package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

// settleWithin limits the wait for Kubernetes' own controllers.
const settleWithin = time.Minute

// simulate does what machines, kubelets, the scheduler and the pods' controllers would have done by
// now. It waits until Kubernetes' own controllers have caught up, and returns the state after that.
func (t *trial) simulate(ctx context.Context) (*state, error) {
	s, err := t.observe(ctx)
	t.acted = false
	// A node takes pods once its first taints are gone.
	for _, do := range []func(context.Context, *state) error{t.boots, t.tends, t.replaces, t.places, t.tends} {
		if err == nil {
			err = do(ctx, s)
		}
		if err == nil && t.acted {
			t.acted = false
			s, err = t.observe(ctx)
		}
		if err == nil {
			s, err = t.settle(ctx, s)
		}
	}
	return s, err
}

// boots does what all machines do.
func (t *trial) boots(ctx context.Context, s *state) error {
	for i := range s.instances {
		if err := t.boot(ctx, s, &s.instances[i]); err != nil {
			return err
		}
	}
	return nil
}

// tends lets all kubelets look at their pods.
func (t *trial) tends(ctx context.Context, s *state) error {
	for i := range s.pods {
		if err := t.tend(ctx, s, &s.pods[i]); err != nil {
			return err
		}
	}
	return nil
}

// replaces makes the pods that workloads lack.
func (t *trial) replaces(ctx context.Context, s *state) error {
	for _, workload := range t.stage.workloads {
		made, err := workload.replace(ctx, t.world, s.pods)
		if err != nil {
			return err
		}
		t.acted = t.acted || made
	}
	return nil
}

// places plays the scheduler for all pods.
func (t *trial) places(ctx context.Context, s *state) error {
	for i := range s.pods {
		if err := t.place(ctx, s, &s.pods[i]); err != nil {
			return err
		}
	}
	return nil
}

// boot lets a running instance join as a node and silences the kubelet of one that does not run. It
// deletes the node of a terminated instance.
func (t *trial) boot(ctx context.Context, s *state, instance *ec2.Instance) error {
	at := slices.IndexFunc(s.nodes, func(node corev1.Node) bool { return node.Spec.ProviderID == instance.ProviderID() })
	nodes := t.world.core.CoreV1().Nodes()
	switch {
	case at < 0 && instance.State == ec2.Running:
		t.acted = true
		node := newNode(instance, t.world.now())
		node.Spec.Taints = []corev1.Taint{api.UnregisteredNoExecuteTaint()}
		if t.scenario.NodesNeverReady {
			node.Status.Conditions[0].Status, node.Status.Conditions[0].Reason = corev1.ConditionFalse, "KubeletNotReady"
		}
		_, err := nodes.Create(ctx, node, metav1.CreateOptions{})
		return err
	case at >= 0 && instance.State != ec2.Running && nodeReady(&s.nodes[at]):
		t.acted = true
		silent := []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown",
			LastTransitionTime: metav1.NewTime(t.world.now()),
		}}
		_, err := nodes.Patch(ctx, s.nodes[at].Name, types.MergePatchType, status(map[string]any{"conditions": silent}),
			metav1.PatchOptions{}, "status")
		return ignoreGone(err)
	case at >= 0 && instance.State == ec2.Terminated && s.nodes[at].DeletionTimestamp == nil:
		// The cloud controller does this on EKS, a while later.
		t.acted = true
		return ignoreGone(nodes.Delete(ctx, s.nodes[at].Name, metav1.DeleteOptions{}))
	}
	return nil
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// newNode returns the Node that a kubelet registers after boot, now.
func newNode(instance *ec2.Instance, now time.Time) *corev1.Node {
	cpu := int64(instance.Facts.VCPUs)
	size := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(cpu<<31, resource.BinarySI),
		corev1.ResourcePods:   resource.MustParse("58"),
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: instance.PrivateDNSName, Labels: map[string]string{
		corev1.LabelHostname: instance.PrivateDNSName, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		corev1.LabelInstanceTypeStable: instance.InstanceType, corev1.LabelTopologyZone: instance.Zone,
		corev1.LabelTopologyRegion: region,
	}}}
	node.Spec.ProviderID = instance.ProviderID()
	node.Status.Capacity, node.Status.Allocatable = size, size
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.NewTime(now),
		LastTransitionTime: metav1.NewTime(now),
	}}
	return node
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// tend lets the kubelet of a pod's node look at the pod, and does what it decides. On a machine
// that does not run nobody does.
func (t *trial) tend(ctx context.Context, s *state, pod *corev1.Pod) error {
	node := s.node(pod.Spec.NodeName)
	if node == nil || !s.alive(node) || pod.DeletionTimestamp != nil && t.scenario.PodsNeverEnd {
		return nil
	}
	if t.kubelets[node.Name] == nil {
		t.kubelets[node.Name] = kubelet.New()
	}
	verdict := t.kubelets[node.Name].Look(pod, kubelet.Moment{Now: t.world.now(), Node: node, Attached: true})
	pods := t.world.core.CoreV1().Pods(pod.Namespace)
	if verdict.Gone {
		t.acted = true
		zero := int64(0)
		return ignoreGone(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	}
	if verdict.Status == nil {
		return nil
	}
	now := pod.Status
	kubelet.Merge(&now, verdict.Status)
	return t.report(ctx, pod, &now)
}

// place plays the scheduler for a pod without a node.
func (t *trial) place(ctx context.Context, s *state, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil || pod.Spec.NodeName != "" {
		return nil
	}
	node := s.roomFor(pod)
	if node == nil || !s.hasRoomForGangOf(pod) {
		now := metav1.NewTime(t.world.now())
		return t.report(ctx, pod, &corev1.PodStatus{Phase: pod.Status.Phase, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "no node has room", LastTransitionTime: now,
		}}})
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node.Name},
	}
	t.acted = true
	pod.Spec.NodeName = node.Name // for the room that is left
	err := t.world.core.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if apierrors.IsConflict(err) {
		return nil // a real control plane's scheduler places pods of the default scheduler as well
	}
	return err
}

// report writes a pod's status, unless it has those conditions and that phase already.
func (t *trial) report(ctx context.Context, pod *corev1.Pod, now *corev1.PodStatus) error {
	same := func(a, b corev1.PodCondition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
	}
	if pod.Status.Phase == now.Phase && slices.EqualFunc(pod.Status.Conditions, now.Conditions, same) {
		return nil
	}
	t.acted = true
	_, err := t.world.core.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, status(now),
		metav1.PatchOptions{}, "status")
	return err
}

// status returns a merge patch of an object's status.
func status(fields any) []byte {
	patch, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		panic(err) // only values of this package's are given
	}
	return patch
}

// roomFor finds a node for the pod: ready, without hard taints, with enough CPU left.
func (s *state) roomFor(pod *corev1.Pod) *corev1.Node {
	for i := range s.nodes {
		node := &s.nodes[i]
		hard := func(taint corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule }
		tainted := slices.ContainsFunc(node.Spec.Taints, hard)
		if node.DeletionTimestamp != nil || tainted || !nodeReady(node) || !s.alive(node) ||
			node.Labels[api.NodeInitializedLabelKey] != "true" || !selects(pod.Spec.NodeSelector, node.Labels) {
			continue
		}
		left := node.Status.Allocatable.Cpu().MilliValue()
		for j := range s.pods {
			if s.pods[j].Spec.NodeName == node.Name {
				left -= cpuOf(&s.pods[j])
			}
		}
		if cpuOf(pod) <= left {
			return node
		}
	}
	return nil
}

// hasRoomForGangOf reports whether all pods of the pod's gang have a node, or find one now. A
// scheduler of gangs binds none of them before. A pod of no gang is alone.
func (s *state) hasRoomForGangOf(pod *corev1.Pod) bool {
	gang := pod.Labels[api.PodGroupLabelKey]
	if gang == "" {
		return true
	}
	var placed []*corev1.Pod
	defer func() {
		for _, one := range placed {
			one.Spec.NodeName = ""
		}
	}()
	for i := range s.pods {
		one := &s.pods[i]
		if one.Labels[api.PodGroupLabelKey] != gang || one.Namespace != pod.Namespace || one.Spec.NodeName != "" {
			continue
		}
		node := s.roomFor(one)
		if node == nil {
			return false
		}
		one.Spec.NodeName = node.Name // for the room that is left
		placed = append(placed, one)
	}
	return true
}

// selects reports whether the labels have all that the selector names.
func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func cpuOf(pod *corev1.Pod) int64 {
	return pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
}

// settle waits until Kubernetes' own controllers have processed new nodes, Deployments and budgets.
func (t *trial) settle(ctx context.Context, s *state) (*state, error) {
	for deadline := time.Now().Add(settleWithin); ; {
		if t.world.control != nil {
			changed, err := t.world.control()
			if err == nil && changed {
				s, err = t.observe(ctx)
			}
			if err != nil {
				return nil, err
			}
		}
		waitsFor := s.behind()
		if waitsFor == "" {
			return s, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the control plane does not settle within %s: %s", settleWithin, waitsFor)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var err error
		if t.stage.deployed {
			s, err = t.observe(ctx)
		} else {
			err = t.observeControlled(ctx, s)
		}
		if err != nil {
			return nil, err
		}
	}
}

// behind says what Kubernetes' controllers have yet to process; empty for nothing.
func (s *state) behind() string {
	for i := range s.nodes {
		node := &s.nodes[i]
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable
		})
		if tainted == nodeReady(node) {
			return fmt.Sprintf("node %s is ready (%t) and has the taints %v", node.Name, nodeReady(node), node.Spec.Taints)
		}
	}
	for i := range s.deployments {
		if said := s.rollingOut(&s.deployments[i]); said != "" {
			return said
		}
	}
	for i := range s.budgets {
		budget := &s.budgets[i]
		if healthy := s.guarded(budget, func(pod *corev1.Pod) bool {
			return pod.DeletionTimestamp == nil && isReady(pod)
		}); int(budget.Status.CurrentHealthy) != healthy || budget.Status.ObservedGeneration != budget.Generation {
			return fmt.Sprintf("budget %s counts %d healthy pods, there are %d", budget.Name, budget.Status.CurrentHealthy,
				healthy)
		}
	}
	return ""
}
