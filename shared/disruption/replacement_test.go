package disruption_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

func annotated(key, value string) func(*disruption.Node) {
	return func(n *disruption.Node) {
		if n.Claim.Annotations == nil {
			n.Claim.Annotations = map[string]string{}
		}
		n.Claim.Annotations[key] = value
	}
}

// begunAgo is a node whose replacement was begun a while ago.
func begunAgo(ago time.Duration) func(*disruption.Node) {
	return func(n *disruption.Node) {
		tainted(n)
		n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, metav1.Condition{
			Type: api.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: string(disruption.ReasonRebalance),
			LastTransitionTime: metav1.NewTime(monday.Add(-ago)),
		})
	}
}

func launched(n *disruption.Node) { n.Claim.Status.ProviderID = "aws:///us-east-1a/i-" + n.Claim.Name }

// booting is a node that has not joined.
func booting(n *disruption.Node) { n.Node, n.Claim.Status.Conditions = nil, nil }

// kept is a node that a person keeps.
func kept(n *disruption.Node) {
	n.Node.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
}

// unready is a node that is not ready.
func unready(n *disruption.Node) { n.Node.Status.Conditions[0].Status = corev1.ConditionFalse }

// because is a node that is replaced for another reason.
func because(reason api.DisruptionReason) func(*disruption.Node) {
	return func(n *disruption.Node) {
		api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeDisruptionReason).Reason = string(reason)
	}
}

func TestReplacing(t *testing.T) {
	by := func(names string) func(*disruption.Node) { return annotated(disruption.ReplacedByAnnotationKey, names) }
	old := func(names string, change ...func(*disruption.Node)) disruption.Node {
		return node("old", 0, append([]func(*disruption.Node){by(names), begunAgo(time.Minute)}, change...)...)
	}
	replaces := annotated(disruption.ReplacesAnnotationKey, "old")
	for _, test := range []struct {
		name               string
		nodes              []disruption.Node
		finish, back, undo string // names; undo are claims to delete
		unbegun            string
		why                string
		unlaunched         bool
		waiting            string
		again              time.Duration // zero for ten minutes
	}{
		{
			name: "a replacement that is there finishes it", nodes: []disruption.Node{old("new"), node("new", 0, replaces)},
			finish: "old",
		},
		{name: "where there is room elsewhere nothing is waited for", nodes: []disruption.Node{old("")}, finish: "old"},
		{
			name:  "a node waits for a replacement that boots",
			nodes: []disruption.Node{old("new"), node("new", 0, replaces, booting, launched)}, waiting: "new",
		},
		{
			name:  "a replacement without an instance is to be launched",
			nodes: []disruption.Node{old("new"), node("new", 0, replaces, booting)}, unlaunched: true, waiting: "new",
		},
		{
			name:    "a node waits for all replacements",
			nodes:   []disruption.Node{old("new,newer"), node("new", 0, replaces), node("newer", 0, booting, launched)},
			waiting: "newer",
		},
		{
			name: "two nodes wait for the same replacement",
			nodes: []disruption.Node{
				old("new"), node("oldest", 0, by("new"), begunAgo(time.Minute)), node("new", 0, booting, launched),
			},
			waiting: "new",
		},
		{
			name:  "a replacement that was given up rolls back, and keeps the one that boots",
			nodes: []disruption.Node{old("new,newer"), node("newer", 0, replaces, booting, launched, made(time.Minute))},
			back:  "old", why: "new was not launched", again: time.Minute,
		},
		{
			name:  "a replacement that was given up rolls all back that has no instance",
			nodes: []disruption.Node{old("new,newer"), node("newer", 0, replaces, booting)}, back: "old",
			undo: "newer", why: "new was not launched", unlaunched: true,
		},
		{
			name:  "a claim made for other nodes stays after a roll back",
			nodes: []disruption.Node{old("new,newer"), node("newer", 0, booting, launched)}, back: "old",
			why: "new was not launched",
		},
		{
			name:  "a replacement that is ready stays after a roll back",
			nodes: []disruption.Node{old("new,newer"), node("newer", 0, replaces)}, back: "old", why: "new was not launched",
		},
		{
			name:  "a replacement that leaves causes a roll back",
			nodes: []disruption.Node{old("new"), node("new", 0, replaces, claimDeleted)}, back: "old", why: "new is leaving",
		},
		{
			name: "time runs out",
			nodes: []disruption.Node{
				node("old", 0, by("new"), begunAgo(10*time.Minute)),
				node("new", 0, replaces, booting, launched, made(10*time.Minute)),
			},
			back: "old", why: "not ready within", again: time.Minute,
		},
		{
			name: "time runs out for a replacement without an instance",
			nodes: []disruption.Node{
				node("old", 0, by("new"), begunAgo(10*time.Minute)), node("new", 0, replaces, booting),
			},
			back: "old", undo: "new", why: "not ready within", unlaunched: true,
		},
		{
			name: "a replacement that has not come within an hour is given up",
			nodes: []disruption.Node{
				node("old", 0, by("new"), begunAgo(10*time.Minute)), node("new", 0, replaces, booting, launched, made(time.Hour)),
			},
			back: "old", undo: "new", why: "not ready within",
		},
		{
			name: "in a pool whose nodes boot slowly there is more time",
			nodes: []disruption.Node{
				node("old", 0, by("new"), begunAgo(20*time.Minute), bootedIn(11*time.Minute)),
				node("new", 0, replaces, booting, launched, made(20*time.Minute)),
			},
			waiting: "new",
		},
		{
			name:   "no time runs out once the replacement is ready",
			nodes:  []disruption.Node{node("old", 0, by("new"), begunAgo(10*time.Minute)), node("new", 0, replaces)},
			finish: "old",
		},
		{
			name:  "the pass that began died before the condition",
			nodes: []disruption.Node{node("old", 0, by(""))}, unbegun: "old",
		},
		{
			name: "the pass that rolled back died before its end", nodes: []disruption.Node{node("old", 0, by(""), tainted)},
			back: "old", why: "not begun",
		},
		{
			name:  "the pass that began with a replacement died before the condition",
			nodes: []disruption.Node{node("old", 0, by("new")), node("new", 0, booting, launched)}, back: "old",
			why: "not begun",
		},
		{
			name: "the pass that began died before it created the claim", nodes: []disruption.Node{old("new")}, back: "old",
			why: "new was not launched",
		},
		{
			name:  "a node that leaves waits no more",
			nodes: []disruption.Node{old("new", claimDeleted), node("new", 0, replaces, booting)},
		},
		{
			name: "two share a replacement",
			nodes: []disruption.Node{
				old("new"), node("oldest", 0, by("new"), begunAgo(time.Minute)),
				node("new", 0, annotated(disruption.ReplacesAnnotationKey, "old,oldest")),
			},
			finish: "old,oldest",
		},
		{
			name: "a protected pod came after the choice", nodes: []disruption.Node{
				old("new", with(pod("late", doNotDisrupt("true")))), node("new", 0, replaces),
			}, back: "old", why: "pod default/late has the annotation karpenter.sh/do-not-disrupt",
		},
		{
			name: "a pod whose protection is over", nodes: []disruption.Node{
				old("new", with(pod("late", doNotDisrupt("1s")))), node("new", 0, replaces),
			}, finish: "old",
		},
		{
			name: "a person annotated the tainted node", nodes: []disruption.Node{
				old("new", kept), node("new", 0, replaces),
			}, back: "old", why: "the node got the annotation karpenter.sh/do-not-disrupt",
		},
		{
			name: "a grace period ends no node that AWS recommends to replace", nodes: []disruption.Node{
				old("new", graceful, with(pod("late", doNotDisrupt("true")))), node("new", 0, replaces),
			}, back: "old", why: "pod default/late",
		},
		{
			name: "a grace period ends a drifted node in any case", nodes: []disruption.Node{
				old("new", graceful, because(api.DisruptionReasonDrifted), with(pod("late", doNotDisrupt("true")))),
				node("new", 0, replaces),
			}, finish: "old",
		},
		{
			name: "a grace period ends no node for its price", nodes: []disruption.Node{
				old("new", graceful, because(api.DisruptionReasonUnderutilized), with(pod("late", doNotDisrupt("true")))),
				node("new", 0, replaces),
			}, back: "old", why: "pod default/late",
		},
		{
			name: "nothing that protects other nodes keeps an unhealthy one", nodes: []disruption.Node{
				old("new", unready, kept, because(api.DisruptionReasonUnhealthy), with(pod("late", doNotDisrupt("true")))),
				node("new", 0, replaces),
			}, finish: "old",
		},
		{
			name: "an unhealthy node recovers", nodes: []disruption.Node{
				old("new", because(api.DisruptionReasonUnhealthy)), node("new", 0, replaces),
			}, back: "old", why: "the node is healthy again",
		},
		{
			name: "a person keeps an unhealthy node after the choice", nodes: []disruption.Node{
				old("new", unready, because(api.DisruptionReasonUnhealthy), onNode(api.DoNotRepairAnnotationKey, "true")),
				node("new", 0, replaces),
			}, back: "old", why: "the node got the annotation karpenter.sh/do-not-repair",
		},
		{name: "a node that nobody replaces", nodes: []disruption.Node{node("calm", 0)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &disruption.Cluster{Pools: []api.NodePool{pool("default", "0s", "100%")}, Nodes: test.nodes}
			got := disruption.Replacing(s, monday)
			var back, undo []*disruption.Node
			why, again := "", cmp.Or(test.again, disruption.ReplaceAgainAfter)
			for _, rollBack := range got.RollBack {
				back, undo, why = append(back, rollBack.Node), append(undo, rollBack.Delete...), rollBack.Why
				if rollBack.Again != again {
					t.Errorf("replaced again after %s, want %s", rollBack.Again, again)
				}
			}
			if names(got.Finish) != test.finish || names(back) != test.back || names(undo) != test.undo ||
				names(got.Unbegun) != test.unbegun || names(got.Waiting) != test.waiting ||
				got.Unlaunched != test.unlaunched ||
				!strings.Contains(why, test.why) {
				t.Errorf(
					"finishes %q, takes back %q (%s) deleting %q, unbegun %q, unlaunched %t, waits for %q",
					names(got.Finish),
					names(back),
					why,
					names(undo),
					names(got.Unbegun),
					got.Unlaunched,
					names(got.Waiting),
				)
			}
			// Empty leaves replaced nodes and replacements alone: it does not even restore them.
			expected := ""
			for i := range s.Nodes {
				expected += "," + s.Nodes[i].Claim.Annotations[disruption.ReplacedByAnnotationKey]
			}
			decided := disruption.Empty(s, monday)
			for _, list := range [][]*disruption.Node{decided.Begin, decided.Remove, decided.Restore, decided.Due, decided.End} {
				for _, touched := range list {
					_, replaced := touched.Claim.Annotations[disruption.ReplacedByAnnotationKey]
					if replaced || strings.Contains(expected, touched.Claim.Name) {
						t.Errorf("emptiness decides about %s", touched.Claim.Name)
					}
				}
			}
		})
	}
}

func TestAFailedReplacementIsUndone(t *testing.T) {
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
	patch := disruption.ReplacedBy(claim, []string{"b", "a"})["metadata"].(map[string]any)
	if patch["resourceVersion"] != "7" ||
		patch["annotations"].(map[string]any)[disruption.ReplacedByAnnotationKey] != "a,b" {
		t.Errorf("patch %v", patch)
	}
	undone := disruption.NotReplaced(monday.Add(disruption.ReplaceAgainAfter))["metadata"].(map[string]any)["annotations"].(map[string]any)
	if undone[disruption.ReplacedByAnnotationKey] != nil ||
		undone[disruption.ReplaceAfterAnnotationKey] != monday.Add(disruption.ReplaceAgainAfter).Format(time.RFC3339) {
		t.Errorf("patch %v", undone)
	}
}

func TestTheDrainOfAnUnhealthyNodeIsBounded(t *testing.T) {
	deadline := func(change ...func(*disruption.Node)) any {
		n := node("old", 0, append([]func(*disruption.Node){unready, begunAgo(time.Minute)}, change...)...)
		patch := disruption.RepairDeadline(&n, monday)
		if patch == nil {
			return nil
		}
		annotations := patch["metadata"].(map[string]any)["annotations"].(map[string]any)
		return annotations[api.NodeClaimTerminationTimestampAnnotationKey]
	}
	short := func(n *disruption.Node) {
		n.Claim.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Minute}
	}
	ofRepair := because(api.DisruptionReasonUnhealthy)
	if got := deadline(ofRepair); got != "2026-03-02T12:10:00Z" {
		t.Errorf("a node that is not ready drains until %v", got)
	}
	if got := deadline(ofRepair, graceful); got != "2026-03-02T12:10:00Z" {
		t.Errorf("a claim with a longer grace period drains until %v", got)
	}
	if got := deadline(ofRepair, short); got != nil {
		t.Errorf("a claim with a shorter grace period drains until %v", got)
	}
	if got := deadline(); got != nil {
		t.Errorf("a node that is replaced for another reason drains until %v", got)
	}
}

// made gives the claim its age.
func made(ago time.Duration) func(*disruption.Node) {
	return func(n *disruption.Node) { n.Claim.CreationTimestamp = metav1.NewTime(monday.Add(-ago)) }
}

// bootedIn is an initialized node that took that long.
func bootedIn(took time.Duration) func(*disruption.Node) {
	return func(n *disruption.Node) {
		initialized := api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeInitialized)
		n.Claim.Status.Conditions = append(n.Claim.Status.Conditions, metav1.Condition{
			Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(initialized.LastTransitionTime.Add(-took)),
		})
	}
}

// TestAReplacementThatBootsSlowlyIsLaunchedOnce follows a drifted node for a day. The planner finds
// the replacement that was let go, as it finds any node in flight.
func TestAReplacementThatBootsSlowlyIsLaunchedOnce(t *testing.T) {
	for _, boot := range []time.Duration{9 * time.Minute, 11 * time.Minute, 14 * time.Minute, 40 * time.Minute} {
		launches, finished := 0, time.Duration(-1)
		old := drifted("old", 2*time.Hour, occupied)
		var replacement *disruption.Node
		for at := time.Duration(0); at < 24*time.Hour && finished < 0; at += 20 * time.Second {
			now := monday.Add(at)
			s := &disruption.Cluster{Pools: []api.NodePool{pool("default", "0s", "10%")}, Nodes: []disruption.Node{old}}
			if replacement != nil {
				born, came := replacement.Claim.CreationTimestamp, len(replacement.Claim.Status.Conditions) > 2
				if now.Sub(born.Time) >= boot && !came {
					came := node(replacement.Claim.Name, 0)
					came.Claim.CreationTimestamp, came.Claim.Annotations = born, replacement.Claim.Annotations
					initialized := api.GetCondition(came.Claim.Status.Conditions, api.ConditionTypeInitialized)
					initialized.LastTransitionTime = metav1.NewTime(now)
					replacement = &came
				}
				s.Nodes = append(s.Nodes, *replacement)
			}
			r := disruption.Replacing(s, now)
			if len(r.Finish) > 0 {
				finished = at
			}
			for _, back := range r.RollBack {
				if len(back.Delete) > 0 {
					replacement = nil
				}
				old = drifted("old", 2*time.Hour, occupied,
					annotated(disruption.ReplaceAfterAnnotationKey, now.Add(back.Again).UTC().Format(time.RFC3339)))
				s.Nodes[0] = old
			}
			for _, empty := range disruption.Empty(s, now).Remove {
				t.Fatalf("with a boot of %s, after %s emptiness removes %s", boot, at, empty.Claim.Name)
			}
			if chosen, _ := disruption.Candidates(s, now); len(chosen) == 0 {
				continue
			}
			if replacement == nil {
				launches++
				made := node(fmt.Sprint("new-", launches), 0, booting, launched, annotated(disruption.ReplacesAnnotationKey, "old"))
				made.Claim.CreationTimestamp = metav1.NewTime(now)
				replacement = &made
			}
			by := replacement.Claim.Name
			old = drifted("old", 2*time.Hour, occupied, annotated(disruption.ReplacedByAnnotationKey, by), tainted)
			old.Claim.Status.Conditions = append(old.Claim.Status.Conditions, metav1.Condition{
				Type: api.ConditionTypeDisruptionReason, Status: metav1.ConditionTrue, Reason: "Drifted", LastTransitionTime: metav1.NewTime(now),
			})
		}
		if launches != 1 || finished < boot || finished > boot+3*time.Minute {
			t.Errorf("a boot of %s: %d launches, replaced after %s", boot, launches, finished)
		}
	}
}
