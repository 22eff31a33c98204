package disrupt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// control writes keys of the ConfigMap that has people's orders. It goes with the test.
func control(t *testing.T, changes map[string]string) {
	t.Helper()
	t.Cleanup(func() { server.Delete(t, "/api/v1/namespaces/whittle-system/configmaps/"+inventory.ControlName) })
	if err := inventory.ChangeControl(t.Context(), server.Everything(t), changes); err != nil {
		t.Fatal(err)
	}
}

// freezeNow freezes the pool, or all for an empty name.
func freezeNow(t *testing.T, pool string, until time.Time) {
	t.Helper()
	ordered := freeze.Freeze{Pool: pool, Who: "alice", Reason: "INC-12", Since: time.Now(), Until: until}
	control(t, map[string]string{freeze.KeyOf(pool): ordered.Text()})
}

func thawNow(t *testing.T, pool string) {
	t.Helper()
	control(t, map[string]string{freeze.KeyOf(pool): ""})
}

// dueEmpty is a handler for which the empty node of the name is due.
func dueEmpty(t *testing.T, name string) *harness {
	t.Helper()
	pool(t, "100%")
	initialized(t, name)
	l := newHarness(t, nil)
	l.mustTick(t)
	l.ahead = 7 * time.Second
	return l
}

// during wraps what disrupt does in the cluster, to let a freeze come at a moment of a pass.
type during struct {
	edge
	beforeCheck, onTaint func()
	unread               error
}

func (d during) Freezes(ctx context.Context) (*freeze.Freezes, error) {
	if d.beforeCheck != nil {
		d.beforeCheck()
	}
	if d.unread != nil {
		return nil, d.unread
	}
	return d.edge.Freezes(ctx)
}

func (d during) PatchNode(ctx context.Context, name string, patch map[string]any) error {
	err := d.edge.PatchNode(ctx, name, patch)
	if d.onTaint != nil {
		d.onTaint()
	}
	return err
}

func (l *harness) use(t *testing.T, with during) {
	t.Helper()
	with.edge = edge{Client: server.Client(t, nil)}
	l.connect = func(context.Context) (kubernetes, error) { return with, nil }
}

func TestAFrozenClusterKeepsItsNodesUntilTheThaw(t *testing.T) {
	l := dueEmpty(t, "still")
	for name, ordered := range map[string]map[string]string{
		"the cluster":     {"freeze": "who: alice"},
		"its pool":        {"freeze": "", "freeze.default": "who: alice"},
		"a broken order":  {"freeze": "until: soon", "freeze.default": ""},
		"a misspelt key":  {"freeze": "", "freeeze": "", "freezes": "who: alice"},
		"two, one passed": {"freezes": "", "freeze": "until: 2020-01-01T00:00:00Z", "freeze.default": "who: alice"},
	} {
		control(t, map[string]string{"freeze": "", "freeze.default": "", "freezes": ""})
		control(t, ordered)
		for range 2 {
			l.mustTick(t)
			if isEnding(t, "still") || isTainted(t, "still") {
				t.Fatalf("%s: ending %t, tainted %t", name, isEnding(t, "still"), isTainted(t, "still"))
			}
		}
	}
	control(t, map[string]string{"freeze": "until: 2020-01-01T00:00:00Z", "freeze.default": "", "freezes": "",
		"freeze.other": "who: alice"})
	l.mustTick(t)
	if !isEnding(t, "still") {
		t.Error("a freeze that has ended, or of another pool, keeps a node")
	}
}

func TestAFreezeThatComesAfterTheDecisionHoldsIt(t *testing.T) {
	l := dueEmpty(t, "chosen")
	l.use(t, during{beforeCheck: func() { freezeNow(t, "", time.Time{}) }})
	l.mustTick(t)
	if isEnding(t, "chosen") || isTainted(t, "chosen") {
		t.Fatalf("ending %t, tainted %t", isEnding(t, "chosen"), isTainted(t, "chosen"))
	}
	thawNow(t, "")
	l.use(t, during{})
	l.mustTick(t)
	if !isEnding(t, "chosen") {
		t.Error("the node stays after the thaw")
	}
}

func TestAFreezeThatComesAfterTheTaintHoldsTheDeletion(t *testing.T) {
	l := dueEmpty(t, "marked")
	l.use(t, during{onTaint: func() { freezeNow(t, "default", time.Time{}) }})
	l.mustTick(t)
	if isEnding(t, "marked") || !isTainted(t, "marked") {
		t.Fatalf("ending %t, tainted %t", isEnding(t, "marked"), isTainted(t, "marked"))
	}
	l.use(t, during{})
	l.mustTick(t)
	if isEnding(t, "marked") || isTainted(t, "marked") {
		t.Errorf("the next pass leaves it ending %t, tainted %t", isEnding(t, "marked"), isTainted(t, "marked"))
	}
}

func TestNothingIsDisruptedWhereFreezesAreUnread(t *testing.T) {
	l := dueEmpty(t, "unsure")
	l.use(t, during{unread: errors.New("no answer")})
	if err := l.tick(t); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("the pass returns %v", err)
	}
	if isEnding(t, "unsure") || isTainted(t, "unsure") {
		t.Errorf("ending %t, tainted %t", isEnding(t, "unsure"), isTainted(t, "unsure"))
	}
}

// driftedNode is a node with a pod that has been drifted for an hour.
func driftedNode(t *testing.T, name string) {
	t.Helper()
	offers(t)
	pool(t, "100%")
	initialized(t, name)
	occupy(t, name)
	claim := readClaim(t, name)
	conditions := append(claim.Status.Conditions, metav1.Condition{
		Type: api.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: api.ReasonAMIDrift})
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
	}
	server.Patch(t, api.NodeClaimsPath+"/"+name+"/status",
		map[string]any{"status": map[string]any{"conditions": conditions}})
	t.Cleanup(func() { forget(t) })
}

func TestAFreezeThatComesAfterTheMarkHoldsTheReplacement(t *testing.T) {
	driftedNode(t, "old")
	l := newHarness(t, nil)
	l.use(t, during{onTaint: func() { freezeNow(t, "", time.Time{}) }})
	l.mustTick(t)
	if !isTainted(t, "old") || replacement(t, "old") != nil {
		t.Fatalf("tainted %t, replaced by %v", isTainted(t, "old"), replacement(t, "old"))
	}
	l.use(t, during{})
	l.mustTick(t)
	if isTainted(t, "old") || isBeingReplaced(t, "old") || replacement(t, "old") != nil {
		t.Errorf("the next pass leaves it tainted %t", isTainted(t, "old"))
	}
}

func TestAFreezeHoldsANodeWhoseReplacementIsReady(t *testing.T) {
	driftedNode(t, "old")
	l := newHarness(t, nil)
	l.mustTick(t)
	fresh := replacement(t, "old")
	if fresh == nil {
		t.Fatal("the drifted node is not replaced")
	}
	arrive(t, fresh)
	freezeNow(t, "default", time.Time{})
	l.mustTick(t)
	if isEnding(t, "old") || !isBeingReplaced(t, "old") {
		t.Fatalf("ending %t, replaced %t", isEnding(t, "old"), isBeingReplaced(t, "old"))
	}
	thawNow(t, "default")
	l.use(t, during{beforeCheck: func() { freezeNow(t, "default", time.Time{}) }})
	l.mustTick(t)
	if isEnding(t, "old") {
		t.Fatal("a freeze that came after the decision did not hold the deletion")
	}
	thawNow(t, "default")
	l.use(t, during{})
	l.mustTick(t)
	if !isEnding(t, "old") {
		t.Error("the node stays after the thaw")
	}
}

func TestAFreezeStopsNoAnswerToAWS(t *testing.T) {
	pool(t, "100%")
	offers(t)
	recommend(t, "shaky")
	t.Cleanup(func() { forget(t) })
	freezeNow(t, "", time.Time{})
	l := newHarness(t, nil)
	l.mustTick(t)
	if !isBeingReplaced(t, "shaky") || replacement(t, "shaky") == nil {
		t.Fatal("a node that EC2 recommends to leave is not replaced")
	}
	arrive(t, replacement(t, "shaky"))
	l.mustTick(t)
	if !isEnding(t, "shaky") {
		t.Error("the node stays although its replacement is ready")
	}
}

func TestAFreezeGivesNoSoftTaint(t *testing.T) {
	p := &pass{performer: performer{now: time.Now, client: during{
		edge: edge{Client: server.Client(t, nil)}, beforeCheck: func() { freezeNow(t, "", time.Time{}) }}}}
	node := func(name string) *disruption.Node {
		return &disruption.Node{Claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}, Node: &corev1.Node{}}
	}
	changes, err := p.steerUnfrozen(t.Context(), []disruption.Steering{
		{Node: node("loses")}, {Node: node("gets"), Candidate: true},
	})
	if err != nil || len(changes) != 1 || changes[0].Candidate {
		t.Errorf("%+v, %v", changes, err)
	}
}

// alarmsSay writes a reading of alarms, as provision does.
func alarmsSay(t *testing.T, read time.Time, alarms ...freeze.Alarm) {
	t.Helper()
	said := freeze.Alarms{Read: read, Alarms: alarms}
	said.Judge(false)
	text, err := said.Text()
	if err != nil {
		t.Fatal(err)
	}
	control(t, map[string]string{freeze.AlarmsKey: text})
}

// TestAnAlarmKeepsNodesWhileItRings has alarms side by side. Only those of the pool hold, and a reading that is
// too old holds as well.
func TestAnAlarmKeepsNodesWhileItRings(t *testing.T) {
	l := dueEmpty(t, "alarmed")
	now := time.Now()
	ofPool := func(pool, state string) freeze.Alarm {
		return freeze.Alarm{Name: "errors-" + pool, State: state, Since: now, Scope: freeze.Scope{Pool: pool}}
	}
	for name, say := range map[string]func(){
		"its pool's": func() { alarmsSay(t, now, ofPool("default", freeze.StateAlarm), ofPool("other", freeze.StateOK)) },
		"all":        func() { alarmsSay(t, now, freeze.Alarm{Name: "errors", State: freeze.StateAlarm}) },
		"missing":    func() { alarmsSay(t, now, ofPool("default", freeze.StateMissing)) },
		"unread":     func() { alarmsSay(t, now.Add(-freeze.AlarmsBelieved), ofPool("default", freeze.StateOK)) },
	} {
		say()
		l.mustTick(t)
		if isEnding(t, "alarmed") || isTainted(t, "alarmed") {
			t.Fatalf("%s: ending %t, tainted %t", name, isEnding(t, "alarmed"), isTainted(t, "alarmed"))
		}
	}
	alarmsSay(t, now, ofPool("default", freeze.StateInsufficientData), ofPool("other", freeze.StateAlarm))
	l.mustTick(t)
	if !isEnding(t, "alarmed") {
		t.Error("the node stays although no alarm of its pool rings")
	}
}

func TestAnAlarmThatRingsAfterTheDecisionHoldsIt(t *testing.T) {
	l := dueEmpty(t, "ringing")
	l.use(t, during{beforeCheck: func() {
		alarmsSay(t, time.Now(), freeze.Alarm{Name: "errors", State: freeze.StateAlarm, Since: time.Now()})
	}})
	l.mustTick(t)
	if isEnding(t, "ringing") || isTainted(t, "ringing") {
		t.Fatalf("ending %t, tainted %t", isEnding(t, "ringing"), isTainted(t, "ringing"))
	}
}
