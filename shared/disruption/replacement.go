package disruption

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
)

// A node's replacement is launched before the node is deleted. The objects say how far it is, so
// that any pass can continue where another has stopped:
//
//  1. ReplacedByAnnotationKey on the claim names the claims that replace it.
//  2. The condition DisruptionReason says why, and since when.
//  3. The node is tainted.
//  4. The replacements are created, with ReplacesAnnotationKey.
//
// Replacing then looks at the node in each pass. Once every replacement is initialized the claim is
// deleted, and its pods move. The replacement is rolled back in the other order if a replacement is
// missing or leaves, or takes too long. The same happens if protection came after the choice: a
// person annotated the node, or a protected pod was bound before the taint. The node then stays as
// it was.
//
// A replacement that has an instance is progress. If only its time is over, it stays, and the node
// is chosen again a moment later: the plan finds the replacement and launches nothing.
const (
	// ReplacedByAnnotationKey is, on a NodeClaim, the names of the claims that replace it,
	// separated by commas. It is empty if other nodes have room for its pods.
	ReplacedByAnnotationKey = api.ReplacedByAnnotationKey
	// ReplacesAnnotationKey is, on a NodeClaim, the names of the claims that it was made to
	// replace, separated by commas.
	ReplacesAnnotationKey = api.ReplacesAnnotationKey
	// ReplaceAfterAnnotationKey is, on a NodeClaim whose replacement failed, the time (RFC 3339)
	// before which it is not replaced again.
	ReplaceAfterAnnotationKey = api.ReplaceAfterAnnotationKey
)

const (
	// replaceWithin is how long a replacement may take to be initialized: Karpenter's ten minutes. In a pool
	// whose nodes take long to boot it is twice their time, and never more than giveUpAfter.
	replaceWithin = 10 * time.Minute
	// giveUpAfter is the age at which a replacement that is not initialized is deleted. Drivers of
	// devices take half an hour, and what takes longer will not end.
	giveUpAfter = time.Hour
	// ReplaceAgainAfter is how long a node stays after its replacement failed.
	ReplaceAgainAfter = 10 * time.Minute
	// findAgainAfter is how long a node stays whose replacement is not ready in time, and stays too.
	findAgainAfter = time.Minute
)

// Replacements has the steps that the replacements under way need.
type Replacements struct {
	// Unlaunched says that a replacement has no instance yet, so that provision has to be woken.
	Unlaunched bool
	// Waiting are the replacements that are not initialized yet, and for which nodes wait.
	Waiting []*Node
	// Finish are the nodes whose replacements are all initialized: delete them.
	Finish []*Node
	// RollBack are the nodes that stay after all.
	RollBack []RollBack
	// Notices say which nodes wait for the end of a freeze, although their replacements are ready.
	Notices []Notice
	// Unbegun are nodes with the annotation only and without replacements: the pass that began
	// died. Nothing has failed.
	Unbegun []*Node
}

// RollBack is a replacement that has failed.
type RollBack struct {
	Node *Node
	// Delete are the claims made for it that are not initialized, and are not kept.
	Delete []*Node
	// Again is how long the node stays at least.
	Again time.Duration
	Why   string
}

// Replacing looks at the nodes that are being replaced.
func Replacing(s *Cluster, now time.Time) Replacements {
	var r Replacements
	byName := s.byName()
	pools := s.poolsByName()
	within := s.replaceWithin(pools)
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if !node.replaced() || node.leaving() {
			continue
		}
		progress := progressOf(node, byName)
		r.Unlaunched = r.Unlaunched || progress.unlaunched
		reason := api.GetCondition(node.Claim.Status.Conditions, api.ConditionTypeDisruptionReason)
		if stopped := s.releaseStops(node, reason); stopped != "" {
			back := RollBack{Node: node, Delete: madeFor(node, byName), Again: ReplaceAgainAfter, Why: stopped}
			r.RollBack = append(r.RollBack, back)
			continue
		}
		why := progress.failed
		switch {
		case why != "":
		case reason == nil && len(node.replacements()) == 0 && !node.chosen():
			r.Unbegun = append(r.Unbegun, node)
		case reason == nil:
			why = "its replacement was not begun"
		case len(progress.waiting) == 0:
			if why = node.keptFrom(api.DisruptionReason(reason.Reason), now); why == "" {
				r.finish(node, pools[node.pool()], api.DisruptionReason(reason.Reason), now)
			}
		case now.Sub(reason.LastTransitionTime.Time) >= within(progress.waiting):
			why = fmt.Sprintf("its replacement %s was not ready within %s", progress.waiting[0].Claim.Name,
				within(progress.waiting))
		default:
			r.wait(progress.waiting)
		}
		if why != "" {
			deleted, again := letGo(madeFor(node, byName), pools, now)
			r.RollBack = append(r.RollBack, RollBack{Node: node, Delete: deleted, Again: again, Why: why})
		}
	}
	return r
}

// byName are the nodes by the names of their claims.
func (s *Cluster) byName() map[string]*Node {
	byName := make(map[string]*Node, len(s.Nodes))
	for i := range s.Nodes {
		byName[s.Nodes[i].Claim.Name] = &s.Nodes[i]
	}
	return byName
}

// finish adds a node whose replacements are ready, unless a freeze holds it. The node then keeps
// its mark: the end of the freeze finds it where it is.
func (r *Replacements) finish(node *Node, pool *api.NodePool, reason api.DisruptionReason, now time.Time) {
	if pool != nil {
		if held := pool.Frozen(reason, now); held != nil {
			r.Notices = append(r.Notices, Notice{Node: node, Message: fmt.Sprintf(
				"Its replacements are ready, and it waits: %s", held)})
			return
		}
	}
	r.Finish = append(r.Finish, node)
}

// replaceWithin returns how long replacements may take: twice as long as nodes of their pools have
// taken, within bounds. A pool with a fixed number of nodes waits as long as it can, because a
// replacement that is let go would be one node too many.
func (s *Cluster) replaceWithin(pools map[string]*api.NodePool) func(waiting []*Node) time.Duration {
	boots := map[string][]time.Duration{}
	for i := range s.Nodes {
		if node := &s.Nodes[i]; node.initialized() {
			boots[node.pool()] = append(boots[node.pool()], node.bootTime())
		}
	}
	return func(waiting []*Node) time.Duration {
		longest := replaceWithin
		for _, node := range waiting {
			if node.fixed(pools) {
				return giveUpAfter
			}
			// Half of the nodes took as long or longer. One that was rebooted counts with a wrong time.
			if of := slices.Sorted(slices.Values(boots[node.pool()])); len(of) > 0 {
				longest = max(longest, 2*of[len(of)/2])
			}
		}
		return min(longest, giveUpAfter)
	}
}

// bootTime is how long the node took from its launch to being initialized.
func (n *Node) bootTime() time.Duration {
	launched := api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeLaunched)
	if launched == nil {
		return 0
	}
	return n.initializedAt().Sub(launched.LastTransitionTime.Time)
}

// letGo returns which of the late replacements are deleted, and how long their node stays. Those
// that have an instance are kept for a while, so that the money for them is not spent again. A pool
// with a fixed number of nodes keeps none, because nothing finds one there.
func letGo(late []*Node, pools map[string]*api.NodePool, now time.Time) (deleted []*Node, again time.Duration) {
	for _, replacement := range late {
		old := now.Sub(replacement.Claim.CreationTimestamp.Time) >= giveUpAfter
		if replacement.Claim.Status.ProviderID == "" || old || replacement.fixed(pools) {
			deleted = append(deleted, replacement)
		}
	}
	if len(deleted) < len(late) {
		return deleted, findAgainAfter
	}
	return deleted, ReplaceAgainAfter
}

// fixed tells whether the node's pool has a fixed number of nodes.
func (n *Node) fixed(pools map[string]*api.NodePool) bool {
	pool := pools[n.pool()]
	return pool != nil && pool.Spec.Replicas != nil
}

// wait adds replacements that nodes wait for. Several nodes may wait for the same one.
func (r *Replacements) wait(waiting []*Node) {
	for _, replacement := range waiting {
		if !slices.Contains(r.Waiting, replacement) {
			r.Waiting = append(r.Waiting, replacement)
		}
	}
}

// keptFrom is why the tainted node stays although its replacements are ready, or "". Budgets of pods
// do not count here, because the drain waits for them.
func (n *Node) keptFrom(reason api.DisruptionReason, now time.Time) string {
	if n.Node == nil {
		return ""
	}
	if reason == api.DisruptionReasonUnhealthy {
		return n.recovered()
	}
	if annotation := n.annotated(reason, now); annotation != "" {
		return "the node got the annotation " + annotation
	}
	candidate := Candidate{Node: n, Reason: reason}
	for _, policy := range policies(nil, nil) {
		if policy.reason == reason {
			candidate.announced = policy.announced
			if candidate.endsInAnyCase() {
				return ""
			}
		}
	}
	for _, pod := range n.Pods {
		if annotation := protection.ByAnnotation(pod, now); annotation != "" {
			return fmt.Sprintf("pod %s/%s has the annotation %s", pod.Namespace, pod.Name, annotation)
		}
	}
	return ""
}

// progress is the state of a node's replacements.
type progress struct {
	// waiting are the replacements that are not initialized yet. failed is the reason why one will
	// never be.
	waiting []*Node
	failed  string
	// unlaunched says that a replacement has no instance yet.
	unlaunched bool
}

func progressOf(node *Node, byName map[string]*Node) progress {
	var p progress
	for _, name := range node.replacements() {
		replacement := byName[name]
		switch {
		case replacement == nil:
			p.failed = fmt.Sprintf("its replacement %s was not launched", name)
		case replacement.leaving():
			p.failed = fmt.Sprintf("its replacement %s is leaving", name)
		case !replacement.initialized():
			p.waiting = append(p.waiting, replacement)
			p.unlaunched = p.unlaunched || replacement.Claim.Status.ProviderID == ""
		}
	}
	return p
}

// madeFor are the claims that were made to replace the node and are not initialized.
func madeFor(node *Node, byName map[string]*Node) []*Node {
	var made []*Node
	for _, name := range node.replacements() {
		replacement := byName[name]
		if replacement != nil && !replacement.leaving() && !replacement.initialized() &&
			slices.Contains(replacement.Claim.Names(ReplacesAnnotationKey), node.Claim.Name) {
			made = append(made, replacement)
		}
	}
	return made
}

// replaced tells whether the node is being replaced.
func (n *Node) replaced() bool {
	_, present := n.Claim.Annotations[ReplacedByAnnotationKey]
	return present
}

// replacements are the names of the claims that replace the node.
func (n *Node) replacements() []string { return n.Claim.Names(ReplacedByAnnotationKey) }

// expected returns the names of the claims that replace others. They may be empty, and are not
// surplus. A replacement that came late waits a moment for the node that was let go.
func (s *Cluster) expected(now time.Time) map[string]bool {
	expected, stays := map[string]bool{}, map[string]bool{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if node.leaving() {
			continue
		}
		stays[node.Claim.Name] = true
		if node.replaced() {
			for _, name := range node.replacements() {
				expected[name] = true
			}
		}
	}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if !node.initialized() || now.Sub(node.initializedAt()) >= 2*findAgainAfter {
			continue
		}
		for _, name := range node.Claim.Names(ReplacesAnnotationKey) {
			expected[node.Claim.Name] = expected[node.Claim.Name] || stays[name]
		}
	}
	return expected
}

// ReplacedBy is the patch that begins the replacement of a claim by others.
func ReplacedBy(claim *api.NodeClaim, replacements []string) map[string]any {
	names := strings.Join(slices.Sorted(slices.Values(replacements)), ",")
	return annotateVersion(claim, map[string]any{ReplacedByAnnotationKey: names})
}

// NotBegun is the patch that undoes ReplacedBy.
func NotBegun(claim *api.NodeClaim) map[string]any {
	return annotateVersion(claim, map[string]any{ReplacedByAnnotationKey: nil})
}

// NotReplaced is the patch that ends a failed replacement. The claim stays, and the next
// replacement does not begin before the time.
func NotReplaced(until time.Time) map[string]any {
	return annotate(map[string]any{
		ReplacedByAnnotationKey: nil, RestartingSinceAnnotationKey: nil,
		ReplaceAfterAnnotationKey: until.UTC().Format(time.RFC3339),
	})
}

// Replacement is the planned claim with the claims that it replaces. Its name is known before its
// creation, and differs in every attempt.
func Replacement(planned api.NodeClaim, replaces []*api.NodeClaim, number int, now time.Time) api.NodeClaim {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d\x00%d", now.UnixNano(), number)
	var replaced, drifts []string
	for _, claim := range replaces {
		replaced = append(replaced, claim.Name)
		if sign := drift.Sign(claim); sign != "" && !slices.Contains(drifts, sign) {
			drifts = append(drifts, sign)
		}
		fmt.Fprintf(sum, "\x00%s", claim.UID)
	}
	slices.Sort(replaced)
	made := *planned.DeepCopy()
	made.Name, made.GenerateName = made.GenerateName+hex.EncodeToString(sum.Sum(nil))[:8], ""
	if made.Annotations == nil {
		made.Annotations = map[string]string{}
	}
	made.Annotations[ReplacesAnnotationKey] = strings.Join(replaced, ",")
	if len(drifts) > 0 {
		slices.Sort(drifts)
		made.Annotations[api.ReplacesDriftAnnotationKey] = strings.Join(drifts, ",")
	}
	made.Annotations[api.AttemptAnnotationKey] = "1"
	return made
}
