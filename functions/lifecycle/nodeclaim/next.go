package nodeclaim

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Next decides what brings the claim forward.
func Next(view View, now time.Time) Outcome {
	p := begin(view, now)
	switch {
	case view.Claim.DeletionTimestamp != nil:
		p.end()
	case view.Claim.Status.ProviderID == "":
		// Who launches it writes its status. A word on each of a thousand claims that wait
		// for that would only be in its way.
		if !p.over() {
			p.lookAgain(joinPause)
		}
	default:
		p.announce()
		if !p.over() {
			p.bring()
		}
	}
	return p.outcome
}

// bring brings a launched claim and its node nearer to being initialized.
func (p *pass) bring() {
	p.forgive()
	p.hydrate()
	p.launch()
	p.register()
	p.initialize()
	p.consistent()
	p.drift()
	p.write()
}

// pass is one look at a claim. It works on copies of the claim and its node,
// which it brings into the state that is wanted; the difference becomes patches.
type pass struct {
	view    View
	now     time.Time
	claim   *api.NodeClaim
	node    *corev1.Node // nil unless there is one
	work    []Step       // what is done when the patches are written
	after   []Step       // what is said then
	outcome Outcome
}

func begin(view View, now time.Time) *pass {
	p := &pass{view: view, now: now}
	claim := *view.Claim
	claim.Labels = maps.Clone(claim.Labels)
	claim.Annotations = maps.Clone(claim.Annotations)
	claim.Status.Conditions = slices.Clone(claim.Status.Conditions)
	p.claim = &claim
	// Of several nodes with one provider id a kubelet runs one at most. Before the end
	// a person has to say which; at the end all of them go.
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

// afterwards does the steps once the patches are written.
func (p *pass) afterwards(steps ...Step) { p.work = append(p.work, steps...) }

// lookAgain asks for another look, at the soonest of all that is asked for.
func (p *pass) lookAgain(after time.Duration) {
	if p.outcome.Again == 0 || after < p.outcome.Again {
		p.outcome.Again = max(after, time.Second)
	}
}

// lookAt asks for another look at a moment that is still to come.
func (p *pass) lookAt(moment time.Time) {
	if moment.After(p.now) {
		p.lookAgain(moment.Sub(p.now))
	}
}

func (p *pass) condition(kind string, status metav1.ConditionStatus, reason, message string) bool {
	return api.SetCondition(&p.claim.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: p.claim.Generation,
	}, p.now)
}

func (p *pass) is(kind string) bool { return api.ConditionTrue(p.claim.Status.Conditions, kind) }

// since is how long the condition has been what it is; zero when there is none.
func (p *pass) since(kind string) time.Duration {
	if condition := api.GetCondition(p.view.Claim.Status.Conditions, kind); condition != nil {
		return p.now.Sub(condition.LastTransitionTime.Time)
	}
	return 0
}

func (p *pass) age() time.Duration { return p.now.Sub(p.claim.CreationTimestamp.Time) }

// launchedFor is how long ago the instance was launched, as far as the claim says.
func (p *pass) launchedFor() time.Duration { return p.now.Sub(launchedAt(p.view.Claim)) }

func launchedAt(claim *api.NodeClaim) time.Time {
	launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched)
	if claim.Status.ProviderID != "" && launched != nil {
		return launched.LastTransitionTime.Time
	}
	return claim.CreationTimestamp.Time
}

// say logs the milestone and shows it on the claim once the patches are written.
func (p *pass) say(message string, attributes ...any) {
	p.after = append(p.after, Log{Message: message, Attributes: append(p.names(), attributes...)})
}

// record shows an event once the patches are written.
func (p *pass) record(about corev1.ObjectReference, kind, reason, message string) {
	p.after = append(p.after, Record{About: about, Type: kind, Reason: reason, Message: message})
}

// annotate puts an annotation on the copy of the claim, or takes it away.
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

// names are the attributes by which a line of the log is found.
func (p *pass) names() []any {
	attributes := []any{"NodeClaim", p.claim.Name, "provider-id", p.claim.Status.ProviderID}
	if p.node != nil {
		attributes = append(attributes, "Node", p.node.Name)
	}
	return attributes
}

// transition shows a condition's change on the claim, in the words of Karpenter's
// status events.
func (p *pass) transition(condition string) {
	p.record(disruption.AboutClaim(p.claim), corev1.EventTypeNormal, condition,
		"Status condition transitioned, Type: "+condition+", Status: Unknown -> True, Reason: "+condition)
}

// write turns what has changed on the copies into patches, the node's first: a
// claim says of its node only what the node has.
func (p *pass) write() {
	if p.node != nil {
		if patch := nodePatch(p.view.Nodes[0], p.node); patch != nil {
			p.do(PatchNode{Name: p.node.Name, Patch: patch})
		}
	}
	metadata := map[string]any{}
	if labels := annotationPatch(p.view.Claim.Labels, p.claim.Labels); labels != nil {
		metadata["labels"] = labels
	}
	if annotations := annotationPatch(p.view.Claim.Annotations, p.claim.Annotations); annotations != nil {
		metadata["annotations"] = annotations
	}
	if len(metadata) > 0 {
		p.do(PatchClaim{Patch: map[string]any{"metadata": metadata}})
	}
	if patch := statusPatch(&p.view.Claim.Status, &p.claim.Status); patch != nil {
		p.do(PatchClaimStatus{Patch: map[string]any{"status": patch}})
	}
	p.do(p.work...)
	p.do(p.after...)
	p.work, p.after = nil, nil
}
