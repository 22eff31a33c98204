package console_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/live"
	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/functions/console/widget"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/plan"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// sample is a cluster with a node that is ready, in which a word has something to be about.
type sample struct {
	claim *api.NodeClaim
	node  *corev1.Node // nil for one that has not joined
	pool  *api.NodePool
	other *api.NodeClaim // nil for none
	pods  []corev1.Pod
	// budgets are those of pods.
	budgets []policyv1.PodDisruptionBudget
}

func newSample() *sample {
	s := &sample{
		claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: "default-1", CreationTimestamp: metav1.NewTime(noon.Add(-5 * time.Hour)),
			Labels: map[string]string{api.NodePoolLabelKey: "default"}, Annotations: map[string]string{},
		}},
		node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: "n1", CreationTimestamp: metav1.NewTime(noon.Add(-5 * time.Hour)), Annotations: map[string]string{},
			Labels: map[string]string{api.NodePoolLabelKey: "default", api.NodeInitializedLabelKey: "true"},
		}},
		pool: &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
	}
	s.pool.Spec.Disruption.Budgets = []api.Budget{{Nodes: "100%"}}
	s.claim.Status.ProviderID, s.claim.Status.NodeName = "aws:///us-east-1a/i-1", "n1"
	s.node.Spec.ProviderID = s.claim.Status.ProviderID
	s.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, kind := range api.NodeClaimReadyDependents() {
		s.is(kind, kind)
	}
	return s
}

func (s *sample) is(kind, reason string) { s.set(kind, metav1.ConditionTrue, reason) }

func (s *sample) set(kind string, status metav1.ConditionStatus, reason string) {
	api.SetCondition(&s.claim.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason}, noon)
}

// until takes back what a claim has after a step of its start.
func (s *sample) until(kinds ...string) {
	for _, kind := range kinds {
		api.RemoveCondition(&s.claim.Status.Conditions, kind)
	}
}

func (s *sample) leaves() {
	at := metav1.NewTime(noon.Add(-10 * time.Minute))
	s.claim.DeletionTimestamp = &at
}

func (s *sample) annotate(key, value string) { s.claim.Annotations[key] = value }

// samples has what makes each word true.
func samples() map[nodestate.Word]func(*sample) {
	const before, after = "2026-03-01T11:30:00Z", "2026-03-01T12:40:00Z"
	registered, initialized := api.ConditionTypeRegistered, api.ConditionTypeInitialized
	launching := func(s *sample) {
		s.node, s.claim.Status.ProviderID, s.claim.Status.NodeName = nil, "", ""
		s.until(api.ConditionTypeLaunched, registered, initialized)
	}
	unhealthy := func(s *sample) {
		s.node.Status.Conditions[0] = corev1.NodeCondition{
			Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon.Add(-2 * time.Hour)),
		}
	}
	drifted := func(s *sample) { s.is(api.ConditionTypeDrifted, api.ReasonAMIDrift) }
	return map[nodestate.Word]func(*sample){
		nodestate.Launching: launching,
		nodestate.Launched: func(s *sample) {
			s.node, s.claim.Status.NodeName = nil, ""
			s.until(registered, initialized)
		},
		nodestate.Registered: func(s *sample) { s.until(initialized) },
		nodestate.Ready:      func(*sample) {},
		nodestate.NotReady:   func(s *sample) { s.node.Status.Conditions[0].Status = corev1.ConditionUnknown },
		nodestate.Rebooting:  func(s *sample) { s.is(api.ConditionTypeRebooting, api.ReasonRebootIssued) },
		nodestate.Draining:   func(s *sample) { s.leaves() },
		nodestate.Drained: func(s *sample) {
			s.leaves()
			s.is(api.ConditionTypeDrained, api.ConditionTypeDrained)
		},
		nodestate.Terminating: func(s *sample) {
			s.leaves()
			s.is(api.ConditionTypeInstanceTerminating, api.ConditionTypeInstanceTerminating)
		},
		nodestate.LaunchRefused: func(s *sample) {
			launching(s)
			s.annotate(api.FailedAttemptsAnnotationKey, "3")
		},
		nodestate.LaunchUnknown: func(s *sample) {
			launching(s)
			s.annotate(api.UnseenSinceAnnotationKey, before)
		},
		nodestate.LacksResources: func(s *sample) {
			s.set(api.ConditionTypeConsistentStateFound, metav1.ConditionFalse, api.ReasonConsistencyCheckFailed)
		},
		nodestate.HeldUp: func(s *sample) {
			s.leaves()
			s.pods = []corev1.Pod{{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "shop", Name: "web", Annotations: map[string]string{api.DoNotDisruptAnnotationKey: "true"},
				},
				Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
			}}
		},
		nodestate.Interrupted: func(s *sample) {
			s.leaves()
			s.node.Annotations[api.InterruptedAnnotationKey] = "SpotInterrupted"
		},
		nodestate.Departing: func(s *sample) {
			s.annotate(api.DepartsAtAnnotationKey, after)
			s.annotate(api.DepartsBecauseAnnotationKey, "instance-event-1")
		},
		nodestate.Rebalance: func(s *sample) { s.annotate(api.RebalanceRecommendedAnnotationKey, before) },
		nodestate.Drifted:   drifted,
		nodestate.Expired:   func(s *sample) { s.claim.Spec.ExpireAfter = api.DurationOf(4 * time.Hour) },
		nodestate.Expiring:  func(s *sample) { s.claim.Spec.ExpireAfter = api.DurationOf(330 * time.Minute) },
		nodestate.Unhealthy: unhealthy,
		nodestate.RepairBlocked: func(s *sample) {
			unhealthy(s)
			s.pool.Status.Conditions = []metav1.Condition{{
				Type: api.ConditionTypeNodeRepairBlocked, Status: metav1.ConditionTrue,
			}}
		},
		nodestate.Empty: func(s *sample) { s.annotate(api.EmptySinceAnnotationKey, before) },
		nodestate.Proposed: func(s *sample) {
			s.other = &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-2"}}
			s.other.Annotations = map[string]string{api.ProposedAnnotationKey: before + ",default-2,default-1"}
		},
		nodestate.ToGo:              func(s *sample) { s.is(api.ConditionTypeDisruptionReason, "Underutilized") },
		nodestate.Replaced:          func(s *sample) { s.annotate(api.ReplacedByAnnotationKey, "default-2") },
		nodestate.Restarting:        func(s *sample) { s.annotate(api.RestartingSinceAnnotationKey, before) },
		nodestate.ReplacementFailed: func(s *sample) { s.annotate(api.ReplaceAfterAnnotationKey, after) },
		nodestate.Replaces: func(s *sample) {
			s.other = &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "default-2"}}
			s.annotate(api.ReplacesAnnotationKey, "default-2")
		},
		nodestate.Avoided: func(s *sample) { s.node.Spec.Taints = append(s.node.Spec.Taints, api.CandidateTaint()) },
		nodestate.Kept:    func(s *sample) { s.node.Annotations[api.DoNotDisruptAnnotationKey] = "true" },
		nodestate.Frozen: func(s *sample) {
			drifted(s)
			s.pool.Spec.Disruption.Budgets = []api.Budget{{Nodes: "0"}}
		},
		nodestate.AwaitsRelease: func(s *sample) {
			drifted(s)
			s.pool.DriftWaits = "its release bakes"
		},
		nodestate.ZoneShifted: func(s *sample) { s.node.Annotations["whittle.dev/zone-shifted-until"] = after },
		nodestate.Deadline: func(s *sample) {
			s.leaves()
			s.annotate(api.NodeClaimTerminationTimestampAnnotationKey, after)
		},
	}
}

// shownBy returns the four texts about the sample's node.
func (s *sample) shownBy(t *testing.T) map[string]string {
	t.Helper()
	objects := &view.Cluster{
		NodePools: []api.NodePool{*s.pool}, NodeClaims: []api.NodeClaim{*s.claim}, Pods: s.pods, Budgets: s.budgets,
	}
	snapshot := &plan.Snapshot{
		NodePools: objects.NodePools, Nodes: []plan.Node{{NodeClaim: s.claim, Node: s.node, Pods: s.pods}},
	}
	if s.node != nil {
		objects.Nodes = []corev1.Node{*s.node}
	}
	if s.other != nil {
		objects.NodeClaims = append(objects.NodeClaims, *s.other)
		snapshot.Nodes = append(snapshot.Nodes, plan.Node{NodeClaim: s.other})
	}
	shown := view.Of(objects, noon)
	only := *shown // the problems and the other node have words of their own
	only.Problems, only.Nodes = nil, nil
	for _, node := range shown.Nodes {
		if node.NodeClaim == s.claim.Name {
			only.Nodes = append(only.Nodes, node)
		}
	}
	only.NodePools = nil
	var tables, explained strings.Builder
	if err := only.WriteTables(&tables, view.Form{}); err != nil {
		t.Fatal(err)
	}
	about := report.AboutNode(s.claim.Name, snapshot.NodePools,
		&consolidation.Input{Cluster: snapshot, Budgets: s.budgets, Now: noon}, &consolidation.Plan{})
	if err := about.WriteText(&explained, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	made, err := widget.New()
	if err != nil {
		t.Fatal(err)
	}
	page, err := made.Render(&only, widget.Options{Cluster: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	screen := strings.Join(live.Model{}.Lines(&only, "", terminal.Style{Width: 400}, 30), "\n")
	_, page, _ = strings.Cut(page, "<h2>Nodes</h2>")
	return map[string]string{
		"status": tables.String(), "status -watch": screen, "explain": explained.String(), "page": page,
	}
}

// TestAllPlacesHaveTheWordsOfEachState walks through every word. A word without a sample fails, so that whoever
// adds a state shows that all four say it.
func TestAllPlacesHaveTheWordsOfEachState(t *testing.T) {
	known := samples()
	for _, entry := range nodestate.Words() {
		word := entry.Word
		change := known[word]
		if change == nil {
			t.Errorf("no sample has the word %q: add one", word)
			continue
		}
		delete(known, word)
		with, without := newSample(), newSample()
		change(with)
		before := without.shownBy(t)
		for place, text := range with.shownBy(t) {
			if !says(place, text, word) {
				t.Errorf("%s does not say %q:\n%s", place, word, text)
			}
			if word != nodestate.Ready && says(place, before[place], word) {
				t.Errorf("%s says %q of a node that is ready:\n%s", place, word, before[place])
			}
		}
	}
	for word := range known {
		t.Errorf("the sample of %q is of no word", word)
	}
}

// says reports whether a text has the word for the node: as a state, or at the beginning of a remark.
func says(place, text string, word nodestate.Word) bool {
	said := string(word)
	switch place {
	case "page":
		return strings.Contains(text, ">"+said+"<") || strings.Contains(text, ">"+said+" ") ||
			strings.Contains(text, "; "+said) || strings.Contains(text, ">"+said+";")
	case "explain":
		return strings.Contains(text, "state "+said+"\n") || strings.Contains(text, "state "+said+":") ||
			strings.Contains(text, ": "+said) || strings.Contains(text, "; "+said)
	}
	return strings.Contains(text, "  "+said) || strings.Contains(text, "; "+said)
}
