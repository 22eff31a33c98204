package intent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/plan"
)

// TestLimitsOfMoneyAndOfSeveralPools has two claims of $1 and $3, of two pools, the first the
// older.
func TestLimitsOfMoneyAndOfSeveralPools(t *testing.T) {
	types := []catalog.InstanceType{
		{Name: "small", Offerings: []catalog.Offering{{Zone: "a", CapacityType: "on-demand", Price: 1, Available: true}}},
		{Name: "large", Offerings: []catalog.Offering{{Zone: "a", CapacityType: "on-demand", Price: 3, Available: true}}},
	}
	of := func(pool string, claim api.NodeClaim) api.NodeClaim {
		claim.Labels = map[string]string{api.NodePoolLabelKey: pool}
		return claim
	}
	dollars := func(most string) corev1.ResourceList {
		return corev1.ResourceList{api.ResourceDollarsPerHour: resource.MustParse(most)}
	}
	quota := func(pool, nodes string) plan.Limit {
		return plan.Limit{
			Kind: "CapacityQuota", Name: "few", Resources: corev1.ResourceList{api.ResourceNodes: resource.MustParse(nodes)},
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{api.NodePoolLabelKey: pool}},
		}
	}
	for _, test := range []struct {
		name   string
		ofPool corev1.ResourceList // of the pool of the younger claim
		limits []plan.Limit
		want   string
		says   string
	}{
		{"no limit", nil, nil, "", ""},
		{"enough for the pool", dollars("3"), nil, "", ""},
		{"too little for the pool", dollars("2500m"), nil, "second",
			"$3.00/h of whittle.dev/dollars-per-hour together exceed spec.limits of $2.50/h"},
		{"enough for both", nil, []plan.Limit{limit.OfCluster(4)}, "", ""},
		{"too little for both", nil, []plan.Limit{limit.OfCluster(3.5)}, "second",
			"of the setting maxDollarsPerHour: raise the setting"},
		{"a quota of the one pool", nil, []plan.Limit{quota("one", "0")}, "first",
			`of capacityquota "few": raise spec.limits.resources`},
		{"a quota of neither", nil, []plan.Limit{quota("three", "0")}, "", ""},
		{"what one limit withdraws takes nothing of another", dollars("2"), []plan.Limit{limit.OfCluster(1)}, "second",
			"spec.limits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			first, second := api.NodeClaim{}, api.NodeClaim{}
			first.Name, second.Name = "first", "second"
			first = of("one", typed(first, time.Minute, "small"))
			second = of("two", typed(second, time.Second, "small", "large"))
			s := &plan.Snapshot{
				Nodes: []plan.Node{{NodeClaim: &second}, {NodeClaim: &first}}, Limits: test.limits,
				InstanceTypes: map[string][]catalog.InstanceType{"one": types, "two": types},
			}
			two := pool("two", -1)
			two.Spec.Limits = api.Limits(test.ofPool)
			typesOf := func(*api.NodeClaim) []catalog.InstanceType { return types }
			var names []string
			for _, withdrawn := range intent.Withdrawals([]api.NodePool{pool("one", -1), two}, s, typesOf, now) {
				names = append(names, withdrawn.Claim.Name)
				if !strings.Contains(withdrawn.Message, test.says) {
					t.Errorf("message %q, want %q", withdrawn.Message, test.says)
				}
			}
			if !slices.Equal(names, strings.Fields(test.want)) {
				t.Errorf("withdrawn %v, want %s", names, test.want)
			}
		})
	}
}

// TestNewClaimsStayWithinTheLimitsOfSeveralPools keeps one of two claims of $1, beside a node of
// $1.
func TestNewClaimsStayWithinTheLimitsOfSeveralPools(t *testing.T) {
	types := []catalog.InstanceType{
		{Name: "small", Offerings: []catalog.Offering{{Zone: "a", CapacityType: "on-demand", Price: 1, Available: true}}},
	}
	made := func(name string) api.NodeClaim {
		claim := api.NodeClaim{}
		claim.Name, claim.Labels = name, map[string]string{api.NodePoolLabelKey: "one"}
		return typed(claim, 0, "small")
	}
	running := made("running")
	running.Status.ProviderID = "aws:///a/i-1"
	s := &plan.Snapshot{
		Nodes: []plan.Node{{NodeClaim: &running}}, Limits: []plan.Limit{limit.OfCluster(2)},
		InstanceTypes: map[string][]catalog.InstanceType{"one": types},
	}
	typesOf := func(*api.NodeClaim) []catalog.InstanceType { return types }
	kept, exceeded := intent.KeepWithin([]api.NodeClaim{made("a"), made("b")}, s, typesOf, now)
	if len(kept) != 1 || !strings.Contains(exceeded, "maxDollarsPerHour") {
		t.Errorf("%d claims are kept, and the message is %q", len(kept), exceeded)
	}
}
