package disruption

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// A node is replaced before it is taken away by what the objects say, so that any
// invocation goes on where another has stopped:
//
//  1. ReplacedByAnnotationKey on its claim names the claims that are going to replace it,
//  2. the condition DisruptionReason says why, and since when,
//  3. the node is tainted,
//  4. the replacements are made, with ReplacesAnnotationKey.
//
// Then Replacing looks at it now and again. Once every replacement is initialized the claim
// is deleted, and its pods move. When one is missing or leaves (EC2 had no room for it, or
// whoever was to make it died), or time runs out, all of it is taken back in the other
// order, and the node goes on as it was.
const (
	// ReplacedByAnnotationKey is, on a NodeClaim, the names of the claims that replace it,
	// with commas between; empty where there is room for its pods elsewhere.
	ReplacedByAnnotationKey = api.OwnGroup + "/replaced-by"
	// ReplacesAnnotationKey is, on a NodeClaim, the names of the claims that it was made to
	// replace, with commas between.
	ReplacesAnnotationKey = api.OwnGroup + "/replaces"
	// ReplaceAfterAnnotationKey is, on a NodeClaim whose replacement failed, the time
	// (RFC 3339) before which none is tried again.
	ReplaceAfterAnnotationKey = api.OwnGroup + "/replace-after"
)

const (
	// replaceWithin is how long a replacement may take to be initialized: Karpenter's ten
	// minutes.
	replaceWithin = 10 * time.Minute
	// ReplaceAgainAfter is how long a node is left alone whose replacement failed.
	ReplaceAgainAfter = 10 * time.Minute
)

// Replacements is how the replacements under way go on.
type Replacements struct {
	// Unlaunched tells that a replacement has no instance yet: who launches is to be woken.
	Unlaunched bool
	// Finish are the nodes whose replacements are all there: to be deleted.
	Finish []*Node
	// RollBack are those that are to go on as they were.
	RollBack []RollBack
	// Unbegun are those for which nothing is launched, and of whose replacement only the
	// annotation is there: whoever began it died. Nothing has failed.
	Unbegun []*Node
}

// RollBack is a replacement that has failed.
type RollBack struct {
	Node *Node
	// Delete are the claims made for it that are not initialized: nobody needs them.
	Delete []*Node
	Why    string
}

// Replacing looks at the nodes that are being replaced.
func Replacing(s *Snapshot, now time.Time) Replacements {
	var r Replacements
	byName := map[string]*Node{}
	for i := range s.Nodes {
		byName[s.Nodes[i].Claim.Name] = &s.Nodes[i]
	}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		if !node.replaced() || node.leaving() {
			continue
		}
		waiting, why := "", ""
		for _, name := range node.replacements() {
			replacement := byName[name]
			switch {
			case replacement == nil:
				why = fmt.Sprintf("its replacement %s was not launched", name)
			case replacement.leaving():
				why = fmt.Sprintf("its replacement %s is leaving", name)
			case !replacement.initialized():
				waiting = name
				r.Unlaunched = r.Unlaunched || replacement.Claim.Status.ProviderID == ""
			}
		}
		reason := api.GetCondition(node.Claim.Status.Conditions, api.ConditionTypeDisruptionReason)
		switch {
		case why != "":
		case reason == nil && len(node.replacements()) == 0 && !node.chosen():
			r.Unbegun = append(r.Unbegun, node)
		case reason == nil:
			why = "its replacement was not begun"
		case waiting == "":
			r.Finish = append(r.Finish, node)
			continue
		case now.Sub(reason.LastTransitionTime.Time) >= replaceWithin:
			why = fmt.Sprintf("its replacement %s was not ready within %s", waiting, replaceWithin)
		}
		if why != "" {
			r.RollBack = append(r.RollBack, RollBack{Node: node, Delete: madeFor(node, byName), Why: why})
		}
	}
	return r
}

// madeFor are the claims that were made to replace the node and are not initialized.
func madeFor(node *Node, byName map[string]*Node) []*Node {
	var made []*Node
	for _, name := range node.replacements() {
		replacement := byName[name]
		if replacement != nil && !replacement.leaving() && !replacement.initialized() && slices.Contains(namesIn(replacement.Claim, ReplacesAnnotationKey), node.Claim.Name) {
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
func (n *Node) replacements() []string { return namesIn(n.Claim, ReplacedByAnnotationKey) }

// namesIn reads a list of names from an annotation.
func namesIn(claim *api.NodeClaim, key string) []string {
	return strings.FieldsFunc(claim.Annotations[key], func(r rune) bool { return r == ',' })
}

// expected are the names of the claims that nodes wait for which are being replaced: they
// are not too many, however empty they are.
func (s *Snapshot) expected() map[string]bool {
	expected := map[string]bool{}
	for i := range s.Nodes {
		if node := &s.Nodes[i]; node.replaced() && !node.leaving() {
			for _, name := range node.replacements() {
				expected[name] = true
			}
		}
	}
	return expected
}

// ReplacedBy is the patch that begins the replacement of a claim by others.
func ReplacedBy(claim *api.NodeClaim, replacements []string) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion,
		"annotations":     map[string]any{ReplacedByAnnotationKey: strings.Join(slices.Sorted(slices.Values(replacements)), ",")},
	}}
}

// NotBegun is the patch that makes of a claim what it was before ReplacedBy.
func NotBegun(claim *api.NodeClaim) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion, "annotations": map[string]any{ReplacedByAnnotationKey: nil},
	}}
}

// NotReplaced is the patch that ends the replacement of a claim which stays.
func NotReplaced(now time.Time) map[string]any {
	return annotate(map[string]any{
		ReplacedByAnnotationKey: nil, RestartingSinceAnnotationKey: nil, ReplaceAfterAnnotationKey: now.Add(ReplaceAgainAfter).UTC().Format(time.RFC3339),
	})
}

// Replacement makes of a planned claim one that replaces others. Its name is known before
// it is made, and another one in every attempt.
func Replacement(planned api.NodeClaim, replaces []*api.NodeClaim, number int, now time.Time) api.NodeClaim {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d\x00%d", now.UnixNano(), number)
	var replaced []string
	for _, claim := range replaces {
		replaced = append(replaced, claim.Name)
		fmt.Fprintf(sum, "\x00%s", claim.UID)
	}
	slices.Sort(replaced)
	made := *planned.DeepCopy()
	made.Name, made.GenerateName = made.GenerateName+hex.EncodeToString(sum.Sum(nil))[:8], ""
	if made.Annotations == nil {
		made.Annotations = map[string]string{}
	}
	made.Annotations[ReplacesAnnotationKey] = strings.Join(replaced, ",")
	made.Annotations[api.AttemptAnnotationKey] = "1"
	return made
}
