package nodeclaim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/binding"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// A node passes through two states before it is registered, where pods are bound.
//
// It joins with the NoExecute taint, for which its kubelet refuses pods. The first pass gives the node its
// labels and taints, and replaces that taint by the reserved one: the scheduler still keeps pods away, and the
// kubelet does not. A later pass binds the pods and removes the taint. A pass that dies between two bindings
// leaves the node reserved, and the next one goes on.

const (
	// kubeletLag is how long a node stays reserved before pods are bound to it. A kubelet watches its node over
	// the connection over which it gets its pods. It would refuse those that overtake the change of the taint.
	kubeletLag = 500 * time.Millisecond
	// longestReservation ends the wait for the cloud controller manager, and for the kubelet of a pod that nobody
	// makes again. Until then the scheduler puts nothing on the node either.
	longestReservation = 20 * time.Second
	// mostAttempts is how often pods that change all the time are read again.
	mostAttempts = 3
)

// IsReserved reports whether the claim's node has the reserved taint, and pods wait that may be bound to it.
func (v *View) IsReserved() bool {
	if !v.expectsBindings() {
		return false
	}
	_, reserved := api.ReservationOf(v.Nodes[0].Spec.Taints)
	return reserved
}

// WantsPlace reports whether this pass binds pods to the node, if it knows what is there.
func (v *View) WantsPlace(now time.Time) bool {
	return v.IsReserved() && !begin(*v, now).reserves()
}

// Again returns the view with its node as it was read again, after this pass has bound the pods, or nothing. It
// returns false if another pass has worked on the node meanwhile, or it is another node: the pods on it were
// read before.
func (v View) Again(node *corev1.Node, bound bool) (View, bool) {
	before, was := api.ReservationOf(v.Nodes[0].Spec.Taints)
	now, is := api.ReservationOf(node.Spec.Taints)
	if bound {
		before.Attempts++ // by bindStep
		v.Expected, v.Place = nil, nil
	}
	untouched := was == is && now.Attempts == before.Attempts && now.Since.Equal(before.Since) &&
		node.Labels[api.NodeRegisteredLabelKey] == v.Nodes[0].Labels[api.NodeRegisteredLabelKey]
	if !untouched || node.UID != v.Nodes[0].UID || node.DeletionTimestamp != nil {
		return v, false
	}
	v.Nodes = []*corev1.Node{node}
	if v.Place != nil {
		place := *v.Place
		place.Node, v.Place = node, &place
	}
	return v, true
}

// expectsBindings reports whether the node has joined, and pods wait that may be bound to it.
func (v *View) expectsBindings() bool { return v.Binds && len(v.Expected) > 0 && v.AwaitsPods() }

// WantsRefused reports whether this pass initializes the node, so that it tells of pods that the kubelet refused.
func (v *View) WantsRefused(now time.Time) bool {
	if !v.Binds || !v.AwaitsPods() {
		return false
	}
	p := begin(*v, now)
	reason, _ := p.hindrance()
	return p.is(api.ConditionTypeRegistered) && reason == ""
}

// reportRefused tells of the pods that were planned for the node and that its kubelet did not admit. Their
// controllers make others.
func (p *pass) reportRefused() {
	if p.view.Place == nil {
		return
	}
	planned := p.claim.Annotations[api.NominatedPodsAnnotationKey]
	count, names := 0, ""
	for _, pod := range p.view.Place.Pods {
		if !binding.IsRefused(pod) || !strings.Contains(planned, string(pod.UID)) {
			continue
		}
		if count++; count <= mostNamed {
			names += ", " + pod.Namespace + "/" + pod.Name + " (" + pod.Status.Reason + ")"
		}
	}
	if count == 0 {
		return
	}
	names = strings.TrimPrefix(names, ", ")
	p.log("the kubelet refused pods of the plan", "pods", count, "refused", names)
	p.record(disruption.AboutNode(p.node), corev1.EventTypeWarning, "PodsRefused", fmt.Sprintf(
		"The kubelet refused %d pod(s) that were planned for the node: %s", count, names))
}

// mostNamed is how many refused pods an event names.
const mostNamed = 3

// reserves reports whether this pass, or one before it, reserves the node and does not bind its pods yet.
func (p *pass) reserves() bool {
	if !p.view.expectsBindings() || !slices.ContainsFunc(p.node.Spec.Taints, isUnregistered) {
		return false
	}
	reservation, reserved := api.ReservationOf(p.node.Spec.Taints)
	if !reserved {
		return true
	}
	passed := p.now.Sub(reservation.Since).Abs() // another clock's time may be in the future
	return passed < kubeletLag || passed < longestReservation && !binding.TakesPods(p.node, p.view.Expected)
}

// reserve reserves the node for the pods that it was launched for.
func (p *pass) reserve() {
	if _, reserved := api.ReservationOf(p.node.Spec.Taints); !reserved {
		p.syncNode()
		p.node.Spec.Taints = append(p.node.Spec.Taints, api.Reservation{Since: p.now}.Taint())
	}
	p.lookAgain(kubeletLag)
}

// bind binds the pods that the node was launched for. What the scheduler has to place stays with it.
func (p *pass) bind() {
	if p.view.Place == nil || !p.view.IsReserved() || p.reserves() {
		return
	}
	chosen, left := binding.Choose(*p.view.Place, p.view.Expected)
	p.bound = chosen
	if len(chosen) > 0 {
		p.do(p.bindStep(chosen))
	}
	for _, one := range left[:min(len(left), mostLeft)] {
		p.log("left a pod to the scheduler", "Pod", one.Pod.Namespace+"/"+one.Pod.Name, "reason", one.Reason)
	}
}

// bindStep counts this attempt in the node's taint before it binds the pods. Another pass that has read the node
// before then gets a conflict, whether it would bind pods or remove the taint.
func (p *pass) bindStep(pods []*corev1.Pod) Bind {
	node := p.view.Nodes[0]
	reservation, _ := api.ReservationOf(node.Spec.Taints)
	reservation.Attempts++
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), isUnregistered)
	return Bind{
		Node: node, Pods: pods, Last: reservation.Attempts >= mostAttempts,
		Patch: map[string]any{
			"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
			"spec":     map[string]any{"taints": append(taints, reservation.Taint())},
		},
	}
}

// mostLeft bounds the log lines about one node.
const mostLeft = 5
