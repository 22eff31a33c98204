package view_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/status"
)

// counted is a count of a Reserved Instance and a Savings Plan.
func counted(at time.Time) *commitment.Reading {
	facts := commitment.Facts{
		OnDemand: map[string]float64{"m5.large": 0.1},
		Reserved: []commitment.ReservedInstance{{
			ID: "a", InstanceType: "m5.large", Count: 4, Zone: "us-west-2a", PerHour: 0.2, Start: at.AddDate(-1, 0, 0),
			End: at.AddDate(0, 2, 0),
		}},
		Plans: []commitment.SavingsPlan{{
			ID: "sp-1", PerHour: 1, Rates: map[string]float64{"m5.large": 0.05}, Start: at.AddDate(-1, 0, 0),
			End: at.AddDate(1, 0, 0),
		}},
	}
	instances := []commitment.Instance{
		{ID: "i-1", Type: "m5.large", Zone: "us-west-2a", Own: true}, {ID: "i-2", Type: "m5.large", Zone: "us-west-2a"},
		{ID: "i-3", Type: "m5.large", Zone: "us-west-2b"},
	}
	return &commitment.Reading{Time: at, Share: 1, Applied: commitment.Apply(facts, instances, at)}
}

// TestCommitmentsAndLimitsAreShown has both of them, as a table and for programs. A selection of nodes
// changes neither.
func TestCommitmentsAndLimitsAreShown(t *testing.T) {
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	pool := api.NodePool{}
	pool.Name = "web"
	pool.Spec.Limits = api.Limits{
		corev1.ResourceCPU: resource.MustParse("10"), api.ResourceNodes: resource.MustParse("2"),
	}
	claim := api.NodeClaim{}
	claim.Name, claim.Labels = "web-1", map[string]string{api.NodePoolLabelKey: "web"}
	claim.Status.ProviderID = "aws:///us-west-2a/i-1"
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	leaving := *claim.DeepCopy()
	leaving.Name, leaving.DeletionTimestamp = "web-2", &metav1.Time{Time: at}
	waiting := api.NodeClaim{}
	waiting.Name, waiting.Labels = "web-3", claim.Labels
	foreign := corev1.Node{}
	foreign.Name = "foreign"
	foreign.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Gi")}
	quota := api.CapacityQuota{}
	quota.Name = "all"
	quota.Spec.Limits.Resources = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Gi")}
	all := &view.Cluster{
		NodePools: []api.NodePool{pool}, NodeClaims: []api.NodeClaim{claim, leaving, waiting},
		Nodes: []corev1.Node{foreign}, Quotas: []api.CapacityQuota{quota},
		Commitments: counted(at), Status: status.Contents{Deployment: &status.Deployment{Tick: at, MaxDollarsPerHour: 12.5}},
	}
	selection := view.Selection{Nodes: labels.SelectorFromSet(labels.Set{"team": "red"})}
	for name, objects := range map[string]*view.Cluster{"all": all, "selected": selection.Of(all)} {
		shown := view.Of(objects, at.Add(2*time.Minute))
		var text strings.Builder
		if err := shown.WriteTables(&text, view.Form{}); err != nil {
			t.Fatal(err)
		}
		table := strings.Join(strings.Fields(text.String()), " ")
		for _, want := range []string{
			"LIMIT OF RESOURCE MOST USED LEFT", "nodepool web cpu 10 2 8", "nodepool web nodes 2 2 0", "capacityquota all memory 64Gi 16Gi 48Gi",
			"setting maxDollarsPerHour whittle.dev/dollars-per-hour $12.50/h $0.00/h $12.50/h",
			"m5.large@us-west-2a Reserved Instances m5.large in us-west-2a 0.2000 0.0500 0.0500 0.1000 2026-05-01",
			"sp-1 Compute Savings Plan any family, Fargate and Lambda 1.0000 - 0.0500 0.9500 2027-03-01",
			"Commitments of the account: $1.2000/h, of which this cluster uses $0.0500/h, others use $0.1000/h, and " +
				"$1.0500/h is idle; counted 2m ago",
		} {
			if !strings.Contains(table, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text.String())
			}
		}
		encoded, err := json.Marshal(shown)
		for _, want := range []string{
			`{"kind":"NodePool","name":"web","resource":"cpu","most":"10","used":"2","left":"8","part":0.2}`,
			`"id":"sp-1","kind":"Compute Savings Plan"`, `"idlePerHour":0.95`, `"current":true`,
		} {
			if err != nil || !strings.Contains(string(encoded), want) {
				t.Errorf("%s lacks %s: %s %v", name, want, encoded, err)
			}
		}
	}
	all.Commitments.Ending = []commitment.Ending{{ID: "sp-\x1b2", Kind: "Compute Savings Plan", Days: 7, Ends: at.Add(time.Hour)}}
	var text strings.Builder
	if err := view.Of(all, at).WriteTables(&text, view.Form{}); err != nil || strings.Contains(text.String(), "\x1b") ||
		!strings.Contains(text.String(), "COMMITMENT ENDS: Compute Savings Plan sp-") {
		t.Errorf("%v: the end of a commitment is missing:\n%s", err, text.String())
	}
	if over := view.Of(all, at.Add(time.Hour)).Endings(); len(over) > 0 {
		t.Errorf("after its end it says %q", over)
	}
	old := view.Of(all, at.Add(11*time.Minute))
	if old.Commitments.Current || !strings.Contains(old.Commitments.Text("11m"), "plans count none of them") {
		t.Errorf("an old count is %+v", old.Commitments)
	}
}

// TestManyLimitsAreBounded shows the fullest ones.
func TestManyLimitsAreBounded(t *testing.T) {
	shown := view.View{Limits: []view.Limit{
		{Kind: "NodePool", Name: "empty"}, {Kind: "NodePool", Name: "full", Part: 1}, {Kind: "NodePool", Name: "half", Part: 0.5},
	}}
	first, more := shown.Fullest(2)
	if len(first) != 2 || first[0].Name != "full" || first[1].Name != "half" || more != 1 {
		t.Errorf("shown are %+v and %d more", first, more)
	}
}

// TestANodeSaysWhatCommitmentsPay has a node of $0.1/h that a Reserved Instance of $0.05/h pays for, until
// the count is old.
func TestANodeSaysWhatCommitmentsPay(t *testing.T) {
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	claim := api.NodeClaim{}
	claim.Name, claim.Labels = "web-1", map[string]string{
		corev1.LabelInstanceTypeStable: "m5.large", api.CapacityTypeLabelKey: api.CapacityTypeOnDemand,
	}
	claim.Status.ProviderID = "aws:///us-west-2a/i-1"
	objects := &view.Cluster{
		NodeClaims: []api.NodeClaim{claim}, Commitments: counted(at), Catalog: &catalog.Catalog{
			InstanceTypes: []catalog.InstanceTypeInfo{{InstanceType: "m5.large", OnDemandPrice: 0.1}},
		},
	}
	for after, want := range map[time.Duration][2]float64{time.Minute: {0.1, 0.05}, time.Hour: {0, 0}} {
		node := view.Of(objects, at.Add(after)).Nodes[0]
		if got := [2]float64{node.CoveredPerHour, node.CommitmentsPerHour}; got != want || node.PricePerHour != 0.1 {
			t.Errorf("after %s commitments pay $%v/h and cost $%v/h of $%v/h", after, got[0], got[1], node.PricePerHour)
		}
	}
}
