package intent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
)

func TestClaimsOfAPartOfAGangGoBack(t *testing.T) {
	pod := func(name, gang string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{api.PodGroupLabelKey: gang},
		}}
	}
	claim := func(name, pods string, running ...corev1.Pod) plan.Node {
		made := &api.NodeClaim{}
		made.Name, made.Annotations = name, map[string]string{api.NominatedPodsAnnotationKey: pods}
		return plan.Node{NodeClaim: made, Node: &corev1.Node{}, Pods: running}
	}
	ending := claim("ending", "one")
	ending.NodeClaim.DeletionTimestamp = &metav1.Time{}
	daemon := pod("daemon", "")
	daemon.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", Controller: new(bool)}}
	*daemon.OwnerReferences[0].Controller = true
	snapshot := &plan.Snapshot{
		Pods: []corev1.Pod{pod("one", "torn"), pod("two", "torn"), pod("three", "whole"), pod("four", "whole"), pod("free", "")},
		Gangs: []plan.Gang{
			{GangRef: plan.GangRef{Namespace: "default", Name: "torn"}, MinMember: 2},
			{GangRef: plan.GangRef{Namespace: "default", Name: "whole"}, MinMember: 1},
		},
		Nodes: []plan.Node{
			claim("torn", "one"), claim("torn-with-daemon", "two", daemon), claim("shared", "one,free"), claim("whole", "three"),
			claim("busy", "two", pod("runs", "")), claim("wanted", "one"), claim("unknown", ""), ending, {Node: &corev1.Node{}},
		},
	}
	unplaced := func(names ...string) []plan.Unplaced {
		var list []plan.Unplaced
		for _, name := range names {
			list = append(list, plan.Unplaced{Pod: plan.PodRef{Namespace: "default", Name: name, UID: name}})
		}
		return list
	}
	returns := func(decided *plan.Plan) []string {
		var names []string
		for _, claim := range intent.Returns(snapshot, decided) {
			names = append(names, claim.Name)
		}
		return names
	}
	decided := &plan.Plan{
		Unplaced:    unplaced("one", "two", "four", "free"),
		Nominations: []plan.Nomination{{Pod: plan.PodRef{Name: "other"}, NodeClaimName: "wanted"}},
	}
	if got, want := returns(decided), []string{"torn", "torn-with-daemon"}; !slices.Equal(got, want) {
		t.Errorf("returns %q, want %q", got, want)
	}
	if got := returns(&plan.Plan{Unplaced: unplaced("two")}); len(got) > 0 {
		t.Errorf("a gang with a place for some returns %q", got)
	}
	// A gang that needs one zone has its places elsewhere.
	for i := range snapshot.Pods[:2] {
		snapshot.Pods[i].Annotations = map[string]string{api.RequiredTopologyAnnotationKey: corev1.LabelTopologyZone}
	}
	moved := &plan.Plan{Nominations: decided.Nominations}
	if got, want := returns(moved), []string{"torn", "torn-with-daemon"}; !slices.Equal(got, want) {
		t.Errorf("a gang that moves returns %q, want %q", got, want)
	}
	snapshot.Gangs = nil
	if got := returns(decided); len(got) > 0 {
		t.Errorf("without gangs it returns %q", got)
	}
}

func TestGangsAreOnTheirClaims(t *testing.T) {
	pod := func(name, gang string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{api.PodGroupLabelKey: gang},
		}}
	}
	least := func(name string, members int) plan.Gang {
		return plan.Gang{GangRef: plan.GangRef{Namespace: "default", Name: name}, MinMember: members}
	}
	snapshot := &plan.Snapshot{
		Pods: []corev1.Pod{
			pod("a1", "exact"), pod("a2", "exact"), pod("b1", "spares-one"), pod("b2", "spares-one"), pod("c1", "undefined"),
			pod("d1", "running"), pod("free", ""),
		},
		Nodes: []plan.Node{{Pods: []corev1.Pod{pod("d2", "running"), pod("d3", "running")}}},
		Gangs: []plan.Gang{least("exact", 2), least("spares-one", 1), least("running", 3)},
	}
	for pods, want := range map[string]string{
		"a1": "default/exact", "a1 a2": "default/exact", "a1 free": "", "b1 b2": "", "c1": "", "free": "", "a1 d1": "",
		"d1": "default/running", "": "",
	} {
		decided := &plan.Plan{NodeClaims: make([]plan.PlannedNodeClaim, 1)}
		for _, name := range strings.Fields(pods) {
			decided.NodeClaims[0].Pods = append(decided.NodeClaims[0].Pods,
				plan.PodRef{Namespace: "default", Name: name, UID: name})
		}
		intent.MarkGangs(snapshot, decided)
		if got := decided.NodeClaims[0].NodeClaim.Annotations[api.GangAnnotationKey]; got != want {
			t.Errorf("a claim for %q has the gang %q, want %q", pods, got, want)
		}
	}
}

// TestNothingGoesBackOnAnOldRead gives claims that were to go back to a later read, in which some are in use.
func TestNothingGoesBackOnAnOldRead(t *testing.T) {
	node := func(name, pods string, running ...*corev1.Pod) disruption.Node {
		claim := &api.NodeClaim{}
		claim.Name, claim.Annotations = name, map[string]string{api.NominatedPodsAnnotationKey: pods}
		return disruption.Node{Claim: claim, Pods: running}
	}
	pod := func(uid string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
	}
	now := &disruption.Cluster{
		Waiting: []*corev1.Pod{pod("one"), pod("two")},
		Nodes: []disruption.Node{
			node("idle", "one,two"), node("taken", "one", pod("stranger")), node("bound-elsewhere", "one,three"), node("other", "two"),
		},
	}
	now.Nodes = append(now.Nodes, node("ending", "one"))
	now.Nodes[4].Claim.DeletionTimestamp = &metav1.Time{}
	var returned []*api.NodeClaim
	for _, name := range []string{"idle", "taken", "bound-elsewhere", "ending", "gone"} {
		claim := &api.NodeClaim{}
		claim.Name = name
		returned = append(returned, claim)
	}
	var names []string
	for _, claim := range intent.StillReturned(returned, now, nil) {
		names = append(names, claim.Name)
	}
	if want := []string{"idle"}; !slices.Equal(names, want) {
		t.Errorf("returns %q, want %q", names, want)
	}
}

// TestGangsComeFromOneZone has plans whose nodes could come from several zones.
func TestGangsComeFromOneZone(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	two := 2
	tests := []struct {
		name string
		// offerings are those of each claim: its type, the last letter of its zone, and its price.
		offerings []string
		waits     time.Duration
		alone     bool
		minimum   *int
		want      string // the zones of each claim
	}{
		{name: "the cheapest zone for all", offerings: []string{"x a 1, x b 2", "y b 2, y a 4"}, want: "b b"},
		{name: "the first of two zones with one price", offerings: []string{"x b 1, x a 1", "x b 1, x a 1"}, want: "a a"},
		{name: "a zone that has all", offerings: []string{"x a 1, x b 2", "y b 9"}, want: "b b"},
		{name: "no zone has all", offerings: []string{"x a 1", "y b 9"}, want: "a b"},
		{name: "it waits for long", offerings: []string{"x a 1, x b 2"}, waits: 10 * time.Minute, want: "ab"},
		{name: "it has waited for a while", offerings: []string{"x a 1, x b 2"}, waits: 9 * time.Minute, want: "a"},
		{name: "no gang", offerings: []string{"x a 1, x b 2"}, alone: true, want: "ab"},
		{name: "a minimum of values", offerings: []string{"x a 1, x b 2"}, minimum: &two, want: "ab"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, decided := &plan.Snapshot{}, &plan.Plan{}
			for i, offerings := range test.offerings {
				pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprint("rank-", i), CreationTimestamp: metav1.NewTime(now.Add(-test.waits)),
				}}
				planned := plan.PlannedNodeClaim{Pods: []plan.PodRef{plan.RefOf(&pod)}}
				planned.NodeClaim.Annotations = map[string]string{api.GangAnnotationKey: "default/gang"}
				if test.alone {
					planned.NodeClaim.Annotations = nil
				}
				planned.NodeClaim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
					{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: test.minimum},
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
				}
				for _, offering := range strings.Split(offerings, ", ") {
					choice := plan.Choice{}
					if _, err := fmt.Sscan(offering, &choice.InstanceType, &choice.Zone, &choice.Price); err != nil {
						t.Fatal(err)
					}
					planned.Offerings = append(planned.Offerings, choice)
				}
				planned.InstanceTypes, planned.PricePerHour = []string{"x", "y"}, planned.Offerings[0].Price
				s.Pods, decided.NodeClaims = append(s.Pods, pod), append(decided.NodeClaims, planned)
			}
			intent.KeepGangsInOneZone(s, decided, now)
			var got []string
			for _, planned := range decided.NodeClaims {
				zones := ""
				for _, offering := range planned.Offerings {
					zones += offering.Zone
				}
				got = append(got, zones)
				asked := planned.NodeClaim.Spec.Requirements[0]
				if pinned := asked.Key == corev1.LabelTopologyZone; pinned && asked.Values[0] != zones {
					t.Errorf("it asks for %v", planned.NodeClaim.Spec.Requirements)
				}
				if planned.PricePerHour != planned.Offerings[0].Price {
					t.Errorf("the price is %g", planned.PricePerHour)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("zones %q, want %q", got, test.want)
			}
		})
	}
}
