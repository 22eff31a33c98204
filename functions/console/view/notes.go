package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// heldUpAfter is how long no pod may leave until a drain is held up. Most budgets allow the next
	// eviction earlier.
	heldUpAfter = 2 * time.Minute
	// reasonsShown is how many reasons of a drain are named.
	reasonsShown = 2
)

// note says what keeps a draining node, and what is to happen to one that is in use.
func (n *Node) note(claim *api.NodeClaim, pods []*corev1.Pod, objects *Cluster, now time.Time) {
	switch n.State {
	case StateDraining:
		n.Reason, n.HeldUp = drain(claim, pods, objects, now)
	case StateReady:
		n.Reason = strings.Join(coming(claim, objects), "; ")
	}
}

// drain says which pods a drain waits for and why, and whether it is held up.
func drain(claim *api.NodeClaim, pods []*corev1.Pod, objects *Cluster, now time.Time) (note string, heldUp bool) {
	left := 0
	var why []string
	for _, pod := range pods {
		if !scheduling.IsEvicted(pod) {
			continue
		}
		left++
		held := protection.HoldsDrain(pod, objects.Budgets, now)
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
	heldUp = len(why) > 0 && now.Sub(since) > heldUpAfter
	slices.Sort(why)
	if more := len(why) - reasonsShown; more > 0 {
		why = append(why[:reasonsShown], fmt.Sprintf("and %d more reasons", more))
	}
	for _, text := range why {
		note += "; " + printable.Line(text)
	}
	return note, heldUp
}

// coming says what is to happen to a node that is in use.
func coming(claim *api.NodeClaim, objects *Cluster) []string {
	var all []string
	for _, said := range []struct{ kind, text string }{
		{api.ConditionTypeDrifted, "drifted"}, {api.ConditionTypeDisruptionReason, "is to go"},
	} {
		condition := meta.FindStatusCondition(claim.Status.Conditions, said.kind)
		if condition == nil || condition.Status != metav1.ConditionTrue {
			continue
		}
		text := said.text
		if condition.Reason != "" && condition.Reason != said.kind {
			text += " (" + condition.Reason + ")"
		}
		all = append(all, text)
	}
	for _, name := range claim.Names(api.ReplacedByAnnotationKey) {
		text := "replacement " + printable.Line(name) + " is not made yet"
		if made := claimOf(name, objects); made != nil {
			is, _ := state(made, nil)
			if is == StateNotReady { // its node is not looked for here
				is = StateReady
			}
			text = "replacement " + printable.Line(name) + " is " + string(is)
		}
		all = append(all, text)
	}
	for _, name := range claim.Names(api.ReplacesAnnotationKey) {
		if claimOf(name, objects) != nil {
			all = append(all, "replaces "+printable.Line(name))
		}
	}
	if departure, announced := disruption.DepartureOf(claim); announced {
		all = append(all, "AWS takes it at "+departure.At.UTC().Format("2006-01-02 15:04")+" UTC ("+
			printable.Line(departure.Because)+")")
	}
	if claim.Annotations[api.RebalanceRecommendedAnnotationKey] != "" {
		all = append(all, "EC2 recommends to replace its spot instance")
	}
	return all
}

func claimOf(name string, objects *Cluster) *api.NodeClaim {
	i := slices.IndexFunc(objects.NodeClaims, func(claim api.NodeClaim) bool { return claim.Name == name })
	if i < 0 {
		return nil
	}
	return &objects.NodeClaims[i]
}
