package nodeclaim

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Next decides what brings the claim forward. It changes nothing in the view.
func Next(view View, now time.Time) Outcome {
	p := begin(view, now)
	switch {
	case view.Claim.DeletionTimestamp != nil:
		p.end()
	case view.Claim.Status.ProviderID == "":
		// Provision writes the status of a claim that it launches. A patch here for each of a
		// thousand waiting claims would only conflict with that.
		if !p.deleteIfDue() {
			p.lookAgain(joinPause)
			p.outcome.WantsCapacity = view.Tick && p.age() >= unlaunchedAfter
		}
	default:
		p.rememberDepartures()
		if !p.deleteIfDue() {
			p.advance()
		}
	}
	p.markHeld()
	return p.outcome
}

// advance brings a launched claim and its node closer to being initialized.
func (p *pass) advance() {
	p.clearStaleDeadline()
	p.bind()
	p.nominate()
	p.hydrate()
	p.setLaunched()
	p.register()
	if p.reboot() {
		return
	}
	p.initialize()
	p.checkConsistency()
	p.checkDrift()
	p.write()
}

// pass works on one claim. It changes copies of the claim and its node into the wanted state, and
// write turns the differences into patches.
type pass struct {
	view    View
	now     time.Time
	claim   *api.NodeClaim
	node    *corev1.Node  // nil unless there is one
	bound   []*corev1.Pod // those that this pass binds
	asked   []Step        // steps that follow the claim's metadata and come before its status
	work    []Step        // steps that follow the patches
	reports []Step        // log lines and events that follow the work
	outcome Outcome
}

func begin(view View, now time.Time) *pass {
	p := &pass{view: view, now: now}
	claim := *view.Claim
	claim.Labels = maps.Clone(claim.Labels)
	claim.Annotations = maps.Clone(claim.Annotations)
	claim.Status.Conditions = slices.Clone(claim.Status.Conditions)
	p.claim = &claim
	// A kubelet runs at most one of several nodes with one provider id. Before the end a person has
	// to decide which; at the end all of them go.
	if len(view.Nodes) > 1 && claim.DeletionTimestamp != nil {
		p.view.Nodes = slices.Clone(view.Nodes)
		slices.SortStableFunc(p.view.Nodes, func(a, b *corev1.Node) int { return notReady(a) - notReady(b) })
	}
	if len(view.Nodes) == 1 || len(view.Nodes) > 1 && claim.DeletionTimestamp != nil {
		p.node = p.view.Nodes[0].DeepCopy()
	}
	return p
}

func notReady(node *corev1.Node) int {
	if disruption.IsReady(node) {
		return 0
	}
	return 1
}

func (p *pass) do(steps ...Step) { p.outcome.Steps = append(p.outcome.Steps, steps...) }

// afterwards adds steps that follow the patches.
func (p *pass) afterwards(steps ...Step) { p.work = append(p.work, steps...) }

// lookAgain asks for another look. The soonest of all requests counts.
func (p *pass) lookAgain(after time.Duration) {
	if p.outcome.Again == 0 || after < p.outcome.Again {
		p.outcome.Again = max(after, time.Second)
	}
}

// lookAt asks for another look at a moment in the future. It ignores a moment in the past.
func (p *pass) lookAt(moment time.Time) {
	if moment.After(p.now) {
		p.lookAgain(moment.Sub(p.now))
	}
}

// condition sets a condition of the claim, and reports whether that changed it.
func (p *pass) condition(kind string, status metav1.ConditionStatus, reason, message string) bool {
	return api.SetCondition(&p.claim.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: p.claim.Generation,
	}, p.now)
}

func (p *pass) is(kind string) bool { return api.ConditionTrue(p.claim.Status.Conditions, kind) }

// since is the time since the condition changed last; zero when there is none.
func (p *pass) since(kind string) time.Duration {
	if condition := api.GetCondition(p.view.Claim.Status.Conditions, kind); condition != nil {
		return p.now.Sub(condition.LastTransitionTime.Time)
	}
	return 0
}

func (p *pass) age() time.Duration { return p.now.Sub(p.claim.CreationTimestamp.Time) }

// launchedFor is the time since the launch of the instance, as the claim shows it.
func (p *pass) launchedFor() time.Duration { return p.now.Sub(launchedAt(p.view.Claim)) }

func launchedAt(claim *api.NodeClaim) time.Time {
	launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched)
	if claim.Status.ProviderID != "" && launched != nil {
		return launched.LastTransitionTime.Time
	}
	return claim.CreationTimestamp.Time
}

// log adds a log line that follows the work.
func (p *pass) log(message string, attributes ...any) {
	p.reports = append(p.reports, Log{Message: message, Attributes: append(p.names(), attributes...)})
}

// record adds an event that follows the work.
func (p *pass) record(about corev1.ObjectReference, kind, reason, message string) {
	p.reports = append(p.reports, Record{About: about, Type: kind, Reason: reason, Message: message})
}

// publish adds an event for EventBridge that follows the work.
func (p *pass) publish(detail own.Detail) { p.reports = append(p.reports, Publish{Detail: detail}) }

// published names the node in such an event.
func (p *pass) published() own.Node {
	id, _ := api.InstanceID(p.claim.Status.ProviderID)
	return own.Node{
		NodeClaim: p.claim.Name, NodePool: p.claim.Labels[api.NodePoolLabelKey],
		NodeName: p.claim.Status.NodeName, InstanceID: id,
	}
}

// annotate sets an annotation on the copy of the claim. An empty value removes it.
func (p *pass) annotate(key, value string) {
	if value == "" {
		delete(p.claim.Annotations, key)
		return
	}
	if p.claim.Annotations == nil {
		p.claim.Annotations = map[string]string{}
	}
	p.claim.Annotations[key] = value
}

// names are the attributes by which people find log lines of the claim.
func (p *pass) names() []any {
	attributes := []any{"NodeClaim", p.claim.Name, "provider-id", p.claim.Status.ProviderID}
	if p.node != nil {
		attributes = append(attributes, "Node", p.node.Name)
	}
	return attributes
}

// recordTransition adds the event of a condition that became true, in the form of Karpenter's.
func (p *pass) recordTransition(condition string) {
	p.record(disruption.AboutClaim(p.claim), corev1.EventTypeNormal, condition,
		"Status condition transitioned, Type: "+condition+", Status: Unknown -> True, Reason: "+condition)
}

// write turns the changes of the copies into patches, the node's first: the claim reports only what
// its node has. The work and the reports follow.
func (p *pass) write() {
	if p.node != nil {
		if patch := nodePatch(p.view.Nodes[0], p.node); patch != nil {
			p.do(PatchNode{Name: p.node.Name, Patch: patch})
		}
	}
	metadata := map[string]any{}
	if labels := mapPatch(p.view.Claim.Labels, p.claim.Labels); labels != nil {
		metadata["labels"] = labels
	}
	if annotations := mapPatch(p.view.Claim.Annotations, p.claim.Annotations); annotations != nil {
		metadata["annotations"] = annotations
	}
	if len(metadata) > 0 {
		p.do(PatchClaim{Patch: map[string]any{"metadata": metadata}})
	}
	p.do(p.asked...)
	if patch := statusPatch(&p.view.Claim.Status, &p.claim.Status); patch != nil {
		p.do(PatchClaimStatus{Patch: map[string]any{"status": patch}})
	}
	p.do(p.work...)
	p.do(p.reports...)
	p.asked, p.work, p.reports = nil, nil, nil
}
