package lifecycle

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// claimOf is a claim of Whittle's with an instance of its name.
func claimOf(name string, initialized bool) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	made.Status.ProviderID = api.ProviderID("us-east-1a", "i-"+name)
	if initialized {
		made.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	}
	return made
}

func TestThePassWorksOnTheClaimsOfItsScope(t *testing.T) {
	deleted := metav1.Now()
	leaving := claimOf("leaving", true)
	leaving.DeletionTimestamp = &deleted
	theirs := claimOf("theirs", false)
	theirs.Spec.NodeClassRef.Group = "eks.amazonaws.com"
	claims := []api.NodeClaim{claimOf("runs", true), claimOf("joins", false), leaving, theirs}
	for _, test := range []struct {
		name  string
		scope scope
		want  []string
	}{
		{"a tick works on all", scope{tick: true}, []string{"joins", "leaving", "runs"}},
		{"a tick beside another pass leaves the drains", scope{tick: true, skipDrains: true}, []string{"joins", "runs"}},
		{"another pass works on those in flight", scope{}, []string{"joins", "leaving"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var names []string
			for _, view := range buildViews(test.scope, facts{claims: claims}) {
				names = append(names, view.Claim.Name)
			}
			slices.Sort(names)
			if !slices.Equal(names, test.want) {
				t.Errorf("works on %v, want %v", names, test.want)
			}
		})
	}
}

func TestAViewHasWhatBelongsToItsClaim(t *testing.T) {
	unlaunched := claimOf("unlaunched", false)
	unlaunched.Status.ProviderID = ""
	claims := []api.NodeClaim{claimOf("listed", false), claimOf("described", false), claimOf("absent", false), unlaunched}
	claims[0].Labels = map[string]string{api.LabelTopologyZoneID: "use1-az1", api.NodePoolLabelKey: "default"}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Spec.ProviderID = claims[0].Status.ProviderID
	until := time.Now()
	views := map[string]nodeclaim.View{}
	for _, view := range buildViews(scope{cluster: "test", tick: true, report: true}, facts{
		claims: claims, nodes: []corev1.Node{node, {}},
		listed: listing{answered: true, instances: []nodeclaim.Instance{
			{ID: "i-listed", State: "running"}, {ID: "i-described", State: "running"},
			{ID: "i-new", Tags: map[string]string{api.NodeClaimTagKey: "unlaunched"}},
		}},
		described: description{
			found:  map[string]nodeclaim.Instance{"i-described": {ID: "i-described", State: "terminated"}},
			absent: map[string]bool{"i-absent": true},
		},
		shifted: map[string]time.Time{"use1-az1": until},
	}) {
		views[view.Claim.Name] = view
	}
	for name, state := range map[string]string{"listed": "running", "described": "terminated", "unlaunched": ""} {
		if view := views[name]; len(view.Instances) != 1 || view.Instances[0].State != state || view.Absent {
			t.Errorf("%s: instances %v, absent %t", name, view.Instances, view.Absent)
		}
	}
	if view := views["absent"]; !view.Absent || len(view.Instances) != 0 || len(view.Nodes) != 0 {
		t.Errorf("absent: %+v", view)
	}
	if view := views["listed"]; len(view.Nodes) != 1 || !view.ShiftedUntil.Equal(until) || !view.ExpiryWaits ||
		view.Cluster != "test" || !view.Tick || !view.Report || !view.InstancesListed {
		t.Errorf("listed: %+v", view)
	}
}

func TestAnExpiredClaimWaitsForTheMaintenanceWindowOfItsPool(t *testing.T) {
	claim := claimOf("expired", false)
	claim.Labels = map[string]string{api.NodePoolLabelKey: "default"}
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{
		Name: "default", Annotations: map[string]string{api.MaintenanceWindowAnnotationKey: "Sun 02:00-04:00"}}}
	sunday := time.Date(2026, 3, 8, 3, 0, 0, 0, time.UTC)
	for at, waits := range map[time.Time]bool{sunday: false, sunday.Add(-24 * time.Hour): true} {
		views := buildViews(scope{tick: true, now: at}, facts{
			claims: []api.NodeClaim{claim}, originsKnown: true, origins: map[string]*drift.Origin{"default": {Pool: pool}},
		})
		if len(views) != 1 || views[0].ExpiryWaits != waits {
			t.Errorf("at %s: %+v", at, views)
		}
	}
}

func TestOnlyATickExamines(t *testing.T) {
	claim := claimOf("impaired", true)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	views := []nodeclaim.View{{Claim: &claim, Nodes: []*corev1.Node{node}}}
	now := time.Now()
	statuses := map[string]fleet.Status{"i-impaired": {SystemImpaired: now.Add(-time.Hour)}}
	if examined, blocked := examine(scope{}, views, statuses, now); examined[0].Unhealthy != nil || blocked != nil {
		t.Errorf("a pass that is no tick's: unhealthy %v, blocked %v", examined[0].Unhealthy, blocked)
	}
	examined, _ := examine(scope{tick: true}, views, statuses, now)
	if unhealthy := examined[0].Unhealthy; unhealthy == nil || !unhealthy.ByEC2 || !examined[0].StatusRead {
		t.Errorf("a tick: unhealthy %v, status read %t", unhealthy, examined[0].StatusRead)
	}
	if views[0].Unhealthy != nil || views[0].StatusRead {
		t.Error("the views that were given have changed")
	}
	if examined, _ := examine(scope{tick: true}, views, nil, now); examined[0].StatusRead || examined[0].Unhealthy != nil {
		t.Errorf("without EC2's answer: %+v", examined[0])
	}
}

func TestAPassAsksForWhatItsStagesAskFor(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	got := join(result{failed: first}, result{}, result{again: 3 * time.Second}, lookAgain(),
		result{wantsCapacity: true, failed: second})
	if got.again != afterConflict || !got.wantsCapacity ||
		!errors.Is(got.failed, first) || !errors.Is(got.failed, second) {
		t.Errorf("joined %+v", got)
	}
	if empty := join(result{}, join()); empty != (result{}) {
		t.Errorf("of nothing: %+v", empty)
	}
}
