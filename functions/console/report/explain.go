package report

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/sight"
)

// These are the values of an Explanation's outcome.
const (
	OutcomeNewNode      = "new node"
	OutcomeExistingNode = "existing node"
	OutcomeNoPlace      = "no place"
	// OutcomeHeld means that the pod waits and no node is planned for it now.
	OutcomeHeld = "held"
	// OutcomeRunning means that the pod has a node that is not leaving, and runs or starts there.
	OutcomeRunning = "running"
	// OutcomeNotWaiting means that no node can help the pod: it waits for something else, ends or has ended.
	OutcomeNotWaiting = "waits for no node"
)

// Explanation says why a pod has its place, or none.
type Explanation struct {
	FormatVersion int `json:"formatVersion"`

	Pod     string `json:"pod"`
	Outcome string `json:"outcome"`
	// Why says in a sentence why a pod is held or waits for no node, or how a running pod is.
	Why string `json:"why,omitempty"`
	// Held is the reason of a pod that is held: a value of sight.HeldReason.
	Held string `json:"held,omitempty"`
	// Until is when a held pod is planned for again; nil where no time decides.
	Until *metav1.Time `json:"until,omitempty"`
	// Runs is the node of a running pod.
	Runs string `json:"runs,omitempty"`
	// Leaves is the leaving node that the pod runs on; empty for a pending pod.
	Leaves string `json:"leaves,omitempty"`
	// Node is the new node, Existing the existing one.
	Node     *Node     `json:"node,omitempty"`
	Existing *Existing `json:"existing,omitempty"`
	// Risk says which node the pod would get if interruptions cost nothing, where that is another
	// one.
	Risk string `json:"risk,omitempty"`
	// Requests are the pod's own requests.
	Requests corev1.ResourceList `json:"requests"`
	// Steps show how many of the NodePool's instance types each requirement leaves in turn.
	Steps []Step `json:"steps"`
	// Constraints describe the pod's constraints besides resources.
	Constraints []string `json:"constraints"`
	// Reasons say why the pod has no place. With a place on a new node, they say what the other
	// NodePools offer.
	Reasons []Reason `json:"reasons"`

	// room is the node's capacity for daemon sets and pods.
	room corev1.ResourceList
	// well says that the pod runs, so that there is nothing to say about it.
	well bool
}

// Step is a requirement, and how many instance types meet it and all earlier ones.
type Step struct {
	Demand        string `json:"demand"`
	InstanceTypes int    `json:"instanceTypes"`
}

// Explain explains one of the planned pods, or one of the other pods of the view. It returns nil if the
// pod does not exist.
func Explain(namespace, name string, view *sight.View, p *plan.Plan) *Explanation {
	pods, s := view.Objects.Pods, view.Snapshot
	e := &Explanation{
		FormatVersion: FormatVersion,
		Pod:           namespace + "/" + name, Requests: corev1.ResourceList{}, Steps: []Step{}, Constraints: []string{},
		Reasons: []Reason{},
	}
	pod := find(s.Pods, namespace, name)
	if pod == nil {
		if pod = find(pods, namespace, name); pod == nil {
			return nil
		}
		e.Requests = scheduling.PodRequests(pod)
		if !scheduling.IsTerminal(pod) && pod.Spec.NodeName != "" && !leaves(pod.Spec.NodeName, s) {
			e.Outcome, e.Runs = OutcomeRunning, pod.Spec.NodeName
			e.Why, e.well = how(pod)
		} else {
			e.Outcome, e.Why = OutcomeNotWaiting, whyNotWaiting(pod, view)
		}
		e.hold(view.Held)
		return e
	}
	if bound := find(pods, namespace, name); bound != nil {
		e.Leaves = bound.Spec.NodeName
	}
	e.Requests, e.Constraints = scheduling.PodRequests(pod), constraints(pod)
	e.explainPlace(pod, s, p)
	return e
}

// explainPlace finds the pod in the plan, and explains its place, or why it has none.
func (e *Explanation) explainPlace(pod *corev1.Pod, s *plan.Snapshot, p *plan.Plan) {
	is := func(ref plan.PodRef) bool { return ref.String() == e.Pod }
	for i := range p.NodeClaims {
		if planned := &p.NodeClaims[i]; slices.ContainsFunc(planned.Pods, is) {
			n := node(planned)
			e.Outcome, e.Node = OutcomeNewNode, &n
			e.room = suppliesOf(s)[n.NodePool+" "+n.InstanceType]
			e.Risk = whatRiskDecides(planned, s)
			e.explainNew(pod, s)
		}
	}
	for _, n := range p.Nominations {
		if is(n.Pod) {
			e.Outcome = OutcomeExistingNode
			for _, node := range existing(p.Nominations) {
				if node.Node == n.NodeName && node.NodeClaim == n.NodeClaimName {
					e.Existing = &node
				}
			}
		}
	}
	for _, u := range p.Unplaced {
		if is(u.Pod) {
			e.Outcome = OutcomeNoPlace
			for _, reason := range u.Reasons {
				e.Reasons = append(e.Reasons, Reason{NodePool: reason.NodePool, Reason: reason.Message})
			}
		}
	}
}

// hold explains that the pod is held, if it is among the held ones.
func (e *Explanation) hold(pods []sight.Held) {
	i := slices.IndexFunc(pods, func(held sight.Held) bool { return held.Pod.String() == e.Pod })
	if i < 0 {
		return
	}
	held := &pods[i]
	e.Outcome, e.Why, e.Held = OutcomeHeld, held.Message, string(held.Reason)
	if !held.Until.IsZero() {
		e.Until = &metav1.Time{Time: held.Until}
	}
}

func find(pods []corev1.Pod, namespace, name string) *corev1.Pod {
	i := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Namespace == namespace && pod.Name == name })
	if i < 0 {
		return nil
	}
	return &pods[i]
}

// whyNotWaiting says why a pod does not wait for a node.
func whyNotWaiting(pod *corev1.Pod, view *sight.View) string {
	owner, volume := "", awaitedVolume(pod, view)
	if controller := metav1.GetControllerOf(pod); controller != nil {
		owner = controller.Kind + " " + controller.Name
	}
	switch {
	case scheduling.IsTerminal(pod):
		return fmt.Sprintf("it has ended (%s)", pod.Status.Phase)
	case pod.Spec.NodeName != "" && scheduling.IsReschedulable(pod):
		return fmt.Sprintf(
			"its node %q is leaving, but its annotation %s or a PodDisruptionBudget prevents the eviction, and keeps the node",
			pod.Spec.NodeName, api.DoNotDisruptAnnotationKey,
		)
	case pod.DeletionTimestamp != nil:
		return "it is being deleted"
	case scheduling.IsOwnedByDaemonSet(pod):
		return fmt.Sprintf("it belongs to the %s: a daemon set pod comes with its node, and gets no node of its own", owner)
	case scheduling.IsStatic(pod):
		return "it is the mirror of a static pod: only its node runs it"
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Sprintf(
			"its scheduling gate %q holds it back until a controller removes it from spec.schedulingGates",
			pod.Spec.SchedulingGates[0].Name,
		)
	case volume != "":
		return volume
	case pod.Status.NominatedNodeName != "":
		return fmt.Sprintf(
			"the scheduler has nominated it for node %q (status.nominatedNodeName), where it makes room",
			pod.Status.NominatedNodeName,
		)
	}
	return "the scheduler has not reported it as unschedulable yet (condition PodScheduled=False, reason " +
		"Unschedulable), so it may still bind to an existing node. To plan for it anyway, remove its metadata.uid"
}

// leaves reports whether the node of this name is leaving.
func leaves(name string, s *plan.Snapshot) bool {
	return slices.ContainsFunc(s.Nodes, func(n plan.Node) bool {
		return n.Node != nil && n.Node.Name == name && scheduling.IsLeaving(n.NodeClaim, n.Node)
	})
}

// explainNew adds the steps that narrowed the instance types.
func (e *Explanation) explainNew(pod *corev1.Pod, s *plan.Snapshot) {
	i := slices.IndexFunc(s.NodePools, func(pool api.NodePool) bool { return pool.Name == e.Node.NodePool })
	if i < 0 {
		return
	}
	types := s.InstanceTypes[e.Node.NodePool]
	undefined := scheduling.UndefinedAnyOf(s.WellKnownLabels)
	count := func(demand string, needs corev1.ResourceList, wanted ...scheduling.Requirements) {
		names := map[string]bool{}
		for i := range types {
			t := &types[i]
			if !holds(t.Allocatable, needs) {
				continue
			}
			for _, w := range wanted {
				if offering, ok := t.CheapestOffering(w); ok && offering.Available && t.Requirements.IsCompatible(w, undefined) {
					names[t.Name] = true
				}
			}
		}
		e.Steps = append(e.Steps, Step{Demand: demand, InstanceTypes: len(names)})
	}
	count("on offer", nil, scheduling.Requirements{})
	template := &s.NodePools[i].Spec.Template
	pool, err := scheduling.FromTerms(template.Spec.Requirements)
	if err != nil {
		return
	}
	// Only labels of types and offerings tell types apart.
	pool = known(pool, s.InstanceTypes[e.Node.NodePool])
	count(fmt.Sprintf("allowed by nodepool %q", e.Node.NodePool), nil, pool)
	var wanted []scheduling.Requirements
	for _, term := range nodeTerms(pod) {
		both := pool.Clone()
		both.Merge(known(term, types))
		wanted = append(wanted, both)
	}
	if len(pod.Spec.NodeSelector)+len(requiredNodeTerms(pod)) > 0 {
		count("allowed by the pod's nodeSelector and node affinity", nil, wanted...)
	}
	count("large enough for the pod", e.Requests, wanted...)
	claim, err := scheduling.FromTerms(e.Node.Requirements)
	if err != nil {
		return
	}
	claim = known(claim, types)
	// The claim lists the types that are left. The step counts those that its other demands leave.
	delete(claim, corev1.LabelInstanceTypeStable)
	claim.Merge(pool)
	count("left by the node's other pods, zone and capacity type, and large enough for all", e.Node.Requests, claim)
	if n := len(e.Node.InstanceTypes); n < e.Steps[len(e.Steps)-1].InstanceTypes {
		e.Steps = append(e.Steps, Step{Demand: "kept as alternatives, the cheapest", InstanceTypes: n})
	}
	e.explainOthers(pod, s)
}

// explainOthers says what each other pool offers the pod alone.
func (e *Explanation) explainOthers(pod *corev1.Pod, s *plan.Snapshot) {
	for i := range s.NodePools {
		pool := &s.NodePools[i]
		if pool.Name == e.Node.NodePool {
			continue
		}
		alone := *s
		alone.NodePools, alone.Nodes, alone.Pods = s.NodePools[i:i+1], nil, []corev1.Pod{*pod}
		solved := planning.Solve(&alone)
		for _, u := range solved.Unplaced {
			for _, reason := range u.Reasons {
				e.Reasons = append(e.Reasons, Reason{NodePool: pool.Name, Reason: reason.Message})
			}
		}
		for _, c := range solved.NodeClaims {
			e.Reasons = append(e.Reasons, Reason{NodePool: pool.Name, Reason: fmt.Sprintf(
				"could take it too (weight %d), alone on %s at $%s/h", weight(pool), c.InstanceTypes[0], dollars(c.BilledPerHour()),
			)})
		}
	}
}

func weight(pool *api.NodePool) int32 {
	if pool.Spec.Weight == nil {
		return 0
	}
	return *pool.Spec.Weight
}

// holds reports whether allocatable covers all needs.
func holds(allocatable, needs corev1.ResourceList) bool {
	for name, need := range needs {
		have := allocatable[name]
		if need.Sign() > 0 && have.Cmp(need) < 0 {
			return false
		}
	}
	return true
}
