package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
)

var now = time.Date(2026, 3, 2, 12, 0, 30, 0, time.UTC)

// node has a claim of its name, and carries the taint of a disruption if it is tainted.
func node(name string, tainted bool) *disruption.Node {
	made := &disruption.Node{Claim: &api.NodeClaim{}, Node: &corev1.Node{}}
	made.Claim.Name, made.Node.Name = name, "node-"+name
	made.Claim.ResourceVersion, made.Node.ResourceVersion = "7", "3"
	if tainted {
		made.Node.Spec.Taints = []corev1.Taint{api.DisruptedNoScheduleTaint()}
	}
	return made
}

// steps lists the steps of a task, without the log lines.
func steps(task decide.Task) string {
	var lines []string
	for _, step := range task.Steps {
		switch step := step.(type) {
		case decide.PatchClaim:
			annotations, _ := step.Patch["metadata"].(map[string]any)["annotations"].(map[string]any)
			for key, value := range annotations {
				lines = append(lines, fmt.Sprintf("annotate %s %v", strings.TrimPrefix(key, api.OwnGroup+"/"), value != nil))
			}
		case decide.SetCondition:
			lines = append(lines, "set "+step.Condition.Type+" "+step.Condition.Reason)
		case decide.RemoveCondition:
			lines = append(lines, "remove "+step.Type)
		case decide.PatchNode:
			taints := step.Patch["spec"].(map[string]any)["taints"].([]corev1.Taint)
			lines = append(lines, fmt.Sprintf("taint %t", len(taints) > 0))
		case decide.DeleteClaim:
			lines = append(lines, "delete "+step.Claim.Name)
		case decide.Record:
			lines = append(lines, "event "+step.Reason)
		case decide.Log:
		default:
			lines = append(lines, strings.TrimPrefix(fmt.Sprintf("%T", step), "decide."))
		}
	}
	return strings.Join(lines, ", ")
}

func TestTasksKeepTheOrderThatMakesThemSafeToInterrupt(t *testing.T) {
	move := disruption.Move{Candidate: disruption.Candidate{
		Node: node("a", false), Reason: api.DisruptionReasonDrifted,
	}, By: []string{"b"}}
	for _, test := range []struct {
		name string
		task decide.Task
		want string
	}{
		{"an empty node is tainted, read once more, and deleted last", decide.Remove(node("a", false)),
			"taint true, RequireEmpty, set DisruptionReason Empty, delete a, ShowDeleted, CountSavings, " +
				"event DisruptionTerminating, event DisruptionTerminating"},
		{"an empty node that an earlier pass tainted is read once more", decide.Remove(node("a", true)),
			"RequireEmpty, set DisruptionReason Empty, delete a, ShowDeleted, CountSavings, " +
				"event DisruptionTerminating, event DisruptionTerminating"},
		{"the taint is removed last", decide.Restore(node("a", true)), "remove DisruptionReason, taint false"},
		{"a node without the taint needs no patch", decide.Restore(node("a", false)), "remove DisruptionReason"},
		{"a replacement is named before the node is tainted", decide.Begin(move),
			"annotate replaced-by true, set DisruptionReason Drifted, taint true, event DisruptionLaunching"},
		{"a replacement is reconsidered", decide.Reconsider(node("a", false)), "annotate replaced-by false"},
		{"a replaced node is deleted", decide.Finish(node("a", true), now),
			"delete a, CountSavings, event DisruptionTerminating, event DisruptionTerminating"},
		{"a node that is used again is not empty", decide.ForgetEmpty(node("a", false)),
			"annotate empty-since false, remove Consolidatable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := steps(test.task); got != test.want {
				t.Errorf("steps\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestARollBackDeletesTheReplacementsFirstAndForgetsThemLast(t *testing.T) {
	task := decide.RollBack(disruption.RollBack{
		Node: node("a", true), Delete: []*disruption.Node{node("b", false)}, Why: "no room",
	}, now)
	got := steps(task)
	if !strings.HasPrefix(got, "delete b, remove DisruptionReason, taint false, annotate ") ||
		!strings.HasSuffix(got, "event DisruptionBlocked") {
		t.Errorf("steps %s", got)
	}
	for _, step := range task.Steps {
		if patch, ok := step.(decide.PatchClaim); ok && !patch.Unseen {
			t.Error("later stages of the pass would see the node as one that is not replaced")
		}
	}
}

func TestARestartIsWrittenOnTheClaimBeforeItHappens(t *testing.T) {
	one, surge := int32(1), appsv1.RollingUpdateDeployment{}
	deployment := func() *appsv1.Deployment {
		made := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		made.Spec.Replicas = &one
		made.Spec.Strategy.RollingUpdate = &surge
		return made
	}
	begun := func(since time.Duration) *disruption.Node {
		made := node("a", true)
		at := now.Add(-since).UTC().Format(time.RFC3339)
		made.Claim.Annotations = map[string]string{disruption.RestartingSinceAnnotationKey: at}
		return made
	}
	restarted := deployment()
	restarted.Spec.Template.Annotations = map[string]string{
		disruption.RestartedAtAnnotationKey: now.Add(-time.Minute).UTC().Format(time.RFC3339),
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1"}}
	for _, test := range []struct {
		name       string
		node       *disruption.Node
		deployment *appsv1.Deployment
		want       string
		restarts   bool
		blocked    bool
	}{
		{"a pod of no Deployment is evicted", node("a", true), nil, "", false, false},
		{"the first pass writes the time and restarts", node("a", true), deployment(),
			"annotate restarting-since true, RestartDeployment, event RestartedToMove", true, false},
		{"a pass after one that died restarts", begun(time.Minute), deployment(),
			"RestartDeployment, event RestartedToMove", true, false},
		{"a Deployment is restarted once", begun(time.Minute), restarted, "", true, false},
		{"a restart that takes too long keeps the node", begun(time.Hour), deployment(), "", true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			task, restarts, blocked := decide.Restart(test.node, pod, test.deployment, "", now)
			if got := steps(task); got != test.want || restarts != test.restarts || (blocked != "") != test.blocked {
				t.Errorf("steps %q, restarts %t, blocked %q", got, restarts, blocked)
			}
		})
	}
}

func TestNoticesAreEventsOfOnePassInAMinute(t *testing.T) {
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	notices := []disruption.Notice{
		{Pool: pool, Message: "closed"}, {Pool: pool, Message: "unreadable", Mend: true},
		{Pool: pool, Message: "used up for a while", Passing: true}, {Node: node("a", false), Message: "protected"},
	}
	if events := decide.Blocked(notices, now); len(events) != 0 {
		t.Errorf("events %v half a minute after the minute", events)
	}
	events := decide.Blocked(notices, now.Truncate(time.Minute).Add(19*time.Second))
	var kinds []string
	for _, event := range events {
		kinds = append(kinds, event.About.Kind+" "+event.Type)
	}
	if got := strings.Join(kinds, ", "); got != "NodePool Normal, NodePool Warning, Node Normal, NodeClaim Normal" {
		t.Errorf("events about %s", got)
	}
}

// TestEventsOfAllNodesThatStayAreWrittenInTurn has more nodes than a pass writes events for.
func TestEventsOfAllNodesThatStayAreWrittenInTurn(t *testing.T) {
	var notices []disruption.Notice
	for i := range 1000 {
		name := fmt.Sprint("n", i)
		stays := node(name, false)
		stays.Node.Name = name
		notices = append(notices, disruption.Notice{Message: "stays", Node: stays})
	}
	told := map[string]bool{}
	for minute := range 4 {
		events := decide.Blocked(notices, now.Truncate(time.Minute).Add(time.Duration(minute)*time.Minute))
		if len(events) > 500 {
			t.Fatalf("a pass writes %d events", len(events))
		}
		for _, event := range events {
			told[event.About.Name] = true
		}
	}
	if len(told) != len(notices) {
		t.Errorf("in four minutes %d of %d nodes have their event", len(told), len(notices))
	}
}

func TestAMoveWaitsForAllThatIsLaunched(t *testing.T) {
	move := &consolidation.Move{
		Reason: api.DisruptionReasonUnderutilized, Await: []string{"coming"},
		Delete: []consolidation.Leaving{{NodeClaim: "a"}, {NodeClaim: "b"}}, SavedPerHour: 0.25,
	}
	moves := decide.Moves(move, []*disruption.Node{node("a", false), node("b", false)}, now)
	if len(moves.Begin) != 2 || !moves.Together || len(moves.Create) != 0 {
		t.Fatalf("moves %+v", moves)
	}
	for _, begin := range moves.Begin {
		if len(begin.By) != 1 || begin.By[0] != "coming" || begin.Reason != api.DisruptionReasonUnderutilized {
			t.Errorf("begin %+v", begin)
		}
	}
	if got := decide.Summary(move); got != "Underutilized: removes 2 nodes, launches 0, moves 0 pods, saves $0.2500/h" {
		t.Errorf("summary %q", got)
	}
	move.PodsEnded = 1
	if got := decide.Summary(move); !strings.HasSuffix(got, ", ends 1 pod that no controller makes again") {
		t.Error(got)
	}
	move.PodsEnded, move.RiskSavedPerHour = 0, 0.05
	want := "saves $0.2000/h, and $0.0500/h of the risk of interruptions"
	if got := decide.Summary(move); !strings.HasSuffix(got, want) {
		t.Errorf("the summary with a risk is %q", got)
	}
}

func TestOnlyReplacementsThatHaveBegunAreCreated(t *testing.T) {
	create := func(name string, replaces ...string) disruption.Created {
		made := disruption.Created{Replaces: replaces}
		made.Claim.Name = name
		return made
	}
	moves := disruption.Moves{Create: []disruption.Created{create("x", "a"), create("y", "b"), create("z", "a", "b")}}
	var names []string
	for _, created := range decide.Create(moves, map[string]bool{"a": true}, nil) {
		names = append(names, created.Claim.Name)
	}
	if strings.Join(names, " ") != "x z" {
		t.Errorf("created %v", names)
	}
}

// TestReplacementsSayThatNodesWaitForThem holds that each has one event in a minute.
func TestReplacementsSayThatNodesWaitForThem(t *testing.T) {
	replacements := []*disruption.Node{node("a", false), node("b", false)}
	if events := decide.WaitingReadiness(replacements, now); len(events) != 0 {
		t.Errorf("events %v half a minute after the minute", events)
	}
	events := decide.WaitingReadiness(replacements, now.Truncate(time.Minute))
	if len(events) != 2 || events[1].About.Kind != api.NodeClaimKind || events[1].About.Name != "b" ||
		events[1].Reason != "DisruptionWaitingReadiness" || events[1].Type != corev1.EventTypeNormal {
		t.Errorf("events %+v", events)
	}
}

// TestAMinutelyJobMeetsNotEachSearch holds that searches, at the times of passes, come at each third of a
// minute, and once a minute on average.
func TestAMinutelyJobMeetsNotEachSearch(t *testing.T) {
	thirds, searches := map[int]int{}, 0
	for second := 7; second < 3600; second += 20 {
		if at := now.Truncate(time.Hour).Add(time.Duration(second) * time.Second); decide.Searches(at) {
			thirds[at.Second()/20]++
			searches++
		}
	}
	if searches != 60 || thirds[0] != 20 || thirds[1] != 20 || thirds[2] != 20 {
		t.Errorf("%d searches in an hour, by the third of the minute %v", searches, thirds)
	}
}

// TestTheEventsOfAProposalAreAboutItsNodeToo lets people who describe the node see them, as in Karpenter.
func TestTheEventsOfAProposalAreAboutItsNodeToo(t *testing.T) {
	proposal := disruption.Proposal{First: node("a", false)}
	move := &consolidation.Move{Reason: api.DisruptionReasonUnderutilized}
	for reason, task := range map[string]decide.Task{
		"ConsolidationRejected": decide.Reject(proposal, "no room"), "ConsolidationApproved": decide.Approve(proposal, move),
	} {
		var kinds []string
		for _, step := range task.Steps {
			if event, ok := step.(decide.Record); ok && event.Reason == reason {
				kinds = append(kinds, event.About.Kind)
			}
		}
		if got := strings.Join(kinds, ", "); got != "Node, NodeClaim" {
			t.Errorf("%s is about %q", reason, got)
		}
	}
}

// TestAnAnnotationThatProtectsNothingIsToldBeforeTheDrain: the owner believes that the pod is protected.
func TestAnAnnotationThatProtectsNothingIsToldBeforeTheDrain(t *testing.T) {
	pod := func(name, value string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "web", Name: name, Annotations: map[string]string{api.DoNotDisruptAnnotationKey: value},
		}}
	}
	stays := node("a", false)
	stays.Pods = []*corev1.Pod{pod("mistyped", "ture"), pod("protected", "true"), pod("for-a-while", "1h")}
	seen := &disruption.Cluster{Nodes: []disruption.Node{*stays}}
	hour := now.Truncate(time.Hour)
	for after, want := range map[time.Duration]int{0: 1, time.Minute: 0, 5 * time.Minute: 1, 30 * time.Second: 0} {
		events := decide.Misread(seen, hour.Add(after))
		if len(events) != want {
			t.Errorf("%d events %s after the hour, want %d", len(events), after, want)
		}
		for _, event := range events {
			about := event.About
			if about.Kind != "Pod" || about.Namespace != "web" || about.Name != "mistyped" ||
				event.Type != corev1.EventTypeWarning || event.Reason != "InvalidDoNotDisruptAnnotation" {
				t.Errorf("event %+v", event)
			}
		}
	}
	for i := range 1000 {
		seen.Nodes[0].Pods = append(seen.Nodes[0].Pods, pod(fmt.Sprint("p", i), "ture"))
	}
	if events := decide.Misread(seen, hour); len(events) != 50 {
		t.Errorf("a pass writes %d events", len(events))
	}
}

func TestAPodThatNeitherEvictionNorRestartMovesKeepsItsNode(t *testing.T) {
	const refused = "PDB default/web allows 0 evictions"
	recreates := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	recreates.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	rolls := recreates.DeepCopy()
	rolls.Spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{},
	}
	for _, test := range []struct {
		deployment *appsv1.Deployment
		refused    string
		says       string
	}{
		{nil, "", ""},
		{recreates, "", ""},
		{rolls, refused, ""},
		{nil, refused, refused + ", and no Deployment can start another pod first"},
		{recreates, refused, refused + ", and deployment default/web cannot start another pod first"},
	} {
		why := decide.Unmovable(test.deployment, test.refused)
		if (why == "") != (test.says == "") || !strings.HasPrefix(why, test.says) {
			t.Errorf("%v, %q: %q, want %q", test.deployment, test.refused, why, test.says)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1"}}
		if _, _, blocked := decide.Restart(node("n", true), pod, test.deployment, test.refused, now); blocked != why {
			t.Errorf("a restart is blocked by %q, want %q", blocked, why)
		}
	}
}
