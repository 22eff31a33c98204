package nodestate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// heldUpAfter is how long no pod may leave until a drain is held up. Most budgets allow the next
	// eviction earlier.
	heldUpAfter = 2 * time.Minute
	// expiringWithin is how long before its end a node is one that expires.
	expiringWithin = time.Hour
	// reasonsShown is how many reasons of a drain are named.
	reasonsShown = 2
)

// World is what the words of a node depend on beside the node.
type World struct {
	Claims  []api.NodeClaim
	Pools   []api.NodePool
	Budgets []policyv1.PodDisruptionBudget
	// Shifted has the ends of zonal shifts, by the id of the zone.
	Shifted map[string]time.Time
	Now     time.Time
}

// Reader reads the words of the nodes of a World.
type Reader struct {
	World
	claims map[string]*api.NodeClaim
	pools  map[string]*api.NodePool
	// nodes counts the nodes of each pool as its budgets do, roughly: claims with an instance.
	nodes map[string]int
	// proposed has the claims that a consolidation move removes that waits for its validation.
	proposed map[string]bool
}

// NewReader returns a Reader of the World, whose lists must not change any more.
func NewReader(w World) *Reader {
	r := &Reader{
		World: w, claims: map[string]*api.NodeClaim{}, pools: map[string]*api.NodePool{}, nodes: map[string]int{},
		proposed: map[string]bool{},
	}
	for i := range w.Pools {
		r.pools[w.Pools[i].Name] = &w.Pools[i]
	}
	for i := range w.Claims {
		claim := &w.Claims[i]
		r.claims[claim.Name] = claim
		if claim.Status.ProviderID != "" {
			r.nodes[claim.Labels[api.NodePoolLabelKey]]++
		}
		// The first claim of a move names all of them, after the time: see package disruption.
		if names := claim.Names(api.ProposedAnnotationKey); len(names) > 0 && claim.DeletionTimestamp == nil {
			for _, name := range names[1:] {
				r.proposed[name] = true
			}
		}
	}
	return r
}

// Mark is a word about a node, with what is known about it.
type Mark struct {
	Word Word   `json:"word"`
	Text string `json:"text"` // begins with the word
}

// Standing is the state of a node, why it lasts, and the marks.
type Standing struct {
	State Word
	// Why is what the state waits for, or empty.
	Why   string
	Marks []Mark
}

// Has reports whether the node has the mark.
func (s Standing) Has(word Word) bool {
	return slices.ContainsFunc(s.Marks, func(m Mark) bool { return m.Word == word })
}

// Note joins the marks and the reason, in the order of the table of words. It is empty for a node to
// which nothing happens.
func (s Standing) Note() string {
	var parts []string
	held := s.Has(HeldUp)
	if s.Why != "" && !held {
		parts = append(parts, s.Why)
	}
	for _, mark := range s.Marks {
		parts = append(parts, mark.Text)
		if mark.Word == HeldUp && s.Why != "" {
			parts = append(parts, s.Why)
		}
	}
	return strings.Join(parts, "; ")
}

// Of returns what is to be said of a node. The claim is nil for a node of others, and the node is nil
// until it has joined.
func (w *Reader) Of(claim *api.NodeClaim, node *corev1.Node, pods []*corev1.Pod) Standing {
	if claim == nil {
		if why := notReady(node); why != "" {
			return Standing{State: NotReady, Why: why}
		}
		return Standing{State: Ready}
	}
	var made Standing
	made.State, made.Why = stateOf(claim, node)
	if made.State == Draining {
		why, held := w.drain(claim, pods)
		made.Why = why // the condition tells of the last pass
		if held {
			made.add(HeldUp, "")
		}
	}
	if made.State == Terminating {
		return made
	}
	w.mark(&made, claim, node)
	slices.SortStableFunc(made.Marks, func(a, b Mark) int {
		return cmp.Compare(slices.Index(order, a.Word), slices.Index(order, b.Word))
	})
	return made
}

// add adds a mark, with a detail in brackets.
func (s *Standing) add(word Word, detail string) {
	text := string(word)
	if detail != "" {
		text += " (" + detail + ")"
	}
	s.Marks = append(s.Marks, Mark{word, text})
}

// stateOf returns a claim's state, and the reason why it goes no further.
func stateOf(claim *api.NodeClaim, node *corev1.Node) (Word, string) {
	conditions := claim.Status.Conditions
	if claim.DeletionTimestamp != nil {
		switch {
		case claim.Status.ProviderID == "" || api.ConditionTrue(conditions, api.ConditionTypeInstanceTerminating):
			return Terminating, ""
		case api.ConditionTrue(conditions, api.ConditionTypeDrained):
			return Drained, waitsFor(conditions, api.ConditionTypeVolumesDetached)
		}
		return Draining, ""
	}
	if reboot := api.GetCondition(conditions, api.ConditionTypeRebooting); reboot != nil &&
		reboot.Status == metav1.ConditionTrue {
		return Rebooting, because(*reboot)
	}
	for _, step := range []struct {
		before Word
		until  string
	}{
		{Launching, api.ConditionTypeLaunched}, {Launched, api.ConditionTypeRegistered},
		{Registered, api.ConditionTypeInitialized},
	} {
		if !api.ConditionTrue(conditions, step.until) {
			return step.before, waitsFor(conditions, step.until)
		}
	}
	if node == nil {
		return NotReady, "its node is gone"
	}
	if why := notReady(node); why != "" {
		return NotReady, why
	}
	return Ready, ""
}

// StepOf is the last step of a claim alone, whose node is not looked for.
func StepOf(claim *api.NodeClaim) Word {
	if is, _ := stateOf(claim, nil); is != NotReady {
		return is
	}
	return Ready
}

// waitsFor returns why a condition is not true yet, or "" if nobody has said.
func waitsFor(conditions []metav1.Condition, conditionType string) string {
	condition := api.GetCondition(conditions, conditionType)
	if condition == nil || condition.Status == metav1.ConditionTrue {
		return ""
	}
	return because(*condition)
}

// because returns a condition's reason and message.
func because(condition metav1.Condition) string {
	reason := condition.Reason
	if reason == "" || reason == condition.Type {
		reason = condition.Type + " is " + strings.ToLower(string(condition.Status))
	} else if condition.Message == "" {
		reason = condition.Type + ": " + reason
	}
	return strings.TrimSuffix(reason+": "+condition.Message, ": ")
}

// notReady returns why the node is not ready, or "" if it is.
func notReady(node *corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			if condition.Status == corev1.ConditionTrue {
				return ""
			}
			why := strings.TrimSuffix(condition.Reason+": "+condition.Message, ": ")
			return cmp.Or(why, "Ready is "+strings.ToLower(string(condition.Status)))
		}
	}
	return "its kubelet has not reported yet"
}

// ago writes how long ago a time was.
func (w *Reader) ago(at time.Time) string {
	return duration.HumanDuration(max(w.Now.Sub(at), 0)) + " ago"
}

// clock writes a time for people.
func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04") + " UTC" }

// FrozenPool reports whether the pool's budgets let none of so many nodes go now, for any reason.
func FrozenPool(pool *api.NodePool, nodes int, now time.Time) bool {
	for _, reason := range []api.DisruptionReason{
		api.DisruptionReasonEmpty, api.DisruptionReasonUnderutilized, api.DisruptionReasonDrifted,
	} {
		if allowed, err := budget.Allowed(pool, budget.PoolCount{Nodes: nodes}, reason, now); err != nil || allowed > 0 {
			return false // what cannot be read has a reason of its own
		}
	}
	return true
}

// drain says which pods a drain waits for and why, and whether it is held up.
func (w *Reader) drain(claim *api.NodeClaim, pods []*corev1.Pod) (note string, heldUp bool) {
	left := 0
	var why []string
	for _, pod := range pods {
		if !scheduling.IsEvicted(pod) {
			continue
		}
		left++
		held := w.holds(pod)
		// The words about a budget end with the pod. One pod of several is enough.
		held, _, _ = strings.Cut(held, ": pod ")
		if held != "" && !slices.Contains(why, held) {
			why = append(why, held)
		}
	}
	switch left {
	case 0:
		return "", false
	case 1:
		note = "1 pod stays"
	default:
		note = fmt.Sprintf("%d pods stay", left)
	}
	// lifecycle writes this time with each pod that leaves.
	since := claim.DeletionTimestamp.Time
	if moved := claim.Status.LastPodEventTime.Time; moved.After(since) {
		since = moved
	}
	heldUp = len(why) > 0 && w.Now.Sub(since) > heldUpAfter
	slices.Sort(why)
	if more := len(why) - reasonsShown; more > 0 {
		why = append(why[:reasonsShown], fmt.Sprintf("and %d more reasons", more))
	}
	for _, text := range why {
		note += "; " + text
	}
	return note, heldUp
}
